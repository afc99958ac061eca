//! Reading what operators give as JSON: strictly, so that a word that is spelled wrongly is not a rule that never fires.

use model::config::parse_duration_ms;
use serde_json::{Map, Value};

use crate::limits::{NAME_LEN_MAX, NUMBER_MAX};

/// What is given makes no rule, or no webhook.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct MemberError(pub(crate) String);

pub(crate) fn refuse<T>(text: impl Into<String>) -> Result<T, MemberError> {
    Err(MemberError(text.into()))
}

/// Members of an object.
#[derive(Clone, Copy)]
pub(crate) struct Members<'a>(pub(crate) &'a Map<String, Value>);

impl<'a> Members<'a> {
    /// Whether there is nothing but these, and what answers have beside them.
    pub(crate) fn check_known(self, known: &[&str], shown: &[&str]) -> Result<(), MemberError> {
        let is_known = |name: &str| known.contains(&name) || shown.contains(&name);
        match self.0.keys().find(|name| !is_known(name)) {
            Some(name) => refuse(format!("'{name}' is not one of {}", known.join(", "))),
            None => Ok(()),
        }
    }

    fn get(self, name: &str) -> Option<&'a Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    pub(crate) fn has(self, name: &str) -> bool {
        self.get(name).is_some()
    }

    pub(crate) fn text(self, name: &str) -> Result<Option<&'a str>, MemberError> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => refuse(format!("'{name}' must be a text")),
        }
    }

    pub(crate) fn bool(self, name: &str) -> Result<bool, MemberError> {
        match self.get(name) {
            None => Ok(false),
            Some(Value::Bool(is)) => Ok(*is),
            Some(_) => refuse(format!("'{name}' must be true or false")),
        }
    }

    /// A number from 0, of those of which every whole one is an f64.
    pub(crate) fn number(self, name: &str) -> Result<Option<f64>, MemberError> {
        let Some(value) = self.get(name) else { return Ok(None) };
        match value.as_f64().filter(|number| (0.0..=NUMBER_MAX).contains(number)) {
            Some(number) => Ok(Some(number)),
            None => refuse(format!("'{name}' must be a number from 0 to {NUMBER_MAX}")),
        }
    }

    /// Milliseconds, or a text such as `90s`.
    pub(crate) fn duration_ms(
        self,
        name: &str,
        range: std::ops::RangeInclusive<u64>,
    ) -> Result<Option<u64>, MemberError> {
        let given_ms = match self.get(name) {
            None => return Ok(None),
            Some(Value::String(text)) => parse_duration_ms(text),
            Some(value) => value.as_u64(),
        };
        match given_ms.filter(|ms| range.contains(ms)) {
            Some(ms) => Ok(Some(ms)),
            None => {
                let (first, last) = (range.start(), range.end());
                refuse(format!(
                    "'{name}' must be milliseconds, or a duration such as 10s or 5m, from {first} to {last} ms"
                ))
            }
        }
    }

    pub(crate) fn texts(self, name: &str) -> Result<Vec<&'a str>, MemberError> {
        let wrong = || MemberError(format!("'{name}' must be a list of texts"));
        match self.get(name) {
            None => Ok(Vec::new()),
            Some(Value::Array(items)) => items.iter().map(|item| item.as_str().ok_or_else(wrong)).collect(),
            Some(_) => Err(wrong()),
        }
    }

    pub(crate) fn object(self, name: &str) -> Result<Option<&'a Map<String, Value>>, MemberError> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::Object(members)) => Ok(Some(members)),
            Some(_) => refuse(format!("'{name}' must be an object")),
        }
    }
}

/// Whether a rule or a webhook may have this name.
pub(crate) fn check_name(name: &str) -> Result<(), MemberError> {
    if name.is_empty() || name.len() > NAME_LEN_MAX || name.chars().any(char::is_control) {
        return refuse(format!("a name must have 1 to {NAME_LEN_MAX} bytes and no control characters"));
    }
    Ok(())
}

/// A number as people write it: whole where it is.
pub(crate) fn exact(value: f64) -> Value {
    if value.fract() == 0.0 && value.abs() <= NUMBER_MAX { Value::from(value as i64) } else { Value::from(value) }
}

/// A number that was measured, rounded to three decimal places.
pub(crate) fn rounded(value: f64) -> Value {
    exact((value * 1000.0).round() / 1000.0)
}
