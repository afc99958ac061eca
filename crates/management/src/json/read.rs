//! Reading the JSON of a request's body, strictly: an object or nothing. Its members are read as those of definitions are.
//!
//! Its length is bounded by the body's, its depth by the parser (128). Members that no handler asks for are ignored, as RabbitMQ
//! ignores them.

use serde_json::{Map, Value};

use crate::problem::Problem;

/// Reads a body that must be a JSON object; nothing at all is an empty one.
pub(crate) fn parse_object(body: &[u8]) -> Result<Map<String, Value>, Problem> {
    if body.is_empty() {
        return Ok(Map::new());
    }
    match serde_json::from_slice(body) {
        Ok(Value::Object(members)) => Ok(members),
        Ok(Value::Null) => Ok(Map::new()),
        Ok(Value::String(_)) => Err(Problem::bad_request(
            "invalid payload: the request body JSON-decoded to a string. Is the input doubly-JSON-encoded?",
        )),
        Ok(_) | Err(_) => Err(Problem::bad_request("not_json")),
    }
}

/// A member of the wrong type.
pub(crate) fn wrong_type(name: &str, wanted: &str, value: &Value) -> Problem {
    definitions::wrong_type(name, wanted, value).into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check_refused<T: std::fmt::Debug>(result: Result<T, Problem>, reason: Value) {
        assert_eq!(result.unwrap_err(), Problem::bad_request(reason));
    }

    #[test]
    fn a_body_is_an_object_or_nothing() {
        assert_eq!(parse_object(b"").unwrap(), Map::new());
        assert_eq!(parse_object(b"null").unwrap(), Map::new());
        assert_eq!(parse_object(br#"{"a":1}"#).unwrap().len(), 1);
        for bad in ["{", "[]", "5", "{\"a\":1}x", "{'a':1}", "\u{feff}{}", "{\"a\":1e999}"] {
            check_refused(parse_object(bad.as_bytes()), json!("not_json"));
        }
        check_refused(parse_object(b"\xff"), json!("not_json"));
        let doubly = "invalid payload: the request body JSON-decoded to a string. Is the input doubly-JSON-encoded?";
        check_refused(parse_object(br#""{}""#), json!(doubly));
    }

    #[test]
    fn depth_is_bounded() {
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
        check_refused(parse_object(deep.as_bytes()), json!("not_json"));
    }
}
