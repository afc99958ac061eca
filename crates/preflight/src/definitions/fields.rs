//! Members of an entry, by name and type, as the broker reads them.

use serde_json::{Map, Value};

use super::Refusal;

/// The members of an entry.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields<'a>(pub(super) &'a Map<String, Value>);

/// What is shown of a value that is wrong.
const SHOWN_LEN_MAX: usize = 100;

impl<'a> Fields<'a> {
    /// A member that says something.
    pub(super) fn said(self, name: &str) -> Option<&'a Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    pub(super) fn required(self, name: &str) -> Result<&'a Value, Refusal> {
        self.0.get(name).ok_or_else(|| Refusal::wrong(format!("'{name}' is missing")))
    }

    pub(super) fn text(self, name: &str) -> Result<Option<&'a str>, Refusal> {
        self.0.get(name).map(|value| text_of(name, value)).transpose()
    }

    pub(super) fn required_text(self, name: &str) -> Result<&'a str, Refusal> {
        text_of(name, self.required(name)?)
    }

    pub(super) fn bool(self, name: &str, default: bool) -> Result<bool, Refusal> {
        match self.0.get(name) {
            None => Ok(default),
            Some(Value::Bool(is)) => Ok(*is),
            Some(Value::String(text)) if text == "true" => Ok(true),
            Some(Value::String(text)) if text == "false" => Ok(false),
            Some(other) => Err(wrong_type(name, "true or false", other)),
        }
    }

    /// An object; old versions write empty ones as `[]`.
    pub(super) fn object(self, name: &str) -> Result<Option<&'a Map<String, Value>>, Refusal> {
        match self.0.get(name) {
            None => Ok(None),
            Some(Value::Object(members)) => Ok(Some(members)),
            Some(Value::Array(items)) if items.is_empty() => Ok(None),
            Some(other) => Err(wrong_type(name, "an object", other)),
        }
    }

    /// Words in a list, or in one text with commas between them.
    pub(super) fn check_words(self, name: &str) -> Result<(), Refusal> {
        match self.0.get(name) {
            None | Some(Value::Null | Value::String(_)) => Ok(()),
            Some(Value::Array(items)) if items.iter().all(Value::is_string) => Ok(()),
            Some(other) => Err(wrong_type(name, "a string or a list of strings", other)),
        }
    }
}

fn text_of<'a>(name: &str, value: &'a Value) -> Result<&'a str, Refusal> {
    value.as_str().ok_or_else(|| wrong_type(name, "a string", value))
}

pub(super) fn wrong_type(name: &str, wanted: &str, value: &Value) -> Refusal {
    let shown: String = value.to_string().chars().take(SHOWN_LEN_MAX).collect();
    Refusal::wrong(format!("'{name}' must be {wanted}, not {shown}"))
}
