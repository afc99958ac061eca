//! One point.

use std::fmt::Write as _;

use crate::escape::{is_nothing, put_measurement, put_name, put_text};
use crate::timestamp::Timestamp;

/// Writes one line, and whether there was anything to write: a point has a measurement and a field at least. The order of tags is the
/// caller's.
pub fn write(
    out: &mut String,
    measurement: &str,
    at: Timestamp,
    tags: impl FnOnce(&mut Tags),
    fields: impl FnOnce(&mut Fields<'_>),
) -> bool {
    if is_nothing(measurement) {
        return false;
    }
    let start = out.len();
    put_measurement(out, measurement);
    let mut written = Tags(std::mem::take(out));
    tags(&mut written);
    *out = written.0;
    let mut written = Fields { out, is_empty: true };
    fields(&mut written);
    if written.is_empty {
        out.truncate(start);
        return false;
    }
    // Writing to a String cannot fail.
    let _ = writeln!(out, " {}", at.0);
    true
}

/// Tags, as they stand in a line: each with its comma.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tags(String);

impl Tags {
    /// Puts a tag. One without a name or a value is not allowed, and left out.
    pub fn put(&mut self, name: &str, value: &str) {
        if is_nothing(name) || is_nothing(value) {
            return;
        }
        self.0.push(',');
        put_name(&mut self.0, name);
        self.0.push('=');
        put_name(&mut self.0, value);
    }

    /// Puts what is the same in many lines, and was made once.
    pub fn put_all(&mut self, tags: &Tags) {
        self.0.push_str(&tags.0);
    }
}

/// The fields of a line that is being written.
#[derive(Debug)]
pub struct Fields<'a> {
    out: &'a mut String,
    is_empty: bool,
}

impl Fields<'_> {
    /// Puts a count or a size. Readers know no integer beyond 64 bits with a sign: one that is larger is the largest.
    pub fn count(&mut self, name: &str, count: u64) {
        self.integer(name, i64::try_from(count).unwrap_or(i64::MAX));
    }

    /// Puts an integer.
    pub fn integer(&mut self, name: &str, number: i64) {
        if self.begin(name) {
            let _ = write!(self.out, "{number}i");
        }
    }

    /// Puts a number. One that is infinite, or none, is left out: readers refuse it.
    pub fn float(&mut self, name: &str, number: f64) {
        if number.is_finite() && self.begin(name) {
            let _ = write!(self.out, "{number:?}");
        }
    }

    /// Puts a truth value.
    pub fn boolean(&mut self, name: &str, is: bool) {
        if self.begin(name) {
            let _ = write!(self.out, "{is}");
        }
    }

    /// Puts a text.
    pub fn text(&mut self, name: &str, text: &str) {
        if self.begin(name) {
            put_text(self.out, text);
        }
    }

    /// Writes a name and its equal sign; `false`: it has none, and is left out.
    fn begin(&mut self, name: &str) -> bool {
        if is_nothing(name) {
            return false;
        }
        self.out.push(if std::mem::take(&mut self.is_empty) { ' ' } else { ',' });
        put_name(self.out, name);
        self.out.push('=');
        true
    }
}

#[cfg(test)]
mod tests;
