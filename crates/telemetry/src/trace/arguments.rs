//! What a call was given: decoded only while a session looks.

use std::fmt::{self, Write as _};

/// The longest text of an argument that is kept.
const TEXT_LEN_MAX: usize = 256;

/// One value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// Text, cut at 256 bytes.
    Text(Box<str>),
    /// A number.
    Number(i64),
    /// Yes or no.
    Flag(bool),
    /// The first bytes of a body, and how long it is.
    Body(Box<[u8]>, u64),
}

/// A named value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Argument {
    /// Its name.
    pub name: &'static str,
    /// Its value.
    pub value: Value,
}

/// The arguments of a call. Never passwords.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Arguments {
    list: Vec<Argument>,
    /// How many bytes of bodies are wanted; 0: none.
    body_len_max: usize,
}

impl Arguments {
    pub(super) fn with_bodies(body_len_max: usize) -> Arguments {
        Arguments { list: Vec::new(), body_len_max }
    }

    /// Adds a text.
    pub fn text(&mut self, name: &'static str, text: &str) -> &mut Self {
        let cut = text.floor_char_boundary(TEXT_LEN_MAX);
        self.push(name, Value::Text(text[..cut].into()))
    }

    /// Adds a text that may be no UTF-8.
    pub fn bytes(&mut self, name: &'static str, bytes: &[u8]) -> &mut Self {
        let cut = &bytes[..bytes.len().min(TEXT_LEN_MAX)];
        self.text(name, &String::from_utf8_lossy(cut))
    }

    /// Adds a number.
    pub fn number(&mut self, name: &'static str, number: impl TryInto<i64>) -> &mut Self {
        self.push(name, Value::Number(number.try_into().unwrap_or(i64::MAX)))
    }

    /// Adds a yes or no.
    pub fn flag(&mut self, name: &'static str, flag: bool) -> &mut Self {
        self.push(name, Value::Flag(flag))
    }

    /// Adds a body, if a session asked for bodies, cut as it asked.
    pub fn body(&mut self, name: &'static str, body: &[u8]) -> &mut Self {
        match self.body_len_max {
            0 => self,
            len => self.push(name, Value::Body(body[..body.len().min(len)].into(), body.len() as u64)),
        }
    }

    fn push(&mut self, name: &'static str, value: Value) -> &mut Self {
        self.list.push(Argument { name, value });
        self
    }

    /// All of them, in order.
    #[must_use]
    pub fn list(&self) -> &[Argument] {
        &self.list
    }

    /// The value of one.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.list.iter().find(|argument| argument.name == name).map(|argument| &argument.value)
    }

    /// Without bodies: for a session that has not asked for them where another has.
    pub(super) fn without_bodies(&self) -> Arguments {
        let list = self.list.iter().filter(|argument| !matches!(argument.value, Value::Body(..)));
        Arguments { list: list.cloned().collect(), body_len_max: 0 }
    }

    /// How much memory they take, about.
    pub(super) fn len(&self) -> usize {
        let of_value = |value: &Value| match value {
            Value::Text(text) => text.len(),
            Value::Body(body, _) => body.len(),
            Value::Number(_) | Value::Flag(_) => 0,
        };
        self.list.iter().map(|argument| size_of::<Argument>() + of_value(&argument.value)).sum()
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Text(text) => write!(f, "{text:?}"),
            Value::Number(number) => number.fmt(f),
            Value::Flag(flag) => flag.fmt(f),
            Value::Body(body, len) => {
                write!(f, "{:?}", String::from_utf8_lossy(body))?;
                if (body.len() as u64) < *len { write!(f, "… ({len} bytes)") } else { Ok(()) }
            }
        }
    }
}

impl fmt::Display for Arguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, Argument { name, value }) in self.list.iter().enumerate() {
            if number > 0 {
                f.write_str(", ")?;
            }
            write!(f, "{name}={value}")?;
        }
        Ok(())
    }
}

/// What an argument has to be, for a call to be shown: `queue=orders`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    name: String,
    text: String,
}

impl Condition {
    /// A condition from what an operator wrote. None: it has no `=`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Condition> {
        let (name, text) = text.split_once('=')?;
        (!name.trim().is_empty()).then(|| Condition { name: name.trim().to_owned(), text: text.to_owned() })
    }

    /// The argument that it is about.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn holds(&self, arguments: &Arguments) -> bool {
        match arguments.get(&self.name) {
            None => false,
            Some(Value::Text(text)) => **text == *self.text,
            Some(Value::Body(body, _)) => **body == *self.text.as_bytes(),
            Some(value) => {
                let mut shown = String::new();
                // Writing to a string cannot fail.
                let _ = write!(shown, "{value}");
                shown == self.text
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_shown_as_a_call_would_be_written() {
        let mut arguments = Arguments::with_bodies(3);
        arguments.text("queue", "or\"ders\n").number("count", 7_u64).flag("durable", true).body("body", b"abcd");
        assert_eq!(arguments.to_string(), r#"queue="or\"ders\n", count=7, durable=true, body="abc"… (4 bytes)"#);
        assert_eq!(arguments.without_bodies().list().len(), 3);
        assert_eq!(Arguments::default().body("body", b"abcd").list(), []);
    }

    #[test]
    fn a_condition_is_about_one_argument() {
        let mut arguments = Arguments::default();
        arguments.text("queue", "a=b").number("count", 7).flag("durable", false);
        for (text, expected) in
            [("queue=a=b", true), ("queue=a", false), ("count=7", true), ("durable=false", true), ("absent=", false)]
        {
            assert_eq!(Condition::parse(text).expect("it has a =").holds(&arguments), expected, "{text}");
        }
        assert_eq!(Condition::parse("queue"), None);
        assert_eq!(Condition::parse("=x"), None);
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        let mut arguments = Arguments::default();
        arguments.text("queue", &"ü".repeat(200)).bytes("raw", &[0xff; 300]);
        let Some(Value::Text(text)) = arguments.get("queue") else { panic!("it is text") };
        assert_eq!(text.len(), 256);
        assert!(arguments.get("raw").is_some());
    }
}
