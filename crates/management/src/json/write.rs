//! Writing JSON into a buffer, without building a value first.
//!
//! A [`Cell`] is the place of one member. Writing it uses it up; a member that is not written is absent, and so is one that
//! the [`Selection`] does not want: its name, its comma and its value then cost nothing.

use std::io::Write as _;

use serde_json::Value;

use crate::listing::{DETAILS, Selection};

/// Writes a value into a buffer.
pub(crate) struct Writer<'a> {
    out: &'a mut Vec<u8>,
    wanted: &'a Selection,
    is_key: bool,
}

impl<'a> Writer<'a> {
    /// A writer of one value at the end of the buffer.
    pub(crate) fn new(out: &'a mut Vec<u8>) -> Self {
        Self::of(out, &Selection::All)
    }

    /// A writer that leaves out what is not wanted.
    pub(crate) fn of(out: &'a mut Vec<u8>, wanted: &'a Selection) -> Self {
        Self { out, wanted, is_key: false }
    }

    /// A writer of what is sorted by, and not shown.
    pub(crate) fn of_key(out: &'a mut Vec<u8>) -> Self {
        Self { out, wanted: &Selection::All, is_key: true }
    }

    pub(crate) fn null(self) {
        self.out.extend_from_slice(b"null");
    }

    pub(crate) fn bool(self, value: bool) {
        self.out.extend_from_slice(if value { b"true" } else { b"false" });
    }

    pub(crate) fn int(self, value: u64) {
        write_digits(self.out, value);
    }

    pub(crate) fn signed(self, value: i64) {
        if value < 0 {
            self.out.push(b'-');
        }
        write_digits(self.out, value.unsigned_abs());
    }

    /// A finite number; it has a point or an exponent.
    pub(crate) fn float(self, value: f64) {
        debug_assert!(value.is_finite());
        // Into a buffer, which takes everything.
        let _ = write!(self.out, "{value:?}");
    }

    pub(crate) fn text(self, value: &str) {
        write_text(self.out, value);
    }

    /// Any value, whole: RabbitMQ takes apart the objects that it describes, and none that users have written.
    pub(crate) fn value(self, value: &Value) {
        write_value(self.out, value);
    }

    /// An object, whose members `fill` writes. One of which nothing is wanted that it has is `[]`, as in RabbitMQ.
    pub(crate) fn object(self, fill: impl FnOnce(&mut Object<'_>)) {
        let start = self.out.len();
        self.out.push(b'{');
        let mut object = Object { out: self.out, wanted: self.wanted, is_key: self.is_key, is_empty: true };
        fill(&mut object);
        if object.is_empty && *self.wanted != Selection::All {
            self.out.truncate(start);
            self.out.extend_from_slice(b"[]");
            return;
        }
        self.out.push(b'}');
    }

    /// A list, with one value for each item.
    pub(crate) fn list<T>(self, items: impl IntoIterator<Item = T>, mut each: impl FnMut(T, Writer<'_>)) {
        self.out.push(b'[');
        for (position, item) in items.into_iter().enumerate() {
            if position > 0 {
                self.out.push(b',');
            }
            each(item, Writer { out: self.out, wanted: self.wanted, is_key: self.is_key });
        }
        self.out.push(b']');
    }

    /// A list of texts.
    pub(crate) fn texts<'t>(self, texts: impl IntoIterator<Item = &'t str>) {
        self.list(texts, |text, writer| writer.text(text));
    }
}

/// An object that is being written.
pub(crate) struct Object<'a> {
    out: &'a mut Vec<u8>,
    wanted: &'a Selection,
    is_key: bool,
    is_empty: bool,
}

impl Object<'_> {
    /// The place of one member.
    pub(crate) fn cell<'b>(&'b mut self, name: &'b str) -> Cell<'b> {
        let wanted = self.wanted.of(name);
        self.cell_of(name, "", wanted)
    }

    /// The place of the details of a number: a member with its name and `_details`.
    pub(crate) fn details<'b>(&'b mut self, name: &'b str) -> Cell<'b> {
        let wanted = self.wanted.of_details(name);
        self.cell_of(name, DETAILS, wanted)
    }

    /// The place of a member that is known to be wanted.
    pub(crate) fn wanted_cell<'b>(&'b mut self, name: &'b str, wanted: &'b Selection) -> Cell<'b> {
        self.cell_of(name, "", Some(wanted))
    }

    fn cell_of<'b>(&'b mut self, name: &'b str, suffix: &'static str, wanted: Option<&'b Selection>) -> Cell<'b> {
        Cell { out: self.out, is_first: &mut self.is_empty, name, suffix, wanted, is_key: self.is_key }
    }
}

/// The place of one member of an object. Not writing it leaves the member out.
pub(crate) struct Cell<'a> {
    out: &'a mut Vec<u8>,
    is_first: &'a mut bool,
    name: &'a str,
    /// What its name ends with.
    suffix: &'static str,
    /// None: it is not wanted.
    wanted: Option<&'a Selection>,
    is_key: bool,
}

impl<'a> Cell<'a> {
    /// What is wanted of the member: what is not free to find is found only then. None: nothing.
    pub(crate) fn wanted(&self) -> Option<&'a Selection> {
        self.wanted
    }

    /// Whether it is written to be sorted by, and not shown.
    pub(crate) fn is_key(&self) -> bool {
        self.is_key
    }

    /// The writer of the member's value, if it is wanted.
    pub(crate) fn writer(self) -> Option<Writer<'a>> {
        let wanted = self.wanted?;
        if !std::mem::replace(self.is_first, false) {
            self.out.push(b',');
        }
        write_text(self.out, self.name);
        if !self.suffix.is_empty() {
            // Before the quote that ends the name.
            self.out.pop();
            self.out.extend_from_slice(self.suffix.as_bytes());
            self.out.push(b'"');
        }
        self.out.push(b':');
        Some(Writer { out: self.out, wanted, is_key: self.is_key })
    }

    fn write(self, value: impl FnOnce(Writer<'a>)) {
        if let Some(writer) = self.writer() {
            value(writer);
        }
    }

    pub(crate) fn null(self) {
        self.write(Writer::null);
    }

    pub(crate) fn bool(self, value: bool) {
        self.write(|writer| writer.bool(value));
    }

    pub(crate) fn int(self, value: u64) {
        self.write(|writer| writer.int(value));
    }

    pub(crate) fn signed(self, value: i64) {
        self.write(|writer| writer.signed(value));
    }

    pub(crate) fn float(self, value: f64) {
        self.write(|writer| writer.float(value));
    }

    pub(crate) fn text(self, value: &str) {
        self.write(|writer| writer.text(value));
    }

    /// The text, or `null` where there is none.
    pub(crate) fn text_or_null(self, value: Option<&str>) {
        match value {
            Some(text) => self.text(text),
            None => self.null(),
        }
    }

    /// The text; without one the member is absent.
    pub(crate) fn text_if(self, value: Option<&str>) {
        if let Some(text) = value {
            self.text(text);
        }
    }

    pub(crate) fn value(self, value: &Value) {
        self.write(|writer| writer.value(value));
    }

    pub(crate) fn texts<'t>(self, texts: impl IntoIterator<Item = &'t str>) {
        self.write(|writer| writer.texts(texts));
    }

    pub(crate) fn object(self, fill: impl FnOnce(&mut Object<'_>)) {
        self.write(|writer| writer.object(fill));
    }

    pub(crate) fn list<T>(self, items: impl IntoIterator<Item = T>, each: impl FnMut(T, Writer<'_>)) {
        self.write(|writer| writer.list(items, each));
    }
}

/// Writes a text with quotes and escapes.
pub(crate) fn write_text(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    let bytes = text.as_bytes();
    let mut plain_from = 0;
    for (at, byte) in bytes.iter().enumerate() {
        let escape: &[u8] = match byte {
            b'"' => b"\\\"",
            b'\\' => b"\\\\",
            b'\n' => b"\\n",
            b'\r' => b"\\r",
            b'\t' => b"\\t",
            0x08 => b"\\b",
            0x0c => b"\\f",
            0..0x20 => {
                out.extend_from_slice(&bytes[plain_from..at]);
                const HEX: &[u8; 16] = b"0123456789abcdef";
                out.extend_from_slice(b"\\u00");
                out.push(HEX[usize::from(byte >> 4)]);
                out.push(HEX[usize::from(byte & 15)]);
                plain_from = at + 1;
                continue;
            }
            _ => continue,
        };
        out.extend_from_slice(&bytes[plain_from..at]);
        out.extend_from_slice(escape);
        plain_from = at + 1;
    }
    out.extend_from_slice(&bytes[plain_from..]);
    out.push(b'"');
}

fn write_digits(out: &mut Vec<u8>, mut value: u64) {
    let mut digits = [0; 20];
    let mut from = digits.len();
    loop {
        from -= 1;
        digits[from] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[from..]);
}

fn write_value(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Object(members) => Writer::new(out).object(|object| {
            for (name, value) in members {
                object.cell(name).value(value);
            }
        }),
        Value::Array(items) => Writer::new(out).list(items, |item, writer| writer.value(item)),
        Value::String(text) => write_text(out, text),
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(is) => Writer::new(out).bool(*is),
        Value::Number(number) => out.extend_from_slice(number.to_string().as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn written(wanted: &Selection, fill: impl FnOnce(&mut Object<'_>)) -> String {
        let mut out = Vec::new();
        Writer::of(&mut out, wanted).object(fill);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn members_are_separated_and_absent_ones_leave_nothing() {
        let text = written(&Selection::All, |object| {
            object.cell("a").int(0);
            let _ = object.cell("b");
            object.cell("c").text_if(None);
            object.cell("d").text_or_null(None);
            object.cell("e").signed(i64::MIN);
            object.cell("f").texts(["x", "y"]);
            object.cell("g").object(|_| ());
        });
        assert_eq!(text, r#"{"a":0,"d":null,"e":-9223372036854775808,"f":["x","y"],"g":{}}"#);
    }

    #[test]
    fn what_is_not_wanted_is_not_written() {
        let text = written(&Selection::parse("list.x,none.x,arguments.x"), |object| {
            object.cell("a").int(0);
            object.cell("list").list([1, 2], |item, writer| {
                writer.object(|object| {
                    object.cell("x").int(item);
                    object.cell("y").int(item);
                });
            });
            object.cell("none").object(|object| object.cell("y").int(1));
            object.cell("arguments").value(&json!({"y": [1, {"z": null}]}));
        });
        assert_eq!(text, r#"{"list":[{"x":1},{"x":2}],"none":[],"arguments":{"y":[1,{"z":null}]}}"#);
        assert_eq!(written(&Selection::parse(""), |object| object.cell("a").int(0)), "[]");
    }

    #[test]
    fn details_have_the_name_of_their_number() {
        let write = |object: &mut Object<'_>| {
            object.cell("ack").int(1);
            object.details("ack").object(|members| members.cell("rate").int(2));
        };
        assert_eq!(written(&Selection::All, write), r#"{"ack":1,"ack_details":{"rate":2}}"#);
        assert_eq!(written(&Selection::parse("ack_details.rate"), write), r#"{"ack_details":{"rate":2}}"#);
        assert_eq!(written(&Selection::parse("ack,get_details,_details"), write), r#"{"ack":1}"#);
    }

    proptest! {
        #[test]
        fn texts_survive(text in any::<String>()) {
            let mut out = Vec::new();
            write_text(&mut out, &text);
            prop_assert_eq!(serde_json::from_slice::<String>(&out).unwrap(), text);
        }

        #[test]
        fn numbers_survive(number in any::<u64>(), signed in any::<i64>()) {
            let text = written(&Selection::All, |object| {
                object.cell("n").int(number);
                object.cell("s").signed(signed);
            });
            prop_assert_eq!(text, format!(r#"{{"n":{number},"s":{signed}}}"#));
        }
    }
}
