//! The header `x-delay`: how many milliseconds a message is to wait.

use amqp::table::{Table, TableBuf, Value};
use message::{Header, HeaderBuf, Patch, View};

/// Its name.
pub(crate) const DELAY: &str = "x-delay";

/// The longest delay, in milliseconds. A message that asks for more is not delayed.
const DELAY_MS_MAX: i128 = 1 << 63;

/// For how long a message with these headers is delayed. None: it is not.
pub fn delay_in(headers: Option<Table<'_>>) -> Option<u64> {
    delay_ms(&headers?.get(DELAY)?)
}

/// For how long a message is delayed whose header has this value. None: it is not.
pub fn delay_ms(value: &Value<'_>) -> Option<u64> {
    let delay_ms = match value {
        Value::F32(delay_ms) => truncated(f64::from(*delay_ms))?,
        Value::F64(delay_ms) => truncated(*delay_ms)?,
        Value::LongStr(text) => parse(text)?,
        Value::Timestamp(_) | Value::Bool(_) => return None,
        other => i128::from(other.as_i64()?),
    };
    (1..=DELAY_MS_MAX).contains(&delay_ms).then_some(delay_ms as u64)
}

fn truncated(delay_ms: f64) -> Option<i128> {
    // A cast stays at the ends of the range, which are no delays either.
    delay_ms.is_finite().then_some(delay_ms as i128)
}

/// A number in decimal; of a fraction what is before the point.
fn parse(text: &[u8]) -> Option<i128> {
    let text = std::str::from_utf8(text).ok()?.trim();
    text.parse().ok().or_else(|| truncated(text.parse().ok()?))
}

/// What is to be changed in a header when a message's delay is over.
pub enum DelayOver {
    /// These bytes of it.
    InPlace(Patch),
    /// All of it.
    Anew(HeaderBuf),
    /// There is nothing to change.
    Nothing,
}

/// The header of a message whose delay is over: with [`with_negated_delay`]. `header` is what the view was read from.
pub(crate) fn with_delay_over(view: &View<'_>, header: Header<'_>) -> DelayOver {
    let Some(headers) = view.headers() else { return DelayOver::Nothing };
    if let Some(patch) = negated_in_place(header, headers) {
        return DelayOver::InPlace(patch);
    }
    let headers = with_negated_delay(headers);
    DelayOver::Anew(view.with_headers(Some(headers.as_table())).encode())
}

/// The delay negated where it lies. `None`: the value's type cannot say it.
fn negated_in_place(header: Header<'_>, headers: Table<'_>) -> Option<Patch> {
    let negated = match headers.get(DELAY)? {
        Value::I16(delay_ms) => Value::I16(delay_ms.wrapping_neg()),
        Value::I32(delay_ms) => Value::I32(delay_ms.wrapping_neg()),
        Value::I64(delay_ms) => Value::I64(delay_ms.wrapping_neg()),
        _ => return None,
    };
    header.patch(DELAY, &negated)
}

/// The headers of a message whose delay is over: negated, so that a client that publishes it again does not delay it again.
fn with_negated_delay(headers: Table<'_>) -> TableBuf {
    let mut released = headers.to_owned();
    let mut text = vec![b'-'];
    let negated = match headers.get(DELAY) {
        Some(Value::F32(delay_ms)) => Value::F32(-delay_ms),
        Some(Value::F64(delay_ms)) => Value::F64(-delay_ms),
        Some(Value::I8(delay_ms)) => Value::I8(delay_ms.wrapping_neg()),
        Some(Value::I16(delay_ms)) => Value::I16(delay_ms.wrapping_neg()),
        Some(Value::I32(delay_ms)) => Value::I32(delay_ms.wrapping_neg()),
        // Unsigned ones need the next wider type.
        Some(Value::U8(delay_ms)) => Value::I16(-i16::from(delay_ms)),
        Some(Value::U16(delay_ms)) => Value::I32(-i32::from(delay_ms)),
        Some(Value::LongStr(digits)) => {
            text.extend_from_slice(digits.trim_ascii().strip_prefix(b"+").unwrap_or(digits.trim_ascii()));
            Value::LongStr(&text)
        }
        Some(other) => match other.as_i64() {
            Some(delay_ms) => Value::I64(delay_ms.wrapping_neg()),
            None => return released,
        },
        None => return released,
    };
    released.set(DELAY.as_bytes(), negated).expect("a name of ours is short");
    released
}

#[cfg(test)]
mod tests {
    use amqp::content::Properties;

    use super::*;

    #[track_caller]
    fn check(value: Value<'_>, expected: Option<u64>) {
        assert_eq!(delay_ms(&value), expected, "{value:?}");
        let headers = TableBuf::new().with("a", Value::I32(1)).with(DELAY, value).with("b", Value::Void);
        let released = with_negated_delay(headers.as_table());
        let negated = released.as_table().get(DELAY).unwrap();
        assert!(expected.is_none() || delay_ms(&negated).is_none(), "{negated:?} delays again");
        assert_eq!(released.as_table().iter().count(), 3);
    }

    #[test]
    fn any_number_above_zero_delays() {
        check(Value::I8(5), Some(5));
        check(Value::U8(200), Some(200));
        check(Value::I16(300), Some(300));
        check(Value::U16(60_000), Some(60_000));
        check(Value::I32(i32::MAX), Some(2_147_483_647));
        check(Value::U32(u32::MAX), Some(4_294_967_295));
        check(Value::I64(i64::MAX), Some(i64::MAX as u64));
        check(Value::F32(1.9), Some(1));
        check(Value::F64(1500.9), Some(1500));
        check(Value::LongStr(b"1500"), Some(1500));
        check(Value::LongStr(b" +7 "), Some(7));
        check(Value::LongStr(b"7.9"), Some(7));
    }

    #[test]
    fn what_is_no_number_above_zero_does_not() {
        check(Value::I32(0), None);
        check(Value::I32(-5), None);
        check(Value::I64(i64::MIN), None);
        check(Value::F64(0.9), None);
        check(Value::F64(f64::NAN), None);
        check(Value::F64(f64::INFINITY), None);
        check(Value::F64(1e30), None);
        check(Value::LongStr(b""), None);
        check(Value::LongStr(b"-1500"), None);
        check(Value::LongStr(b"soon"), None);
        check(Value::LongStr(b"\xff"), None);
        check(Value::Bool(true), None);
        check(Value::Void, None);
        check(Value::Timestamp(7), None);
    }

    #[test]
    fn a_delay_is_negated_where_it_lies_if_it_can_be() {
        let is_in_place = |value| {
            let headers =
                TableBuf::new().with("a", Value::LongStr(b"x-delay")).with(DELAY, value).with("z", Value::Void);
            let headers = Some(headers.as_table());
            let properties = Properties { headers, content_type: Some(b"x-delay"), ..Properties::default() };
            let header = View::of(properties, 7).encode();
            let view = header.as_header().view().unwrap();
            let (negated, is_in_place) = match with_delay_over(&view, header.as_header()) {
                DelayOver::InPlace(patch) => {
                    let mut negated = header.as_header().bytes().to_vec();
                    patch.apply(&mut negated);
                    (HeaderBuf::amqp091(negated), true)
                }
                DelayOver::Anew(negated) => (negated, false),
                DelayOver::Nothing => unreachable!("there is a delay"),
            };
            let expected = with_negated_delay(view.headers().unwrap());
            assert_eq!(negated.as_header().view(), Some(view.with_headers(Some(expected.as_table()))));
            is_in_place
        };
        assert!(is_in_place(Value::I16(300)) && is_in_place(Value::I32(5)) && is_in_place(Value::I64(i64::MAX)));
        assert!(!is_in_place(Value::U8(5)) && !is_in_place(Value::LongStr(b"5")) && !is_in_place(Value::F64(5.0)));
    }

    #[test]
    fn a_negated_delay_keeps_its_type_if_it_can() {
        for (value, expected) in [
            (Value::I32(30_000), Value::I32(-30_000)),
            (Value::U8(255), Value::I16(-255)),
            (Value::U16(65_535), Value::I32(-65_535)),
            (Value::U32(u32::MAX), Value::I64(-4_294_967_295)),
            (Value::I64(i64::MAX), Value::I64(-i64::MAX)),
            (Value::F64(1.5), Value::F64(-1.5)),
            (Value::LongStr(b"1500"), Value::LongStr(b"-1500")),
        ] {
            let headers = TableBuf::new().with(DELAY, value);
            assert_eq!(with_negated_delay(headers.as_table()).as_table().get(DELAY), Some(expected));
        }
        assert!(with_negated_delay(Table::EMPTY).is_empty());
    }
}
