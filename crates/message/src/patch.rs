//! Bytes of an encoded header that take the place of others.

use amqp::table::Value;

use crate::{Format, Header};

/// Bytes that take the place of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patch {
    start: usize,
    bytes: [u8; 8],
    len: usize,
}

impl Patch {
    /// Puts them where they belong, in the bytes of the header that they were made for, or of an equal one.
    pub fn apply(&self, header: &mut [u8]) {
        if let Some(place) = header.get_mut(self.start..self.start + self.len) {
            place.copy_from_slice(&self.bytes[..self.len]);
        }
    }
}

impl Header<'_> {
    /// What makes `value` of the header of this name where it lies: encoding all of them anew costs more. `None`: there is no such
    /// header, or its value is not a signed integer of the same width.
    #[must_use]
    pub fn patch(self, name: &str, value: &Value<'_>) -> Option<Patch> {
        let Format::Amqp091 = self.format();
        let view = self.view()?;
        let (found, before) = view.headers()?.iter().find(|(found, _)| *found == name.as_bytes())?;
        // The headers are a part of the bytes; the value comes behind its name and one byte for its type.
        let start = found.as_ptr().addr().checked_sub(self.bytes().as_ptr().addr())? + found.len() + 1;
        match (before, value) {
            (Value::I16(_), Value::I16(value)) => Some(new(start, &value.to_be_bytes())),
            (Value::I32(_), Value::I32(value)) => Some(new(start, &value.to_be_bytes())),
            (Value::I64(_), Value::I64(value)) => Some(new(start, &value.to_be_bytes())),
            _ => None,
        }
    }
}

fn new(start: usize, bytes: &[u8]) -> Patch {
    let mut patch = Patch { start, bytes: [0; 8], len: bytes.len() };
    patch.bytes[..bytes.len()].copy_from_slice(bytes);
    patch
}

#[cfg(test)]
mod tests {
    use amqp::content::Properties;
    use amqp::table::TableBuf;

    use super::*;
    use crate::View;

    #[track_caller]
    fn check(before: Value<'_>, after: Value<'_>, is_in_place: bool) {
        let table = |value| TableBuf::new().with("a", Value::LongStr(b"n")).with("n", value).with("z", Value::Void);
        let headers = table(before);
        // The name stands in another property, too.
        let properties =
            Properties { headers: Some(headers.as_table()), content_type: Some(b"n"), ..Properties::default() };
        let header = View::of(properties, 7).encode();
        let patch = header.as_header().patch("n", &after);
        assert_eq!(patch.is_some(), is_in_place);
        if let Some(patch) = patch {
            let mut bytes = header.as_header().bytes().to_vec();
            patch.apply(&mut bytes);
            let headers = table(after);
            let expected = View::of(Properties { headers: Some(headers.as_table()), ..properties }, 7).encode();
            assert_eq!(bytes, expected.as_header().bytes());
        }
    }

    #[test]
    fn signed_integers_are_changed_where_they_lie() {
        check(Value::I16(300), Value::I16(-300), true);
        check(Value::I32(5), Value::I32(i32::MIN), true);
        check(Value::I64(i64::MAX), Value::I64(0), true);
    }

    #[test]
    fn no_value_is_changed_to_another_type() {
        check(Value::I32(5), Value::I64(5), false);
        check(Value::U8(5), Value::I16(5), false);
        check(Value::LongStr(b"5"), Value::LongStr(b"6"), false);
        assert_eq!(View::of(Properties::default(), 0).encode().as_header().patch("n", &Value::I32(1)), None);
    }
}
