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
    a.as_f64().unwrap_or(0.0).total_cmp(&b.as_f64().unwrap_or(0.0))
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
            json!(-1),
            json!(0),
            json!(0.5),
            json!(7),
            json!(u64::MAX),
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
}
