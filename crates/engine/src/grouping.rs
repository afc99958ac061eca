//! Which message group a message is in: what one of its headers says, as a hash.
//!
//! As exchanges compare header values, integers of all widths are alike, and a long string is the same as the same bytes as binary. The
//! hash is keyed anew in each process, so that no publisher can make two groups meet.

use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::num::NonZeroU64;
use std::sync::LazyLock;

use amqp::table::Value;
use message::Header;

static KEYS: LazyLock<RandomState> = LazyLock::new(RandomState::new);

/// The group that the header of this name puts a message in. Without that header, or where it is void, it is in none.
pub(crate) fn group_of(header: Header<'_>, name: &str) -> Option<NonZeroU64> {
    let view = header.view()?;
    let value = view.header(name)?;
    if value == Value::Void {
        return None;
    }
    let mut hasher = KEYS.build_hasher();
    match (integer(value), value) {
        (Some(value), _) => (1, value).hash(&mut hasher),
        (None, Value::LongStr(bytes) | Value::Binary(bytes)) => (2, bytes).hash(&mut hasher),
        (None, value) => {
            let mut bytes = Vec::new();
            value.encode(&mut bytes);
            (3, bytes).hash(&mut hasher);
        }
    }
    Some(NonZeroU64::new(hasher.finish()).unwrap_or(NonZeroU64::MIN))
}

fn integer(value: Value<'_>) -> Option<i128> {
    match value {
        Value::I8(value) => Some(value.into()),
        Value::U8(value) => Some(value.into()),
        Value::I16(value) => Some(value.into()),
        Value::U16(value) => Some(value.into()),
        Value::I32(value) => Some(value.into()),
        Value::U32(value) => Some(value.into()),
        Value::I64(value) => Some(value.into()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use amqp::content::Properties;
    use amqp::table::TableBuf;
    use message::View;

    use super::*;

    fn group(value: Value<'_>) -> Option<NonZeroU64> {
        let headers = TableBuf::new().with("other", Value::Bool(true)).with("g", value);
        let properties = Properties { headers: Some(headers.as_table()), ..Properties::default() };
        let header = View::of(properties, 0).encode();
        assert_eq!(group_of(header.as_header(), "h"), None);
        group_of(header.as_header(), "g")
    }

    #[test]
    fn equal_values_are_one_group_and_others_are_not() {
        let groups = [
            vec![Value::I8(5), Value::U8(5), Value::I16(5), Value::U16(5), Value::I32(5), Value::U32(5), Value::I64(5)],
            vec![Value::I64(6)],
            vec![Value::LongStr(b"5"), Value::Binary(b"5")],
            vec![Value::LongStr(b"")],
            vec![Value::F64(5.0)],
            vec![Value::Timestamp(5)],
            vec![Value::Bool(true)],
            vec![Value::Bool(false)],
        ];
        let found: Vec<Vec<_>> =
            groups.iter().map(|values| values.iter().map(|value| group(*value)).collect()).collect();
        for group in &found {
            assert!(group[0].is_some() && group.iter().all(|other| *other == group[0]), "{group:?}");
        }
        let mut firsts: Vec<_> = found.iter().map(|group| group[0]).collect();
        firsts.sort_unstable();
        firsts.dedup();
        assert_eq!(firsts.len(), groups.len());
    }

    #[test]
    fn no_header_is_no_group() {
        assert_eq!(group(Value::Void), None);
        let without = View::of(Properties::default(), 0).encode();
        assert_eq!(group_of(without.as_header(), "g"), None);
        assert_eq!(group_of(Header::amqp091(b"damaged"), "g"), None);
    }
}
