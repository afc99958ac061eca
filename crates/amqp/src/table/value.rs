//! One value of a table or array.

use super::{Array, Table, TableError};
use crate::wire::{self, Reader};
use std::fmt;

/// A value of any of the types that RabbitMQ knows.
#[derive(Clone, Copy, PartialEq)]
pub enum Value<'a> {
    /// `t`
    Bool(bool),
    /// `b`
    I8(i8),
    /// `B`
    U8(u8),
    /// `s`
    I16(i16),
    /// `u`
    U16(u16),
    /// `I`
    I32(i32),
    /// `i`
    U32(u32),
    /// `l` or `L`; written as `l`
    I64(i64),
    /// `f`
    F32(f32),
    /// `d`
    F64(f64),
    /// `D`: `value` with the decimal point `scale` digits from the right
    Decimal {
        /// Digits after the decimal point.
        scale: u8,
        /// All digits.
        value: u32,
    },
    /// `S`: text, mostly UTF-8, but nothing requires that
    LongStr(&'a [u8]),
    /// `T`: seconds since 1970
    Timestamp(u64),
    /// `F`
    Table(Table<'a>),
    /// `A`
    Array(Array<'a>),
    /// `x`
    Binary(&'a [u8]),
    /// `V`
    Void,
}

impl<'a> Value<'a> {
    /// Any integer type as one. RabbitMQ's arguments take integers of any width. Timestamps are no integers.
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        match *self {
            Value::I8(value) => Some(i64::from(value)),
            Value::U8(value) => Some(i64::from(value)),
            Value::I16(value) => Some(i64::from(value)),
            Value::U16(value) => Some(i64::from(value)),
            Value::I32(value) => Some(i64::from(value)),
            Value::U32(value) => Some(i64::from(value)),
            Value::I64(value) => Some(value),
            _ => None,
        }
    }

    /// A long string's bytes.
    #[must_use]
    pub fn as_bytes(&self) -> Option<&'a [u8]> {
        match *self {
            Value::LongStr(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// A long string, if it is UTF-8.
    #[must_use]
    pub fn as_str(&self) -> Option<&'a str> {
        self.as_bytes().and_then(|bytes| std::str::from_utf8(bytes).ok())
    }

    /// A boolean.
    #[must_use]
    pub fn as_bool(&self) -> Option<bool> {
        match *self {
            Value::Bool(value) => Some(value),
            _ => None,
        }
    }

    /// A table.
    #[must_use]
    pub fn as_table(&self) -> Option<Table<'a>> {
        match *self {
            Value::Table(table) => Some(table),
            _ => None,
        }
    }

    /// An array.
    #[must_use]
    pub fn as_array(&self) -> Option<Array<'a>> {
        match *self {
            Value::Array(array) => Some(array),
            _ => None,
        }
    }

    /// See [`Table::has_odd_number`].
    pub(super) fn is_odd_number(&self) -> bool {
        match self {
            Value::F32(value) => !value.is_finite(),
            Value::F64(value) => !value.is_finite(),
            Value::Table(table) => table.has_odd_number(),
            Value::Array(array) => array.iter().any(|value| value.is_odd_number()),
            _ => false,
        }
    }

    /// The type by RabbitMQ's name, which its error texts contain.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        match self {
            Value::Bool(_) => "bool",
            Value::I8(_) => "byte",
            Value::U8(_) => "unsignedbyte",
            Value::I16(_) => "short",
            Value::U16(_) => "unsignedshort",
            Value::I32(_) => "signedint",
            Value::U32(_) => "unsignedint",
            Value::I64(_) => "long",
            Value::F32(_) => "float",
            Value::F64(_) => "double",
            Value::Decimal { .. } => "decimal",
            Value::LongStr(_) => "longstr",
            Value::Timestamp(_) => "timestamp",
            Value::Table(_) => "table",
            Value::Array(_) => "array",
            Value::Binary(_) => "binary",
            Value::Void => "void",
        }
    }

    /// Appends type and value.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match *self {
            Value::Bool(value) => out.extend_from_slice(&[b't', u8::from(value)]),
            Value::I8(value) => put(out, b'b', value.to_be_bytes()),
            Value::U8(value) => put(out, b'B', value.to_be_bytes()),
            Value::I16(value) => put(out, b's', value.to_be_bytes()),
            Value::U16(value) => put(out, b'u', value.to_be_bytes()),
            Value::I32(value) => put(out, b'I', value.to_be_bytes()),
            Value::U32(value) => put(out, b'i', value.to_be_bytes()),
            Value::I64(value) => put(out, b'l', value.to_be_bytes()),
            Value::F32(value) => put(out, b'f', value.to_be_bytes()),
            Value::F64(value) => put(out, b'd', value.to_be_bytes()),
            Value::Decimal { scale, value } => {
                put(out, b'D', [scale]);
                wire::put_u32(out, value);
            }
            Value::LongStr(bytes) => put_bytes(out, b'S', bytes),
            Value::Timestamp(value) => put(out, b'T', value.to_be_bytes()),
            Value::Table(table) => put_bytes(out, b'F', table.as_bytes()),
            Value::Array(array) => put_bytes(out, b'A', array.as_bytes()),
            Value::Binary(bytes) => put_bytes(out, b'x', bytes),
            Value::Void => out.push(b'V'),
        }
    }

    /// Reads type and value, without looking into tables and arrays: these are to be checked by the caller, or were.
    #[inline]
    pub(super) fn decode_trusted(reader: &mut Reader<'a>) -> Result<Self, TableError> {
        Ok(match reader.u8()? {
            b'S' => Value::LongStr(reader.long_str()?),
            b'I' => Value::I32(reader.array().map(i32::from_be_bytes)?),
            b'l' | b'L' => Value::I64(reader.array().map(i64::from_be_bytes)?),
            b't' => Value::Bool(reader.u8()? != 0),
            b'T' => Value::Timestamp(reader.u64()?),
            b'F' => Value::Table(Table::trusted(reader.long_str()?)),
            b'A' => Value::Array(Array::trusted(reader.long_str()?)),
            b'b' => Value::I8(reader.array().map(i8::from_be_bytes)?),
            b'B' => Value::U8(reader.u8()?),
            b's' => Value::I16(reader.array().map(i16::from_be_bytes)?),
            b'u' => Value::U16(reader.u16()?),
            b'i' => Value::U32(reader.u32()?),
            b'f' => Value::F32(reader.array().map(f32::from_be_bytes)?),
            b'd' => Value::F64(reader.array().map(f64::from_be_bytes)?),
            b'D' => Value::Decimal { scale: reader.u8()?, value: reader.u32()? },
            b'x' => Value::Binary(reader.long_str()?),
            b'V' => Value::Void,
            unknown => return Err(TableError::UnknownType(unknown)),
        })
    }
}

/// As a program's text would have it: `I32(5)`, `LongStr("classic")`.
impl fmt::Debug for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Bool(value) => write!(f, "Bool({value})"),
            Value::I8(value) => write!(f, "I8({value})"),
            Value::U8(value) => write!(f, "U8({value})"),
            Value::I16(value) => write!(f, "I16({value})"),
            Value::U16(value) => write!(f, "U16({value})"),
            Value::I32(value) => write!(f, "I32({value})"),
            Value::U32(value) => write!(f, "U32({value})"),
            Value::I64(value) => write!(f, "I64({value})"),
            Value::F32(value) => write!(f, "F32({value})"),
            Value::F64(value) => write!(f, "F64({value})"),
            Value::Decimal { scale, value } => write!(f, "Decimal({value}e-{scale})"),
            Value::LongStr(bytes) => write!(f, "LongStr({:?})", String::from_utf8_lossy(bytes)),
            Value::Timestamp(value) => write!(f, "Timestamp({value})"),
            Value::Table(table) => table.fmt(f),
            Value::Array(array) => array.fmt(f),
            Value::Binary(bytes) => write!(f, "Binary({bytes:?})"),
            Value::Void => write!(f, "Void"),
        }
    }
}

fn put<const N: usize>(out: &mut Vec<u8>, letter: u8, value: [u8; N]) {
    out.push(letter);
    out.extend_from_slice(&value);
}

fn put_bytes(out: &mut Vec<u8>, letter: u8, bytes: &[u8]) {
    out.push(letter);
    wire::put_long_str(out, bytes);
}
