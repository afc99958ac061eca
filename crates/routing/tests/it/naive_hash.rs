//! The hashing exchanges' choices as the documentation describes them (`docs/exchanges.md`), written a second time and
//! simply: if the two differ, messages would go to other queues after an upgrade.

use amqp::table::Value;

use crate::model::ModelBinding;

/// The weight that a key gives, if it is one.
pub(crate) fn weight(key: &str) -> Option<u32> {
    key.parse().ok().filter(|weight| (1..=10_000).contains(weight))
}

/// Of the bindings sorted by name, the one that the hash of the keys says.
pub(crate) fn modulus_choice<'a>(bound: &[&'a ModelBinding], keys: &[&str]) -> Option<&'a ModelBinding> {
    let mut sorted = bound.to_vec();
    sorted.sort_by_key(|it| (name(it), !it.to.starts_with('q')));
    let mut keys_hash = hash(keys[0].as_bytes());
    for key in &keys[1..] {
        keys_hash = mixed(keys_hash.rotate_left(1) ^ hash(key.as_bytes()));
    }
    let position = keys_hash.checked_rem(sorted.len() as u64)?;
    Some(sorted[position as usize])
}

/// The binding of the destination that scores highest. `header` is set when a header is hashed.
pub(crate) fn consistent_choice<'a>(
    bound: &[&'a ModelBinding],
    key: &str,
    header: Option<Option<Value<'_>>>,
) -> Option<&'a ModelBinding> {
    let key_hash = match header {
        None => hash(key.as_bytes()),
        Some(header) => header.map_or(0, hash_value),
    };
    let score = |it: &ModelBinding| {
        let same = bound.iter().filter(|other| other.to == it.to);
        let weight = same.filter_map(|other| weight(&other.key)).min().expect("keys are weights");
        let name_hash = hash(&[&[u8::from(it.to.starts_with('q'))], name(it).as_bytes()].concat());
        let uniform = ((mixed(key_hash ^ name_hash) >> 11) + 1) as f64 / 2_f64.powi(53);
        uniform.ln() / f64::from(weight)
    };
    bound.iter().copied().max_by(|a, b| score(a).total_cmp(&score(b)))
}

fn name(binding: &ModelBinding) -> &str {
    &binding.to[2..]
}

/// For the kinds of values that the random tests use.
fn hash_value(value: Value<'_>) -> u64 {
    let tagged = |tag: u8, bytes: &[u8]| hash(&[&[tag], bytes].concat());
    let integer = |value: i64| tagged(2, &i128::from(value).to_le_bytes());
    match value {
        Value::Void => 0,
        Value::LongStr(bytes) | Value::Binary(bytes) => hash(bytes),
        Value::Bool(value) => tagged(1, &[u8::from(value)]),
        Value::Timestamp(seconds) => integer(seconds as i64 * 1000),
        Value::F32(value) => tagged(3, &f64::from(value).to_bits().to_le_bytes()),
        Value::F64(value) => tagged(3, &value.to_bits().to_le_bytes()),
        other => integer(other.as_i64().expect("the random tests have no other values")),
    }
}

fn hash(bytes: &[u8]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in bytes {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
    }
    mixed(hash)
}

fn mixed(mut hash: u64) -> u64 {
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}
