//! Field tables as JSON and back, as RabbitMQ's HTTP API and definitions write them.
//!
//! What JSON cannot distinguish is lost on the way, as in RabbitMQ: binaries become text, timestamps become numbers. On
//! the way back whole numbers become 64-bit integers, the others doubles.

use amqp::limits::{SHORT_STR_LEN_MAX, TABLE_DEPTH_MAX};
use amqp::table::{Array, ArrayBuf, Table, TableBuf, Value};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Number, Value as Json};

/// How deeply arguments from JSON may be nested: as deeply as those of clients, so that what is exported can be read.
const DEPTH_MAX: usize = TABLE_DEPTH_MAX as usize;

/// JSON that cannot be a field table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TableFromJsonError {
    /// A field's name does not fit.
    #[error("the name of a field has {0} bytes, at most {SHORT_STR_LEN_MAX} are allowed")]
    NameTooLong(usize),
    /// Tables in tables in tables.
    #[error("arguments are nested more than {DEPTH_MAX} levels deep")]
    TooDeep,
}

/// A table as a JSON object. Of fields with the same name the last is kept.
#[must_use]
pub fn from_table(table: Table<'_>) -> Map<String, Json> {
    table.iter().map(|(name, value)| (text(name), from_value(&value))).collect()
}

fn from_array(array: Array<'_>) -> Vec<Json> {
    array.iter().map(|value| from_value(&value)).collect()
}

/// A table as RabbitMQ shows it, which is not always what can be read again: a void value is `undefined`.
#[must_use]
pub fn show_table(table: Table<'_>) -> Map<String, Json> {
    let mut shown = from_table(table);
    shown.values_mut().for_each(show);
    shown
}

fn show(value: &mut Json) {
    match value {
        Json::Null => *value = Json::from("undefined"),
        Json::Array(values) => values.iter_mut().for_each(show),
        Json::Object(members) => members.values_mut().for_each(show),
        Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
    }
}

/// A field's value as JSON.
#[must_use]
pub fn from_value(value: &Value<'_>) -> Json {
    match *value {
        Value::Bool(value) => Json::Bool(value),
        Value::LongStr(bytes) | Value::Binary(bytes) => Json::String(text(bytes)),
        Value::Table(table) => Json::Object(from_table(table)),
        Value::Array(array) => Json::Array(from_array(array)),
        Value::F32(value) => float(f64::from(value)),
        Value::F64(value) => float(value),
        Value::Timestamp(seconds) => Json::from(seconds),
        Value::Decimal { scale, value } => float(f64::from(value) / 10_f64.powi(i32::from(scale))),
        Value::Void => Json::Null,
        _ => value.as_i64().map_or(Json::Null, Json::from), // all that is left are integers
    }
}

/// JSON has no infinities.
fn float(value: f64) -> Json {
    Number::from_f64(value).map_or(Json::Null, Json::Number)
}

/// Bytes that should be text, as RabbitMQ shows them: other bytes are marked as such.
#[must_use]
pub fn text(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => format!("Not UTF-8, base64 is: {}", STANDARD.encode(bytes)),
    }
}

/// A JSON object as a table.
pub fn to_table(object: &Map<String, Json>) -> Result<TableBuf, TableFromJsonError> {
    table_at(object, DEPTH_MAX)
}

fn table_at(object: &Map<String, Json>, depth: usize) -> Result<TableBuf, TableFromJsonError> {
    let depth = depth.checked_sub(1).ok_or(TableFromJsonError::TooDeep)?;
    let mut table = TableBuf::new();
    for (name, value) in object {
        with_value(value, depth, &mut |value| {
            table.push(name.as_bytes(), value).map_err(|error| TableFromJsonError::NameTooLong(error.0))
        })?;
    }
    Ok(table)
}

fn with_value(
    json: &Json,
    depth: usize,
    put: &mut dyn FnMut(Value<'_>) -> Result<(), TableFromJsonError>,
) -> Result<(), TableFromJsonError> {
    match json {
        Json::Null => put(Value::Void),
        Json::Bool(value) => put(Value::Bool(*value)),
        Json::String(text) => put(Value::LongStr(text.as_bytes())),
        Json::Number(number) => put(match number.as_i64() {
            Some(number) => Value::I64(number),
            None => Value::F64(number.as_f64().unwrap_or_default()),
        }),
        Json::Object(object) => put(Value::Table(table_at(object, depth)?.as_table())),
        Json::Array(values) => {
            let depth = depth.checked_sub(1).ok_or(TableFromJsonError::TooDeep)?;
            let mut array = ArrayBuf::new();
            for value in values {
                with_value(value, depth, &mut |value| {
                    array.push(value);
                    Ok(())
                })?;
            }
            put(Value::Array(array.as_array()))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check_there_and_back(object: &Json) {
        let table = to_table(object.as_object().unwrap()).unwrap();
        assert_eq!(Json::Object(from_table(table.as_table())), *object);
    }

    #[test]
    fn json_survives_a_table() {
        check_there_and_back(&json!({}));
        check_there_and_back(&json!({"a": 1, "b": -5, "c": "text", "d": true, "e": null, "f": 1.5}));
        check_there_and_back(&json!({"t": {"u": {"v": [1, "x", [2]]}}, "big": i64::MAX}));
    }

    #[test]
    fn what_json_does_not_have_becomes_the_nearest() {
        let table = TableBuf::new()
            .with("time", Value::Timestamp(7))
            .with("bytes", Value::Binary(b"b"))
            .with("decimal", Value::Decimal { scale: 2, value: 271 })
            .with("nan", Value::F64(f64::NAN))
            .with("no text", Value::LongStr(b"\xff\xfe\0"));
        // As recorded from RabbitMQ.
        let no_text = "Not UTF-8, base64 is: //4A";
        let expected = json!({"time": 7, "bytes": "b", "decimal": 2.71, "nan": null, "no text": no_text});
        assert_eq!(Json::Object(from_table(table.as_table())), expected);
    }

    #[test]
    fn depth_and_names_are_bounded() {
        let mut deep = json!({});
        for _ in 0..DEPTH_MAX {
            deep = json!({ "d": deep });
        }
        assert_eq!(to_table(deep.as_object().unwrap()), Err(TableFromJsonError::TooDeep));
        let long = json!({ "n".repeat(256): 1 });
        assert_eq!(to_table(long.as_object().unwrap()), Err(TableFromJsonError::NameTooLong(256)));
    }
}
