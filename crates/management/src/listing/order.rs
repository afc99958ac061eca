//! How values compare: as Erlang's terms do, because that is what the order of RabbitMQ's sorted lists comes from.
//!
//! Numbers come first, then `false`, `null` and `true` (which are words there), then objects, lists and texts.

use std::cmp::Ordering;

use serde_json::Value;

/// Compares two values.
pub(crate) fn compare(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => compare_numbers(a, b),
        (Value::String(a), Value::String(b)) => a.as_bytes().cmp(b.as_bytes()),
        (Value::Array(a), Value::Array(b)) => compare_all(a.iter(), b.iter()).then(a.len().cmp(&b.len())),
        (Value::Object(a), Value::Object(b)) => {
            let by_len = a.len().cmp(&b.len());
            // serde_json's map is sorted by name.
            by_len.then_with(|| a.keys().cmp(b.keys())).then_with(|| compare_all(a.values(), b.values()))
        }
        _ => rank(a).cmp(&rank(b)),
    }
}

fn compare_all<'a>(a: impl Iterator<Item = &'a Value>, b: impl Iterator<Item = &'a Value>) -> Ordering {
    a.zip(b).map(|(a, b)| compare(a, b)).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

fn compare_numbers(a: &serde_json::Number, b: &serde_json::Number) -> Ordering {
    if let (Some(a), Some(b)) = (a.as_u64(), b.as_u64()) {
        return a.cmp(&b);
    }
    if let (Some(a), Some(b)) = (a.as_i64(), b.as_i64()) {
        return a.cmp(&b);
    }
    match (integer_of(a), integer_of(b)) {
        (Some(a), None) => compare_with_float(a, b.as_f64().unwrap_or(0.0)),
        (None, Some(b)) => compare_with_float(b, a.as_f64().unwrap_or(0.0)).reverse(),
        (Some(a), Some(b)) => a.cmp(&b),
        // No number of JSON is one that cannot be compared.
        (None, None) => a.as_f64().partial_cmp(&b.as_f64()).unwrap_or(Ordering::Equal),
    }
}

fn integer_of(number: &serde_json::Number) -> Option<i128> {
    number.as_u64().map(i128::from).or_else(|| number.as_i64().map(i128::from))
}

/// Compares exactly: an integer that is made a float first is like its neighbours, and these are not like one another, so that there would
/// be no order among the three.
fn compare_with_float(integer: i128, float: f64) -> Ordering {
    // What is beyond all integers becomes the greatest, which is beyond those that a number can be.
    integer.cmp(&(float.trunc() as i128)).then_with(|| 0.0.partial_cmp(&float.fract()).unwrap_or(Ordering::Equal))
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Number(_) => 0,
        Value::Bool(false) => 1,
        Value::Null => 2,
        Value::Bool(true) => 3,
        Value::Object(_) => 4,
        Value::Array(_) => 5,
        Value::String(_) => 6,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn kinds_come_in_the_order_of_erlang() {
        let ordered = [
            json!(-1e300),
            json!(i64::MIN),
            json!(-1.5),
            json!(-1),
            json!(-0.5),
            json!(0),
            json!(0.5),
            json!(7),
            json!(9_007_199_254_740_992_u64),
            json!(9_007_199_254_740_993_u64),
            json!(9_007_199_254_740_994.0),
            json!(u64::MAX),
            json!(18_446_744_073_709_551_616.0),
            json!(false),
            json!(null),
            json!(true),
            json!({}),
            json!({"a": 1}),
            json!({"a": 2}),
            json!({"b": 0}),
            json!({"a": 0, "b": 0}),
            json!([]),
            json!([1]),
            json!([1, 2]),
            json!([2]),
            json!(""),
            json!("B"),
            json!("a"),
            json!("ab"),
        ];
        for (at, a) in ordered.iter().enumerate() {
            for (other, b) in ordered.iter().enumerate() {
                assert_eq!(compare(a, b), at.cmp(&other), "{a} and {b}");
            }
        }
    }
    #[test]
    fn an_integer_and_a_float_are_equal_only_if_they_are() {
        let (float, next) = (json!(9_007_199_254_740_992.0), json!(9_007_199_254_740_993_u64));
        assert_eq!(compare(&json!(9_007_199_254_740_992_u64), &float), Ordering::Equal);
        assert_eq!((compare(&next, &float), compare(&float, &next)), (Ordering::Greater, Ordering::Less));
        assert_eq!(compare(&json!(-0.0), &json!(0)), Ordering::Equal);
        assert_eq!(compare(&json!(-0.0), &json!(0.0)), Ordering::Equal);
    }
}
