//! One flat JSON object, written as it is built. Keys come from this program and need no escaping.

use std::fmt::{self, Display, Write};

/// A JSON object under construction; `Display` closes it.
pub(crate) struct Object {
    text: String,
}

impl Object {
    pub(crate) fn new() -> Object {
        Object { text: String::new() }
    }

    /// A number, or anything that is JSON already.
    pub(crate) fn field(mut self, name: &str, value: impl Display) -> Object {
        if !self.text.is_empty() {
            self.text.push_str(", ");
        }
        write!(self.text, "\"{name}\": {value}").expect("a String takes every write");
        self
    }

    /// A float with as many decimals as a reader can use; null for one that JSON cannot say, as of a broker that took no time.
    pub(crate) fn number(self, name: &str, value: f64) -> Object {
        if !value.is_finite() {
            return self.field(name, "null");
        }
        self.field(name, format_args!("{value:.3}"))
    }
}

impl Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{{}}}", self.text)
    }
}

/// A JSON array of these.
pub(crate) fn array(items: impl IntoIterator<Item = impl Display>) -> String {
    let items: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    format!("[{}]", items.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_of_objects() {
        let inner = Object::new().field("n", 1);
        let outer = Object::new().field("count", 2).number("rate", 1.5).field("windows", array([inner]));
        assert_eq!(outer.to_string(), r#"{"count": 2, "rate": 1.500, "windows": [{"n": 1}]}"#);
    }

    #[test]
    fn what_json_cannot_say_is_null() {
        assert_eq!(Object::new().number("rate", 1.0 / 0.0).to_string(), r#"{"rate": null}"#);
    }
}
