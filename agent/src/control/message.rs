//! JSON-RPC 2.0 messages (jsonrpc.org/specification). Every line that is no notification gets exactly one reply.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::traffic;

/// What the agent is asked to do.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// Null for a line that could not be read far enough.
    pub id: Value,
    pub method: String,
    pub params: Value,
}

/// An error reply's code and text.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RpcError {
    pub code: i32,
    pub message: String,
}

impl RpcError {
    pub fn parse(message: impl Into<String>) -> Self {
        Self::new(-32700, message)
    }

    pub fn request(message: impl Into<String>) -> Self {
        Self::new(-32600, message)
    }

    pub fn method(name: &str) -> Self {
        Self::new(-32601, format!("unknown method {name:?}"))
    }

    pub fn params(message: impl Into<String>) -> Self {
        Self::new(-32602, message)
    }

    pub fn failed(message: impl Into<String>) -> Self {
        Self::new(-32000, message)
    }

    fn new(code: i32, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { code, message }
    }
}

impl From<traffic::Error> for RpcError {
    fn from(error: traffic::Error) -> Self {
        match error {
            traffic::Error::Params { .. } => Self::params(error.to_string()),
            traffic::Error::Failed(_) => Self::failed(error.to_string()),
        }
    }
}

impl From<anyhow::Error> for RpcError {
    fn from(error: anyhow::Error) -> Self {
        Self::failed(format!("{error:#}"))
    }
}

/// Reads one line. An error carries the id it has to be answered with.
pub fn parse(line: &[u8]) -> Result<Request, (Value, RpcError)> {
    let message: Value = serde_json::from_slice(line)
        .map_err(|error| (Value::Null, RpcError::parse(error.to_string())))?;
    let Value::Object(mut message) = message else {
        let error = RpcError::request("a request is an object; batches are not taken");
        return Err((Value::Null, error));
    };
    let id = message.remove("id").unwrap_or(Value::Null);
    if !matches!(id, Value::Null | Value::Number(_) | Value::String(_)) {
        let error = RpcError::request("id must be a number, a text or null");
        return Err((Value::Null, error));
    }
    if message.get("jsonrpc") != Some(&json!("2.0")) {
        return Err((id, RpcError::request("jsonrpc must be \"2.0\"")));
    }
    let Some(Value::String(method)) = message.remove("method") else {
        return Err((id, RpcError::request("method must be a text")));
    };
    let params = message.remove("params").unwrap_or_else(|| json!({}));
    if !params.is_object() {
        return Err((id, RpcError::params("params must be an object")));
    }
    Ok(Request { id, method, params })
}

/// A method's own params; the error names the field.
pub fn read_params<T: DeserializeOwned>(params: Value) -> Result<T, RpcError> {
    serde_json::from_value(params).map_err(|error| RpcError::params(error.to_string()))
}

/// The reply to request `id`.
pub fn reply(id: Value, outcome: Result<Value, RpcError>) -> Value {
    match outcome {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Err(error) => json!({"jsonrpc": "2.0", "id": id, "error": error}),
    }
}

/// A message that wants no reply.
pub fn notification(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn code(line: &str) -> i32 {
        parse(line.as_bytes()).unwrap_err().1.code
    }

    #[test]
    fn a_request_is_read() {
        let request = parse(br#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#).unwrap();
        assert_eq!((request.id, request.method.as_str()), (json!(7), "ping"));
        assert_eq!(request.params, json!({}));
    }

    #[test]
    fn what_is_no_request_is_told_apart() {
        assert_eq!(code(""), -32700);
        assert_eq!(code(r#"{"jsonrpc":"2.0","id":7,"meth"#), -32700);
        assert_eq!(code("[]"), -32600);
        assert_eq!(code(r#"{"id":1,"method":"ping"}"#), -32600);
        assert_eq!(code(r#"{"jsonrpc":"2.0","id":1,"method":5}"#), -32600);
        assert_eq!(code(r#"{"jsonrpc":"2.0","id":[],"method":"ping"}"#), -32600);
        assert_eq!(
            code(r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":3}"#),
            -32602
        );
    }

    #[test]
    fn an_error_keeps_the_requests_id() {
        assert_eq!(
            parse(br#"{"id":"a","method":"ping"}"#).unwrap_err().0,
            json!("a")
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(10_000))]

        #[test]
        fn any_bytes_are_read_or_refused(line in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&line);
        }

        #[test]
        fn any_cut_of_a_request_is_refused(cut in 0..57_usize) {
            let line = br#"{"jsonrpc":"2.0","id":12345,"method":"ping","params":{}}"#;
            prop_assert_eq!(parse(&line[..cut.min(line.len() - 1)]).unwrap_err().1.code, -32700);
        }
    }
}
