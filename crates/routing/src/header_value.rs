//! Header values as the headers exchange compares them.
//!
//! RabbitMQ compares the Erlang terms that values decode to, and forgets the types. So integers of all widths are one
//! kind, both floats another, and a long string equals the same bytes as binary; but `1`, `1.0`, `"1"` and `true` are
//! four different values. Inside of tables and arrays, types do count there, and so does the order of fields. Here they
//! are compared as bytes.
//!
//! A timestamp is an integer too: in a binding's arguments its seconds, in a message's headers its milliseconds. So a
//! timestamp never equals the same timestamp. That is RabbitMQ's behaviour since 4.0 (before, both were seconds).

use std::hash::Hasher;

use amqp::table::Value;

/// A value in the form in which equal means equal. `B` is bytes, borrowed or owned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HeaderValue<B> {
    Bool(bool),
    /// Wide enough for the milliseconds of any timestamp.
    Integer(i128),
    /// A double's bits: zeros of different signs differ, as in Erlang since OTP 27.
    Float(u64),
    Decimal {
        scale: u8,
        value: u32,
    },
    /// A long string or binary.
    Bytes(B),
    Table(B),
    /// Also the empty table: both decode to the empty list.
    Array(B),
    Void,
}

impl<'a> HeaderValue<&'a [u8]> {
    /// A value among a binding's arguments.
    pub(crate) fn of_argument(value: Value<'a>) -> Self {
        Self::new(value, 1)
    }

    /// A value among a message's headers.
    pub(crate) fn of_header(value: Value<'a>) -> Self {
        Self::new(value, 1000)
    }

    fn new(value: Value<'a>, timestamp_factor: i128) -> Self {
        match value {
            Value::Bool(value) => Self::Bool(value),
            Value::I8(value) => Self::Integer(value.into()),
            Value::U8(value) => Self::Integer(value.into()),
            Value::I16(value) => Self::Integer(value.into()),
            Value::U16(value) => Self::Integer(value.into()),
            Value::I32(value) => Self::Integer(value.into()),
            Value::U32(value) => Self::Integer(value.into()),
            Value::I64(value) => Self::Integer(value.into()),
            Value::F32(value) => Self::Float(f64::from(value).to_bits()),
            Value::F64(value) => Self::Float(value.to_bits()),
            Value::Decimal { scale, value } => Self::Decimal { scale, value },
            Value::Timestamp(seconds) => Self::Integer(i128::from(seconds) * timestamp_factor),
            Value::LongStr(bytes) | Value::Binary(bytes) => Self::Bytes(bytes),
            Value::Table(table) if table.is_empty() => Self::Array(&[]),
            Value::Table(table) => Self::Table(table.as_bytes()),
            Value::Array(array) => Self::Array(array.as_bytes()),
            Value::Void => Self::Void,
        }
    }
}

impl<B: AsRef<[u8]>> HeaderValue<B> {
    /// The same, borrowed.
    pub(crate) fn as_ref(&self) -> HeaderValue<&[u8]> {
        match self {
            Self::Bool(value) => HeaderValue::Bool(*value),
            Self::Integer(value) => HeaderValue::Integer(*value),
            Self::Float(bits) => HeaderValue::Float(*bits),
            Self::Decimal { scale, value } => HeaderValue::Decimal { scale: *scale, value: *value },
            Self::Bytes(bytes) => HeaderValue::Bytes(bytes.as_ref()),
            Self::Table(bytes) => HeaderValue::Table(bytes.as_ref()),
            Self::Array(bytes) => HeaderValue::Array(bytes.as_ref()),
            Self::Void => HeaderValue::Void,
        }
    }
}

impl HeaderValue<&[u8]> {
    /// The same, with bytes of its own.
    pub(crate) fn to_owned(self) -> HeaderValue<Box<[u8]>> {
        match self {
            Self::Bool(value) => HeaderValue::Bool(value),
            Self::Integer(value) => HeaderValue::Integer(value),
            Self::Float(bits) => HeaderValue::Float(bits),
            Self::Decimal { scale, value } => HeaderValue::Decimal { scale, value },
            Self::Bytes(bytes) => HeaderValue::Bytes(bytes.into()),
            Self::Table(bytes) => HeaderValue::Table(bytes.into()),
            Self::Array(bytes) => HeaderValue::Array(bytes.into()),
            Self::Void => HeaderValue::Void,
        }
    }

    /// Feeds a hasher, equal values alike.
    pub(crate) fn hash(self, hasher: &mut impl Hasher) {
        let (kind, bytes) = match self {
            Self::Bool(value) => return hasher.write_u64(1 | u64::from(value) << 8),
            Self::Integer(value) => return hasher.write_u128(value.cast_unsigned()),
            Self::Float(bits) => return hasher.write_u64(bits),
            Self::Decimal { scale, value } => return hasher.write_u64(u64::from(scale) << 32 | u64::from(value)),
            Self::Void => return hasher.write_u64(0),
            Self::Bytes(bytes) => (1, bytes),
            Self::Table(bytes) => (2, bytes),
            Self::Array(bytes) => (3, bytes),
        };
        hasher.write_u64(kind);
        hasher.write(bytes);
    }
}
