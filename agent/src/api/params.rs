//! # Reading params

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::error::Error;

/// Reads a method's params; an error names the field.
pub(crate) fn read<T: DeserializeOwned>(params: Map<String, Value>) -> Result<T, Error> {
    serde_path_to_error::deserialize(Value::Object(params)).map_err(|error| {
        let field = match error.path().to_string() {
            path if path == "." => "params".to_owned(),
            path => path,
        };
        Error::params(field, error.into_inner().to_string())
    })
}

/// The same of any JSON, for tests.
#[cfg(test)]
pub(crate) fn read_value<T: DeserializeOwned>(params: Value) -> Result<T, Error> {
    match params {
        Value::Object(params) => read(params),
        other => panic!("{other} are no params"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_param_of_the_wrong_type_is_named_by_its_path() {
        #[derive(Debug, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Outer {
            _streams: Vec<u8>,
        }
        let Value::Object(params) = json!({"_streams": [1, "two"]}) else {
            unreachable!()
        };
        let error = read::<Outer>(params).unwrap_err().to_string();
        assert!(error.starts_with("_streams[1]: invalid type"), "{error}");
        let error = read::<Outer>(Map::new()).unwrap_err().to_string();
        assert_eq!(error, "params: missing field `_streams`");
    }
}
