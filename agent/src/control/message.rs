//! # JSON-RPC 2.0 messages
//!
//! Two restrictions keep "one line, one reply" true: a request has an id, and there are no batches. Params are named, never
//! by position.

use serde::Serialize;
use serde_json::{Map, Value};

use super::stream::LINE_LIMIT_BYTES;
use crate::error::Error;

const PARSE: i32 = -32_700;
const REQUEST: i32 = -32_600;
const METHOD: i32 = -32_601;
const PARAMS: i32 = -32_602;
const FAILED: i32 = -32_000;

/// Bounds on what a reply repeats of its request.
const ID_LIMIT_BYTES: usize = 128;
const MESSAGE_LIMIT_CHARS: usize = 2_000;

/// A call as it came in.
#[derive(Debug, PartialEq)]
pub(super) struct Request {
    pub(super) id: Id,
    pub(super) method: String,
    pub(super) params: Map<String, Value>,
}

/// A string, an integer, or null where the request's id cannot be told.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub(super) struct Id(Value);

#[derive(Debug, PartialEq, Serialize)]
pub(super) struct RpcError {
    code: i32,
    message: String,
}

/// Reads one line; an error comes with the id to answer to.
pub(super) fn parse(line: &[u8]) -> Result<Request, (Id, RpcError)> {
    let value: Value = serde_json::from_slice(line)
        .map_err(|error| (Id::default(), RpcError::parse(error.to_string())))?;
    let Value::Object(mut members) = value else {
        let problem = "a request is one object; there are no batches";
        return Err((Id::default(), RpcError::request(problem)));
    };
    let id = take_id(&mut members).map_err(|error| (Id::default(), error))?;
    match take_call(members) {
        Ok((method, params)) => Ok(Request { id, method, params }),
        Err(error) => Err((id, error)),
    }
}

fn take_id(members: &mut Map<String, Value>) -> Result<Id, RpcError> {
    match members.remove("id") {
        Some(Value::String(text)) if text.len() > ID_LIMIT_BYTES => {
            let problem = format!("id: longer than {ID_LIMIT_BYTES} bytes");
            Err(RpcError::request(problem))
        }
        Some(id) if id.is_i64() || id.is_u64() || id.is_string() => Ok(Id(id)),
        Some(_) => Err(RpcError::request("id: must be a string or an integer")),
        None => Err(RpcError::request(
            "id: missing; the agent takes no notifications",
        )),
    }
}

fn take_call(mut members: Map<String, Value>) -> Result<(String, Map<String, Value>), RpcError> {
    if members.remove("jsonrpc") != Some("2.0".into()) {
        return Err(RpcError::request("jsonrpc: must be \"2.0\""));
    }
    let Some(Value::String(method)) = members.remove("method") else {
        return Err(RpcError::request("method: must be a string"));
    };
    let params = match members.remove("params") {
        None => Map::new(),
        Some(Value::Object(params)) => params,
        Some(_) => return Err(Error::params("params", "must be an object").into()),
    };
    if let Some(name) = members.keys().next() {
        let problem = format!("{name}: a request has jsonrpc, id, method and params only");
        return Err(RpcError::request(problem));
    }
    Ok((method, params))
}

impl RpcError {
    pub(super) fn parse(problem: impl Into<String>) -> Self {
        Self::bounded(PARSE, problem.into())
    }

    pub(super) fn request(problem: impl Into<String>) -> Self {
        Self::bounded(REQUEST, problem.into())
    }

    pub(super) fn unknown_method(method: &str) -> Self {
        Self::bounded(METHOD, format!("no method `{method}`"))
    }

    pub(super) fn failed(problem: impl Into<String>) -> Self {
        Self::bounded(FAILED, problem.into())
    }

    fn bounded(code: i32, mut message: String) -> Self {
        if let Some((cut, _)) = message.char_indices().nth(MESSAGE_LIMIT_CHARS) {
            message.replace_range(cut.., "...");
        }
        Self { code, message }
    }
}

impl From<Error> for RpcError {
    fn from(error: Error) -> Self {
        let code = match error {
            Error::Params { .. } => PARAMS,
            Error::Failed(_) => FAILED,
        };
        Self::bounded(code, error.to_string())
    }
}

/// The line that answers the request `id`.
pub(super) fn reply(id: &Id, outcome: Result<Value, RpcError>) -> Vec<u8> {
    #[derive(Serialize)]
    struct Reply<'a> {
        jsonrpc: &'static str,
        id: &'a Id,
        #[serde(skip_serializing_if = "Option::is_none")]
        result: Option<Value>,
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<RpcError>,
    }
    let (result, error) = match outcome {
        Ok(result) => (Some(result), None),
        Err(error) => (None, Some(error)),
    };
    let jsonrpc = "2.0";
    let line = to_line(&Reply {
        jsonrpc,
        id,
        result,
        error,
    });
    if line.len() <= LINE_LIMIT_BYTES {
        return line;
    }
    let problem = format!(
        "the reply has {} bytes, a line at most {LINE_LIMIT_BYTES}",
        line.len()
    );
    let error = Some(RpcError::failed(problem));
    to_line(&Reply {
        jsonrpc,
        id,
        result: None,
        error,
    })
}

/// The line that tells the peer something it did not ask for.
pub(super) fn notification(method: &str, params: &impl Serialize) -> Vec<u8> {
    #[derive(Serialize)]
    struct Notification<'a, P> {
        jsonrpc: &'static str,
        method: &'a str,
        params: &'a P,
    }
    let jsonrpc = "2.0";
    to_line(&Notification {
        jsonrpc,
        method,
        params,
    })
}

fn to_line(message: &impl Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(message).expect("messages have string keys only");
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn code_and_id(line: &str) -> (i32, Value) {
        let (id, error) = parse(line.as_bytes()).unwrap_err();
        (error.code, id.0)
    }

    #[test]
    fn a_request_is_read() {
        let line = br#"{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":1}}"#;
        let request = parse(line).unwrap();
        assert_eq!(request.id, Id(json!(7)));
        assert_eq!(request.method, "ping");
        assert_eq!(Value::Object(request.params), json!({"a": 1}));
    }

    #[test]
    fn every_prefix_of_a_request_is_a_parse_error() {
        let line = r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":1}}"#;
        for end in 0..line.len() {
            assert_eq!(code_and_id(&line[..end]), (PARSE, Value::Null));
        }
    }

    #[test]
    fn what_is_no_request_is_refused_under_its_id() {
        for (line, code, id) in [
            ("[]", REQUEST, Value::Null),
            (r#"{"jsonrpc":"2.0","method":"ping"}"#, REQUEST, Value::Null),
            (
                r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
                REQUEST,
                Value::Null,
            ),
            (
                r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
                REQUEST,
                Value::Null,
            ),
            (
                r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#,
                REQUEST,
                json!(1),
            ),
            (r#"{"jsonrpc":"2.0","id":1}"#, REQUEST, json!(1)),
            (r#"{"jsonrpc":"2.0","id":1,"method":2}"#, REQUEST, json!(1)),
            (
                r#"{"jsonrpc":"2.0","id":"a","method":"ping","extra":0}"#,
                REQUEST,
                json!("a"),
            ),
            (
                r#"{"jsonrpc":"2.0","id":"a","method":"ping","params":[]}"#,
                PARAMS,
                json!("a"),
            ),
        ] {
            assert_eq!(code_and_id(line), (code, id), "{line}");
        }
    }

    #[test]
    fn an_id_is_bounded() {
        let long = "x".repeat(ID_LIMIT_BYTES + 1);
        let line = format!(r#"{{"jsonrpc":"2.0","id":"{long}","method":"ping"}}"#);
        assert_eq!(code_and_id(&line), (REQUEST, Value::Null));
    }

    #[test]
    fn a_reply_above_the_limit_becomes_an_error() {
        let line = reply(&Id(json!(1)), Ok("x".repeat(LINE_LIMIT_BYTES).into()));
        let reply: Value = serde_json::from_slice(&line).unwrap();
        assert_eq!(reply["id"], 1);
        assert_eq!(reply["error"]["code"], FAILED);
    }
}
