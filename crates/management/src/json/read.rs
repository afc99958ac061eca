//! Reading the JSON of a request's body, strictly: an object or nothing, and every member of the type it must have.
//!
//! Its length is bounded by the body's, its depth by the parser (128). Members that no handler asks for are ignored, as RabbitMQ
//! ignores them.

use serde_json::{Map, Value, json};

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

/// The members of an object, by name and type.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fields<'a>(pub(crate) &'a Map<String, Value>);

impl<'a> Fields<'a> {
    /// A member. `null` is a value, and of the wrong type almost everywhere.
    pub(crate) fn get(self, name: &str) -> Option<&'a Value> {
        self.0.get(name)
    }

    /// Checks that all of these are there, and names all that are not.
    pub(crate) fn require(self, names: &[&str]) -> Result<(), Problem> {
        let missing: Vec<&str> = names.iter().copied().filter(|name| !self.0.contains_key(*name)).collect();
        if missing.is_empty() { Ok(()) } else { Err(Problem::keys_missing(&missing)) }
    }

    /// A member that must be there.
    pub(crate) fn required(self, name: &str) -> Result<&'a Value, Problem> {
        self.0.get(name).ok_or_else(|| Problem::keys_missing(&[name]))
    }

    /// A text, if it is there.
    pub(crate) fn text(self, name: &str) -> Result<Option<&'a str>, Problem> {
        self.get(name).map(|value| text_of(name, value)).transpose()
    }

    /// A text that must be there.
    pub(crate) fn required_text(self, name: &str) -> Result<&'a str, Problem> {
        text_of(name, self.required(name)?)
    }

    /// `true` or `false`, or the same as a text; `default` where there is none.
    pub(crate) fn bool(self, name: &str, default: bool) -> Result<bool, Problem> {
        match self.get(name) {
            None => Ok(default),
            Some(Value::Bool(is)) => Ok(*is),
            Some(Value::String(text)) if text == "true" => Ok(true),
            Some(Value::String(text)) if text == "false" => Ok(false),
            Some(other) => Err(Problem::bad_request(json!(["not_boolean", other]))),
        }
    }

    /// An integer, or the digits of one as a text.
    pub(crate) fn integer(self, name: &str) -> Result<Option<i64>, Problem> {
        self.get(name).map(|value| integer_of(name, value)).transpose()
    }

    /// An object, if it is there. RabbitMQ writes empty objects as `[]` here and there, so it reads them, too.
    pub(crate) fn object(self, name: &str) -> Result<Option<&'a Map<String, Value>>, Problem> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::Object(members)) => Ok(Some(members)),
            Some(Value::Array(items)) if items.is_empty() => Ok(None),
            Some(other) => Err(wrong_type(name, "an object", other)),
        }
    }
}

/// An integer, or the digits of one as a text.
pub(crate) fn integer_of(name: &str, value: &Value) -> Result<i64, Problem> {
    match value {
        Value::Number(number) if number.is_i64() => Ok(number.as_i64().unwrap_or_default()),
        Value::String(text) => text.trim().parse().map_err(|_| Problem::bad_request(json!(["not_integer", text]))),
        other => Err(wrong_type(name, "an integer", other)),
    }
}

fn text_of<'a>(name: &str, value: &'a Value) -> Result<&'a str, Problem> {
    value.as_str().ok_or_else(|| wrong_type(name, "a string", value))
}

/// A member of the wrong type. RabbitMQ fails with 500 or takes it for something else.
pub(crate) fn wrong_type(name: &str, wanted: &str, value: &Value) -> Problem {
    let mut shown = value.to_string();
    if let Some((end, _)) = shown.char_indices().nth(100) {
        shown.truncate(end);
        shown.push('…');
    }
    Problem::bad_request(format!("'{name}' must be {wanted}, not {shown}"))
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn booleans_may_be_texts_and_nothing_else() {
        let members = parse_object(br#"{"a":true,"b":"false","c":1,"d":null}"#).unwrap();
        let fields = Fields(&members);
        assert_eq!(fields.bool("a", false), Ok(true));
        assert_eq!(fields.bool("b", true), Ok(false));
        assert_eq!(fields.bool("e", true), Ok(true));
        check_refused(fields.bool("d", true), json!(["not_boolean", null]));
        check_refused(fields.bool("c", true), json!(["not_boolean", 1]));
    }

    #[test]
    fn a_member_of_the_wrong_type_is_named() {
        let members = parse_object(br#"{"a":{"x":1},"n":1.5}"#).unwrap();
        let fields = Fields(&members);
        check_refused(fields.text("a"), json!("'a' must be a string, not {\"x\":1}"));
        check_refused(fields.integer("n"), json!("'n' must be an integer, not 1.5"));
        check_refused(fields.required("b"), json!("[{key_missing,b}]"));
        check_refused(fields.require(&["a", "b", "c"]), json!("[{key_missing,b},{key_missing,c}]"));
    }
}
