//! Hashes that are the same in every process and on every machine, for exchanges whose choice has to outlive a restart.
//!
//! FNV-1a over the bytes, finished by the mixer of SplitMix64, since FNV leaves its high bits poor. There is no secret in
//! them (as in [`HashSeed`](crate::HashSeed)): no table is filled by them, and a publisher that chooses keys which meet in
//! one queue has filled that queue only.
//!
//! Changing anything here moves the messages of every hashing exchange to other queues.

use amqp::table::Value;

use crate::header_value::HeaderValue;

/// The hash of bytes: a routing key, a name, a text.
#[inline]
pub(crate) fn hash_bytes(bytes: &[u8]) -> u64 {
    mix(fnv(FNV_BASIS, bytes))
}

/// One hash of two.
#[inline]
pub(crate) fn combine(a: u64, b: u64) -> u64 {
    mix(a ^ b)
}

/// The hash of a destination's name. A queue and an exchange of one name are two destinations.
pub(crate) fn hash_name(is_queue: bool, name: &[u8]) -> u64 {
    mix(fnv(fnv(FNV_BASIS, &[u8::from(is_queue)]), name))
}

/// The hash of a header: that of a text is that of its bytes, and an array is hashed by its first element.
pub(crate) fn hash_header(value: Value<'_>) -> u64 {
    let mut value = value;
    while let Value::Array(array) = value
        && let Some(first) = array.iter().next()
    {
        value = first;
    }
    let tagged = |tag: u8, bytes: &[u8]| mix(fnv(fnv(FNV_BASIS, &[tag]), bytes));
    match HeaderValue::of_header(value) {
        HeaderValue::Void => ABSENT,
        HeaderValue::Bytes(bytes) => hash_bytes(bytes),
        HeaderValue::Bool(value) => tagged(1, &[u8::from(value)]),
        HeaderValue::Integer(value) => tagged(2, &value.to_le_bytes()),
        HeaderValue::Float(bits) => tagged(3, &bits.to_le_bytes()),
        HeaderValue::Decimal { scale, value } => tagged(4, &[&[scale], &value.to_le_bytes()[..]].concat()),
        HeaderValue::Table(bytes) => tagged(5, bytes),
        HeaderValue::Array(bytes) => tagged(6, bytes),
    }
}

/// The hash of what a message does not have: all such messages go one way.
pub(crate) const ABSENT: u64 = 0;

const FNV_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;

#[inline]
fn fnv(basis: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(basis, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(FNV_PRIME))
}

/// SplitMix64's mixer: every bit of the result depends on every bit of `x`.
#[inline]
pub(crate) fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use amqp::table::{ArrayBuf, TableBuf};

    use super::*;

    /// A change of these numbers moves the messages of every hashing exchange to other queues.
    #[test]
    fn hashes_never_change() {
        assert_eq!(hash_bytes(b""), 0xf52a_15e9_a9b5_e89b);
        assert_eq!(hash_bytes(b"orders.7"), 0x2afc_3fa2_ba66_c8d9);
        assert_eq!(hash_name(true, b"q"), 0x44f6_6db6_0215_0fd4);
        assert_eq!(hash_name(false, b"q"), 0x67e5_7012_1cbb_b6b9);
        assert_eq!(combine(1, 2), 0x1e53_5eed_e314_28f0);
        assert_eq!(hash_header(Value::I32(7)), 0x2f21_16ec_a12a_1883);
    }

    #[test]
    fn an_array_is_hashed_by_its_first_element() {
        let array = |values: &[Value<'static>]| {
            let mut array = ArrayBuf::new();
            values.iter().for_each(|value| array.push(*value));
            array
        };
        let (one, other) = (array(&[Value::LongStr(b"a"), Value::I8(1)]), array(&[Value::LongStr(b"a")]));
        let [one, other] = [&one, &other].map(|array| hash_header(Value::Array(array.as_array())));
        assert_eq!([one, other], [hash_bytes(b"a"); 2]);
        let empty = TableBuf::new();
        assert_ne!(hash_header(Value::Array(array(&[]).as_array())), one);
        assert_eq!(hash_header(Value::Array(array(&[]).as_array())), hash_header(Value::Table(empty.as_table())));
    }

    #[test]
    fn values_of_one_meaning_have_one_hash() {
        assert_eq!(hash_header(Value::I8(5)), hash_header(Value::I64(5)));
        assert_eq!(hash_header(Value::Binary(b"5")), hash_header(Value::LongStr(b"5")));
        assert_ne!(hash_header(Value::I8(5)), hash_header(Value::LongStr(b"5")));
        assert_eq!(hash_header(Value::Void), ABSENT);
    }
}
