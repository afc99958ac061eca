//! Field tables and arrays: headers of messages, arguments of declarations.
//!
//! ```text
//!  table   | len u32 | field … |             field   | name shortstr | type u8 | value |
//!  array   | len u32 | type u8 | value | … |
//!
//!  t bool u8          b i8      s i16     I i32     l, L i64    f f32     d f64      T timestamp u64 (s)
//!  S longstr          B u8      u u16     i u32     V nothing   x bytes   D decimal | scale u8 | u32 |
//!  F table            A array
//! ```
//!
//! The letters mean what RabbitMQ takes them for, which is not what the specification says of some: `L` is signed as
//! `l` is, `s` is a 16-bit integer, and `B`, `u`, `i` are unsigned.
//!
//! A [`Table`] borrows its bytes and was checked as a whole when it was decoded, so that reading it cannot fail, and
//! encoding it gives the bytes that came. Fields keep their order, and a name may occur twice.

mod owned;
mod value;

pub use owned::{ArrayBuf, NameTooLong, TableBuf};
pub use value::Value;

use crate::limits::{TABLE_DEPTH_MAX, TABLE_LEN_MAX};
use crate::wire::{Reader, UnexpectedEnd};
use std::fmt;

/// Why bytes are no field table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    /// A value or a name extends beyond the end of the table.
    #[error("field table ends inside a field")]
    Truncated,
    /// No such type of value.
    #[error("unknown field type {0:#04x}")]
    UnknownType(u8),
    /// Deeper than [`TABLE_DEPTH_MAX`].
    #[error("field table is nested deeper than {TABLE_DEPTH_MAX}")]
    TooDeep,
    /// Longer than [`TABLE_LEN_MAX`].
    #[error("field table is longer than {TABLE_LEN_MAX} bytes")]
    TooLong,
}

impl From<UnexpectedEnd> for TableError {
    #[inline]
    fn from(_: UnexpectedEnd) -> Self {
        TableError::Truncated
    }
}

/// A field table.
///
/// Two are equal if their bytes are: same fields in the same order with the same types.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Table<'a> {
    /// Valid fields, without the length before them.
    fields: &'a [u8],
}

/// An array of values, each of any type.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Array<'a> {
    /// Valid values, without the length before them.
    values: &'a [u8],
}

impl<'a> Table<'a> {
    /// The table without fields.
    pub const EMPTY: Table<'static> = Table { fields: &[] };

    /// Checks and borrows a table's fields, without the length before them.
    ///
    /// This is also the form of an AMQPLAIN response.
    #[inline]
    pub fn decode(fields: &'a [u8]) -> Result<Self, TableError> {
        if fields.is_empty() {
            return Ok(Table::EMPTY);
        }
        if fields.len() > TABLE_LEN_MAX {
            return Err(TableError::TooLong);
        }
        check_fields(fields, 1)?;
        Ok(Table { fields })
    }

    /// The fields as bytes, without the length before them: what [`Table::decode`] takes.
    #[inline]
    #[must_use]
    pub fn as_bytes(&self) -> &'a [u8] {
        self.fields
    }

    /// Whether it has no fields.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// The fields in their order.
    #[inline]
    #[must_use]
    pub fn iter(&self) -> Fields<'a> {
        Fields { reader: Reader::new(self.fields) }
    }

    /// The first value of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Value<'a>> {
        self.iter().find(|(found, _)| *found == name.as_bytes()).map(|(_, value)| value)
    }

    /// Whether there is a number in it, however deep, that is NaN or infinite: RabbitMQ cannot read those, and drops the connection.
    #[must_use]
    pub fn has_odd_number(&self) -> bool {
        self.iter().any(|(_, value)| value.is_odd_number())
    }

    /// The fields in their order, each with its name and all of its bytes.
    fn raw_fields(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> {
        let mut fields = self.iter();
        std::iter::from_fn(move || {
            let before = fields.reader.rest();
            let (name, _) = fields.next()?;
            Some((name, &before[..before.len() - fields.reader.rest().len()]))
        })
    }

    /// A copy that owns its bytes.
    #[must_use]
    pub fn to_owned(&self) -> TableBuf {
        TableBuf::from(*self)
    }

    /// For bytes that this module made or checked itself.
    #[inline]
    fn trusted(fields: &'a [u8]) -> Self {
        Table { fields }
    }
}

impl<'a> Array<'a> {
    /// The array without values.
    pub const EMPTY: Array<'static> = Array { values: &[] };

    /// Checks and borrows an array's values, without the length before them.
    pub fn decode(values: &'a [u8]) -> Result<Self, TableError> {
        if values.len() > TABLE_LEN_MAX {
            return Err(TableError::TooLong);
        }
        check_values(values, 1)?;
        Ok(Array { values })
    }

    /// The values as bytes, without the length before them.
    #[inline]
    #[must_use]
    pub fn as_bytes(&self) -> &'a [u8] {
        self.values
    }

    /// Whether it has no values.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The values in their order.
    #[inline]
    #[must_use]
    pub fn iter(&self) -> Values<'a> {
        Values { reader: Reader::new(self.values) }
    }

    #[inline]
    fn trusted(values: &'a [u8]) -> Self {
        Array { values }
    }
}

impl<'a> IntoIterator for Table<'a> {
    type Item = (&'a [u8], Value<'a>);
    type IntoIter = Fields<'a>;

    fn into_iter(self) -> Fields<'a> {
        self.iter()
    }
}

impl<'a> IntoIterator for Array<'a> {
    type Item = Value<'a>;
    type IntoIter = Values<'a>;

    fn into_iter(self) -> Values<'a> {
        self.iter()
    }
}

impl fmt::Debug for Table<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter().map(|(name, value)| (String::from_utf8_lossy(name), value))).finish()
    }
}

impl fmt::Debug for Array<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// The fields of a table. The iterator is over bytes that were checked, so that it ends where they end.
#[derive(Clone, Debug)]
pub struct Fields<'a> {
    reader: Reader<'a>,
}

impl<'a> Iterator for Fields<'a> {
    type Item = (&'a [u8], Value<'a>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let name = self.reader.short_str().ok()?;
        let value = Value::decode_trusted(&mut self.reader).ok()?;
        Some((name, value))
    }
}

/// The values of an array.
#[derive(Clone, Debug)]
pub struct Values<'a> {
    reader: Reader<'a>,
}

impl<'a> Iterator for Values<'a> {
    type Item = Value<'a>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        Value::decode_trusted(&mut self.reader).ok()
    }
}

fn check_fields(fields: &[u8], depth: u32) -> Result<(), TableError> {
    let mut reader = Reader::new(fields);
    while !reader.is_empty() {
        reader.short_str()?;
        check_value(&mut reader, depth)?;
    }
    Ok(())
}

fn check_values(values: &[u8], depth: u32) -> Result<(), TableError> {
    let mut reader = Reader::new(values);
    while !reader.is_empty() {
        check_value(&mut reader, depth)?;
    }
    Ok(())
}

/// Checks one value of a table or array at `depth`.
#[inline]
fn check_value(reader: &mut Reader<'_>, depth: u32) -> Result<(), TableError> {
    match Value::decode_trusted(reader)? {
        Value::Table(_) | Value::Array(_) if depth >= TABLE_DEPTH_MAX => Err(TableError::TooDeep),
        Value::Table(table) => check_fields(table.fields, depth + 1),
        Value::Array(array) => check_values(array.values, depth + 1),
        _ => Ok(()),
    }
}
