//! A message's key: the hash of a value in its headers, or of its property `message-id`.
//!
//! Values are alike if their types and they themselves are: any integers are of one type, any floating-point numbers of another; text is
//! never a number. Arrays, tables and nothing are no keys.

use std::sync::Arc;

use amqp::table::{Table, Value};
use message::{Parts, View};
use queue::MessageKey;
use sha2::{Digest, Sha256};
use store::Content;

/// The name that stands for the property, not for a header.
const MESSAGE_ID: &str = "message-id";
/// The header that says for how many milliseconds a message's key is remembered.
const TTL_HEADER: &str = "x-cache-ttl";

/// The keys of a message, as far as they have been asked for.
#[derive(Debug)]
pub struct MessageKeys {
    /// For how long they are to be remembered, if a header sets that.
    ttl_ms: Option<u64>,
    first: Key,
    /// Hardly ever any.
    more: Vec<Key>,
}

/// The key that a header holds, if it does.
#[derive(Debug)]
struct Key {
    header: Arc<str>,
    key: Option<MessageKey>,
}

impl MessageKeys {
    fn get(&self, header: &str) -> Option<&Key> {
        if &*self.first.header == header {
            return Some(&self.first);
        }
        self.more.iter().find(|key| &*key.header == header)
    }

    /// The key that a message has in this header, if it has one. It is made once, and remembered in `known`.
    pub(crate) fn find(known: &mut Option<Box<Self>>, header: &Arc<str>, content: &Content) -> Option<MessageKey> {
        if let Some(found) = known.as_ref().and_then(|keys| keys.get(header)) {
            return found.key;
        }
        let view = Parts::read(content.bytes()).and_then(|parts| parts.header.view());
        let key = view.as_ref().and_then(|view| key_of(header, view));
        let ttl_ms = view.as_ref().and_then(|view| view.headers()).and_then(ttl_ms);
        let found = Key { header: header.clone(), key };
        match known {
            Some(keys) => keys.more.push(found),
            None => *known = Some(Box::new(MessageKeys { ttl_ms, first: found, more: Vec::new() })),
        }
        key
    }

    /// For how long they are to be remembered, if a header sets that.
    pub(crate) fn ttl_ms(&self) -> Option<u64> {
        self.ttl_ms
    }
}

fn ttl_ms(headers: Table<'_>) -> Option<u64> {
    let value = headers.get(TTL_HEADER)?;
    let ttl_ms = value.as_i64().or_else(|| value.as_str()?.trim().parse().ok())?;
    u64::try_from(ttl_ms).ok().filter(|ttl_ms| *ttl_ms > 0)
}

fn key_of(header: &str, view: &View<'_>) -> Option<MessageKey> {
    let hash = Sha256::new();
    let hash = if header == MESSAGE_ID {
        hash.chain_update(b"s").chain_update(view.message_id()?)
    } else {
        match view.header(header)? {
            Value::LongStr(text) => hash.chain_update(b"s").chain_update(text),
            Value::Binary(bytes) => hash.chain_update(b"x").chain_update(bytes),
            Value::Bool(value) => hash.chain_update(b"b").chain_update([u8::from(value)]),
            Value::F32(number) => hash.chain_update(b"f").chain_update(canonical(f64::from(number))),
            Value::F64(number) => hash.chain_update(b"f").chain_update(canonical(number)),
            Value::Decimal { scale, value } => {
                hash.chain_update(b"d").chain_update([scale]).chain_update(value.to_le_bytes())
            }
            Value::Timestamp(seconds) => hash.chain_update(b"t").chain_update(seconds.to_le_bytes()),
            Value::Table(_) | Value::Array(_) | Value::Void => return None,
            number => hash.chain_update(b"i").chain_update(number.as_i64()?.to_le_bytes()),
        }
    };
    let digest: [u8; 32] = hash.finalize().into();
    digest.first_chunk().map(|first_half| MessageKey(u128::from_be_bytes(*first_half)))
}

/// Equal numbers have equal bytes, and so has what is no number.
fn canonical(number: f64) -> [u8; 8] {
    let number = if number.is_nan() { f64::NAN } else { number + 0.0 };
    number.to_le_bytes()
}

#[cfg(test)]
mod tests {
    use amqp::content::Properties;
    use amqp::table::{Array, TableBuf};

    use super::*;

    fn key(value: Value<'_>) -> Option<MessageKey> {
        let headers = TableBuf::new().with("a", Value::I32(0)).with("id", value);
        key_in("id", Properties { headers: Some(headers.as_table()), ..Properties::default() })
    }

    fn key_in(header: &str, properties: Properties<'_>) -> Option<MessageKey> {
        key_of(header, &View::of(properties, 0))
    }

    #[test]
    fn keys_are_alike_when_type_and_value_are() {
        let integers = [Value::I8(7), Value::U8(7), Value::I16(7), Value::U16(7), Value::I32(7), Value::I64(7)];
        assert!(integers.iter().all(|value| key(*value) == key(Value::U32(7)) && key(*value).is_some()));
        assert_eq!(key(Value::F32(1.5)), key(Value::F64(1.5)));
        assert_eq!(key(Value::F64(-0.0)), key(Value::F64(0.0)));
        assert_eq!(key(Value::F64(f64::NAN)), key(Value::F64(-f64::NAN)));
        let different = [
            Value::I32(7),
            Value::I32(-7),
            Value::I32(0),
            Value::I32(1),
            Value::F64(7.0),
            Value::Timestamp(7),
            Value::Bool(false),
            Value::Bool(true),
            Value::LongStr(b"7"),
            Value::LongStr(b""),
            Value::Binary(b"7"),
            Value::Decimal { scale: 0, value: 7 },
            Value::Decimal { scale: 1, value: 7 },
        ];
        for (index, value) in different.iter().enumerate() {
            assert!(key(*value).is_some(), "{value:?}");
            assert!(different[..index].iter().all(|other| key(*other) != key(*value)), "{value:?}");
        }
    }

    #[test]
    fn what_is_no_value_is_no_key() {
        assert_eq!(key(Value::Void), None);
        assert_eq!(key(Value::Table(Table::EMPTY)), None);
        assert_eq!(key(Value::Array(Array::EMPTY)), None);
        assert_eq!(key_in("id", Properties::default()), None);
        let headers = TableBuf::new().with("other", Value::I32(1));
        assert_eq!(key_in("id", Properties { headers: Some(headers.as_table()), ..Properties::default() }), None);
    }

    /// What is written down must be found again, by any later version.
    #[test]
    fn keys_are_the_same_for_ever() {
        let text = key(Value::LongStr(b"order-17"));
        assert_eq!(text, Some(MessageKey(0x20ae0a61_e292c832_985adfda_cee00bb8)));
        assert_eq!(key(Value::I32(17)), Some(MessageKey(0x8fe1ccb8_fb275e81_017a073f_c6cde431)));
    }

    #[test]
    fn the_message_id_is_a_property() {
        let headers = TableBuf::new().with("message-id", Value::LongStr(b"a"));
        let of = |message_id| {
            key_in(MESSAGE_ID, Properties { headers: Some(headers.as_table()), message_id, ..Properties::default() })
        };
        assert_eq!(of(None), None);
        assert!(of(Some(b"a")).is_some() && of(Some(b"a")) != of(Some(b"b")));
        assert_eq!(of(Some(b"a")), key(Value::LongStr(b"a")));
    }

    #[test]
    fn a_message_says_how_long_its_key_counts() {
        let of = |value| ttl_ms(TableBuf::new().with("x-cache-ttl", value).as_table());
        assert_eq!((of(Value::I32(5)), of(Value::LongStr(b" 5 ")), of(Value::U8(5))), (Some(5), Some(5), Some(5)));
        for none in [Value::I32(0), Value::I64(-1), Value::LongStr(b"soon"), Value::F64(5.0), Value::Void] {
            assert_eq!(of(none), None, "{none:?}");
        }
    }
}
