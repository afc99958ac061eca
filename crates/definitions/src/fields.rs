//! Members of a JSON object, by name and type: of an entry, or of the body of a request. Members that the reader does not ask for are
//! ignored, as RabbitMQ ignores them.

use serde_json::{Map, Value};

use crate::read_error::ReadError;

/// The members of an object.
#[derive(Debug, Clone, Copy)]
pub struct Fields<'a>(pub &'a Map<String, Value>);

impl<'a> Fields<'a> {
    /// A member. `null` is a value, and of the wrong type almost everywhere.
    #[must_use]
    pub fn get(self, name: &str) -> Option<&'a Value> {
        self.0.get(name)
    }

    /// A member that is not `null`.
    #[must_use]
    pub fn non_null(self, name: &str) -> Option<&'a Value> {
        self.get(name).filter(|value| !value.is_null())
    }

    /// Checks that all of these are there, and names all that are not.
    pub fn require(self, names: &[&str]) -> Result<(), ReadError> {
        let missing = names.iter().filter(|name| !self.0.contains_key(**name));
        let missing: Vec<String> = missing.map(|name| (*name).to_owned()).collect();
        if missing.is_empty() { Ok(()) } else { Err(ReadError::Missing(missing)) }
    }

    /// A member that must be there.
    pub fn required(self, name: &str) -> Result<&'a Value, ReadError> {
        self.get(name).ok_or_else(|| ReadError::Missing(vec![name.to_owned()]))
    }

    /// A text, if it is there.
    pub fn text(self, name: &str) -> Result<Option<&'a str>, ReadError> {
        self.get(name).map(|value| text_of(name, value)).transpose()
    }

    /// A text, if it is there and not `null`.
    pub fn non_null_text(self, name: &str) -> Result<Option<&'a str>, ReadError> {
        self.non_null(name).map(|value| text_of(name, value)).transpose()
    }

    /// A text that must be there.
    pub fn required_text(self, name: &str) -> Result<&'a str, ReadError> {
        text_of(name, self.required(name)?)
    }

    /// `true` or `false`, or the same as a text; `default` where there is none.
    pub fn bool(self, name: &str, default: bool) -> Result<bool, ReadError> {
        match self.get(name) {
            None => Ok(default),
            Some(Value::Bool(is)) => Ok(*is),
            Some(Value::String(text)) if text == "true" => Ok(true),
            Some(Value::String(text)) if text == "false" => Ok(false),
            Some(other) => Err(ReadError::NotBoolean { name: name.to_owned(), value: other.clone() }),
        }
    }

    /// An integer, or the digits of one as a text.
    pub fn integer(self, name: &str) -> Result<Option<i64>, ReadError> {
        self.get(name).map(|value| integer_of(name, value)).transpose()
    }

    /// An object, if it is there. RabbitMQ writes empty objects as `[]` here and there, so it reads them, too.
    pub fn object(self, name: &str) -> Result<Option<&'a Map<String, Value>>, ReadError> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::Object(members)) => Ok(Some(members)),
            Some(Value::Array(items)) if items.is_empty() => Ok(None),
            Some(other) => Err(wrong_type(name, "an object", other)),
        }
    }

    /// The member `limits`, if it is there: names with numbers.
    pub(crate) fn limits(self) -> Result<Option<Vec<(&'a str, i64)>>, ReadError> {
        match self.get("limits") {
            None => Ok(None),
            Some(_) => self.object("limits")?.map_or(Ok(Vec::new()), limits_of).map(Some),
        }
    }
}

/// Limits by their names. The callers that set them check their values.
pub(crate) fn limits_of(members: &Map<String, Value>) -> Result<Vec<(&str, i64)>, ReadError> {
    let number =
        |(name, value): (&'_ String, &'_ Value)| value.as_i64().ok_or_else(|| wrong_type(name, "an integer", value));
    members.iter().map(|(name, value)| Ok((name.as_str(), number((name, value))?))).collect()
}

/// An integer, or the digits of one as a text.
pub fn integer_of(name: &str, value: &Value) -> Result<i64, ReadError> {
    match value {
        Value::Number(number) if number.is_i64() => Ok(number.as_i64().unwrap_or_default()),
        Value::String(text) => {
            let not_integer = |_| ReadError::NotInteger { name: name.to_owned(), text: text.clone() };
            text.trim().parse().map_err(not_integer)
        }
        other => Err(wrong_type(name, "an integer", other)),
    }
}

/// Words as a list of texts, or as one text with commas.
pub(crate) fn words_of<'a>(name: &str, value: &'a Value) -> Result<Vec<&'a str>, ReadError> {
    let wrong = || wrong_type(name, "a string or a list of strings", value);
    match value {
        Value::String(text) => Ok(text.split(',').map(str::trim).filter(|word| !word.is_empty()).collect()),
        Value::Array(items) => items.iter().map(|item| item.as_str().ok_or_else(wrong)).collect(),
        _ => Err(wrong()),
    }
}

fn text_of<'a>(name: &str, value: &'a Value) -> Result<&'a str, ReadError> {
    value.as_str().ok_or_else(|| wrong_type(name, "a string", value))
}

/// Characters that are shown of a value that is wrong.
const SHOWN_LEN_MAX: usize = 100;

/// A member of the wrong type. RabbitMQ fails with 500 or takes it for something else.
#[must_use]
pub fn wrong_type(name: &str, wanted: &str, value: &Value) -> ReadError {
    let mut shown = value.to_string();
    if let Some((end, _)) = shown.char_indices().nth(SHOWN_LEN_MAX) {
        shown.truncate(end);
        shown.push('…');
    }
    ReadError::Invalid(format!("'{name}' must be {wanted}, not {shown}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check_refused<T: std::fmt::Debug>(result: Result<T, ReadError>, text: &str) {
        assert_eq!(result.unwrap_err().to_string(), text);
    }

    #[test]
    fn booleans_may_be_texts_and_nothing_else() {
        let members = json!({"a": true, "b": "false", "c": 1, "d": null});
        let fields = Fields(members.as_object().unwrap());
        assert_eq!(fields.bool("a", false), Ok(true));
        assert_eq!(fields.bool("b", true), Ok(false));
        assert_eq!(fields.bool("e", true), Ok(true));
        check_refused(fields.bool("d", true), "'d' must be true or false, not null");
        check_refused(fields.bool("c", true), "'c' must be true or false, not 1");
    }

    #[test]
    fn a_member_of_the_wrong_type_is_named() {
        let members = json!({"a": {"x": 1}, "n": 1.5, "t": "one"});
        let fields = Fields(members.as_object().unwrap());
        check_refused(fields.text("a"), "'a' must be a string, not {\"x\":1}");
        check_refused(fields.integer("n"), "'n' must be an integer, not 1.5");
        check_refused(fields.integer("t"), "'t' must be an integer, not \"one\"");
        check_refused(fields.required("b"), "the key 'b' is missing");
        check_refused(fields.require(&["a", "b", "c"]), "the keys 'b', 'c' are missing");
    }
}
