//! Tables and arrays that own their bytes: to build one, or to keep one.

use super::{Array, Table, Value};
use crate::limits::SHORT_STR_LEN_MAX;
use crate::wire;
use std::fmt;

/// A field table that owns its bytes.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct TableBuf {
    fields: Vec<u8>,
}

/// An array that owns its bytes.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct ArrayBuf {
    values: Vec<u8>,
}

/// A field's name has at most 255 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("field name of {0} bytes is longer than 255")]
pub struct NameTooLong(pub usize);

impl TableBuf {
    /// A table without fields.
    #[must_use]
    pub fn new() -> Self {
        TableBuf::default()
    }

    /// Appends a field, whether or not there is one of that name already.
    pub fn push(&mut self, name: &[u8], value: Value<'_>) -> Result<(), NameTooLong> {
        if name.len() > SHORT_STR_LEN_MAX {
            return Err(NameTooLong(name.len()));
        }
        wire::put_short_str(&mut self.fields, name);
        value.encode(&mut self.fields);
        Ok(())
    }

    /// Appends a field with a name that the program itself chose.
    #[must_use]
    pub fn with(mut self, name: &str, value: Value<'_>) -> Self {
        assert!(name.len() <= SHORT_STR_LEN_MAX, "field name {name:?} is longer than a shortstr");
        wire::put_short_str(&mut self.fields, name.as_bytes());
        value.encode(&mut self.fields);
        self
    }

    /// Replaces the first field of this name by the value and removes the others, or appends a field if there is none.
    /// Other fields keep their bytes.
    pub fn set(&mut self, name: &[u8], value: Value<'_>) -> Result<(), NameTooLong> {
        let mut changed = TableBuf { fields: Vec::with_capacity(self.fields.len()) };
        let mut is_set = false;
        for (found, field) in self.as_table().raw_fields() {
            if found != name {
                changed.fields.extend_from_slice(field);
            } else if !is_set {
                changed.push(name, value)?;
                is_set = true;
            }
        }
        if !is_set {
            changed.push(name, value)?;
        }
        *self = changed;
        Ok(())
    }

    /// Removes all fields of this name. Returns whether there was one. Other fields keep their bytes.
    pub fn remove(&mut self, name: &[u8]) -> bool {
        let mut kept = Vec::with_capacity(self.fields.len());
        for (_, field) in self.as_table().raw_fields().filter(|(found, _)| *found != name) {
            kept.extend_from_slice(field);
        }
        let is_removed = kept.len() < self.fields.len();
        self.fields = kept;
        is_removed
    }

    /// Gives back room for fields that do not come.
    pub fn shrink(&mut self) {
        self.fields.shrink_to_fit();
    }

    /// The table, borrowed.
    #[inline]
    #[must_use]
    pub fn as_table(&self) -> Table<'_> {
        Table::trusted(&self.fields)
    }

    /// Whether it has no fields.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }
}

impl ArrayBuf {
    /// An array without values.
    #[must_use]
    pub fn new() -> Self {
        ArrayBuf::default()
    }

    /// Appends a value.
    pub fn push(&mut self, value: Value<'_>) {
        value.encode(&mut self.values);
    }

    /// Appends a value.
    #[must_use]
    pub fn with(mut self, value: Value<'_>) -> Self {
        self.push(value);
        self
    }

    /// The array, borrowed.
    #[inline]
    #[must_use]
    pub fn as_array(&self) -> Array<'_> {
        Array::trusted(&self.values)
    }
}

impl From<Table<'_>> for TableBuf {
    fn from(table: Table<'_>) -> Self {
        TableBuf { fields: table.as_bytes().to_vec() }
    }
}

impl From<Array<'_>> for ArrayBuf {
    fn from(array: Array<'_>) -> Self {
        ArrayBuf { values: array.as_bytes().to_vec() }
    }
}

impl fmt::Debug for TableBuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_table().fmt(f)
    }
}

impl fmt::Debug for ArrayBuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_array().fmt(f)
    }
}
