//! Header values as the headers exchange compares them.
//!
//! RabbitMQ compares the Erlang terms that values decode to, and forgets the types. So integers of all widths are one
//! kind, both floats another, and a long string equals the same bytes as binary; but `1`, `1.0`, `"1"` and `true` are
//! four different values. Inside of tables and arrays, types do count there, and so does the order of fields. Here they
//! are compared as bytes.
//!
//! One difference: since 4.0 RabbitMQ compares a timestamp header in milliseconds with a timestamp argument in seconds,
//! so that the two never match. Here they do, as before 4.0; and a timestamp is no integer.

use std::hash::Hasher;

use amqp::table::Value;

/// A value in the form in which equal means equal. `B` is bytes, borrowed or owned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HeaderValue<B> {
    Bool(bool),
    Integer(i64),
    /// A double's bits: zeros of different signs differ, as in Erlang since OTP 27.
    Float(u64),
    Decimal {
        scale: u8,
        value: u32,
    },
    Timestamp(u64),
    /// A long string or binary.
    Bytes(B),
    Table(B),
    /// Also the empty table: both decode to the empty list.
    Array(B),
    Void,
}

impl<'a> From<Value<'a>> for HeaderValue<&'a [u8]> {
    fn from(value: Value<'a>) -> Self {
        match value {
            Value::Bool(value) => Self::Bool(value),
            Value::I8(value) => Self::Integer(value.into()),
            Value::U8(value) => Self::Integer(value.into()),
            Value::I16(value) => Self::Integer(value.into()),
            Value::U16(value) => Self::Integer(value.into()),
            Value::I32(value) => Self::Integer(value.into()),
            Value::U32(value) => Self::Integer(value.into()),
            Value::I64(value) => Self::Integer(value),
            Value::F32(value) => Self::Float(f64::from(value).to_bits()),
            Value::F64(value) => Self::Float(value.to_bits()),
            Value::Decimal { scale, value } => Self::Decimal { scale, value },
            Value::Timestamp(value) => Self::Timestamp(value),
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
            Self::Timestamp(value) => HeaderValue::Timestamp(*value),
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
            Self::Timestamp(value) => HeaderValue::Timestamp(value),
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
            Self::Integer(value) => return hasher.write_u64(value.cast_unsigned()),
            Self::Float(bits) => return hasher.write_u64(bits),
            Self::Decimal { scale, value } => return hasher.write_u64(u64::from(scale) << 32 | u64::from(value)),
            Self::Timestamp(value) => return hasher.write_u64(value),
            Self::Void => return hasher.write_u64(0),
            Self::Bytes(bytes) => (1, bytes),
            Self::Table(bytes) => (2, bytes),
            Self::Array(bytes) => (3, bytes),
        };
        hasher.write_u64(kind);
        hasher.write(bytes);
    }
}
