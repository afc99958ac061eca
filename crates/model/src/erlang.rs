//! Values of field tables and of JSON as Erlang prints them, because RabbitMQ's error texts contain them so.

use std::fmt::Write as _;

use amqp::table::{Array, Table, Value};
use serde_json::Value as Json;

/// A value as it stands inside a sentence: text bare, everything else as a term.
pub(crate) fn in_sentence(value: &Value<'_>) -> String {
    match value {
        Value::LongStr(bytes) | Value::Binary(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        _ => value_term(value),
    }
}

/// A value as a term: text in angle brackets and quotes.
#[must_use]
pub fn value_term(value: &Value<'_>) -> String {
    let mut out = String::new();
    put_term(&mut out, value);
    out
}

/// A list of characters as a term: in double quotes.
pub(crate) fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// An atom as a term: bare if it looks like one, else in single quotes.
pub(crate) fn atom(text: &str) -> String {
    let is_bare = text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '@'));
    if is_bare { text.to_owned() } else { format!("'{text}'") }
}

/// A JSON value as a term.
pub fn term(value: &Json) -> String {
    let mut out = String::new();
    put_json(&mut out, value);
    out
}

/// A key and its JSON value as a term: a pair.
pub(crate) fn pair(key: &str, value: &Json) -> String {
    let mut out = String::new();
    put_pair(&mut out, key, value);
    out
}

fn put_json(out: &mut String, value: &Json) {
    match value {
        Json::Null => out.push_str("null"),
        Json::Bool(value) => put(out, value),
        Json::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(float) => put_float(out, float),
            None => put(out, number),
        },
        Json::String(text) => put_binary(out, text.as_bytes()),
        Json::Array(values) => {
            out.push('[');
            put_separated(out, values.iter(), put_json);
            out.push(']');
        }
        Json::Object(fields) => {
            out.push_str("#{");
            put_separated(out, fields.iter(), |out, (key, value)| {
                put_binary(out, key.as_bytes());
                out.push_str(" => ");
                put_json(out, value);
            });
            out.push('}');
        }
    }
}

fn put_pair(out: &mut String, key: &str, value: &Json) {
    out.push('{');
    put_binary(out, key.as_bytes());
    out.push(',');
    put_json(out, value);
    out.push('}');
}

fn put_term(out: &mut String, value: &Value<'_>) {
    match *value {
        Value::LongStr(bytes) | Value::Binary(bytes) => put_binary(out, bytes),
        Value::Table(table) => put_table(out, table),
        Value::Array(array) => put_array(out, array),
        Value::Bool(value) => put(out, value),
        Value::F32(value) => put_float(out, f64::from(value)),
        Value::F64(value) => put_float(out, value),
        Value::Decimal { scale, value } => put(out, format_args!("{{{scale},{value}}}")),
        Value::Timestamp(value) => put(out, value),
        Value::Void => out.push_str("undefined"),
        _ => put(out, value.as_i64().unwrap_or_default()), // all that is left are integers
    }
}

fn put_binary(out: &mut String, bytes: &[u8]) {
    match std::str::from_utf8(bytes).ok().filter(|text| !text.chars().any(char::is_control)) {
        Some("") => out.push_str("<<>>"),
        Some(text) if text.is_ascii() => put(out, format_args!("<<{}>>", quoted(text))),
        Some(text) => put(out, format_args!("<<{}/utf8>>", quoted(text))),
        None => {
            out.push_str("<<");
            put_separated(out, bytes.iter(), put);
            out.push_str(">>");
        }
    }
}

fn put_table(out: &mut String, table: Table<'_>) {
    out.push('[');
    put_separated(out, table.iter(), |out, (name, value)| {
        out.push('{');
        put_binary(out, name);
        put(out, format_args!(",{},", value.type_name()));
        put_term(out, &value);
        out.push('}');
    });
    out.push(']');
}

fn put_array(out: &mut String, array: Array<'_>) {
    out.push('[');
    put_separated(out, array.iter(), |out, value| {
        put(out, format_args!("{{{},", value.type_name()));
        put_term(out, &value);
        out.push('}');
    });
    out.push(']');
}

/// Erlang's floats always have a fraction: `1.0e20`.
fn put_float(out: &mut String, value: f64) {
    let text = format!("{value:?}");
    match text.split_once('e') {
        Some((mantissa, exponent)) if !mantissa.contains('.') => put(out, format_args!("{mantissa}.0e{exponent}")),
        _ => out.push_str(&text),
    }
}

fn put_separated<T>(out: &mut String, items: impl Iterator<Item = T>, mut put_item: impl FnMut(&mut String, T)) {
    for (index, item) in items.enumerate() {
        if index > 0 {
            out.push(',');
        }
        put_item(out, item);
    }
}

fn put(out: &mut String, value: impl std::fmt::Display) {
    write!(out, "{value}").expect("writing to a String cannot fail");
}

#[cfg(test)]
mod tests {
    use amqp::table::{ArrayBuf, TableBuf};

    use super::*;

    #[track_caller]
    fn check_text(value: Value<'_>, expected: &str) {
        assert_eq!(in_sentence(&value), expected);
    }

    #[test]
    fn scalars_print_as_in_erlang() {
        check_text(Value::LongStr(b"lazy"), "lazy");
        check_text(Value::Bool(true), "true");
        check_text(Value::I8(-1), "-1");
        check_text(Value::I64(i64::MIN), "-9223372036854775808");
        check_text(Value::Timestamp(u64::MAX), "18446744073709551615");
        check_text(Value::F64(1.5), "1.5");
        check_text(Value::F64(1e20), "1.0e20");
        check_text(Value::F32(2.0), "2.0");
        check_text(Value::Decimal { scale: 2, value: 314 }, "{2,314}");
        check_text(Value::Void, "undefined");
    }

    #[test]
    fn nested_values_print_as_terms() {
        let table = TableBuf::new().with("a", Value::LongStr(b"x\"y")).with("b", Value::I32(1));
        check_text(Value::Table(table.as_table()), r#"[{<<"a">>,longstr,<<"x\"y">>},{<<"b">>,signedint,1}]"#);
        let array = ArrayBuf::new().with(Value::Binary(&[0, 255])).with(Value::LongStr("é".as_bytes()));
        check_text(Value::Array(array.as_array()), r#"[{binary,<<0,255>>},{longstr,<<"é"/utf8>>}]"#);
        check_text(Value::Array(ArrayBuf::new().with(Value::LongStr(b"")).as_array()), "[{longstr,<<>>}]");
        check_text(Value::Array(ArrayBuf::new().as_array()), "[]");
    }

    #[test]
    fn json_prints_as_terms() {
        let value = serde_json::json!({"a": [1, 2.5, "x"], "b": null});
        assert_eq!(term(&value), r#"#{<<"a">> => [1,2.5,<<"x">>],<<"b">> => null}"#);
        assert_eq!(term(&serde_json::json!({"a": ""})), r#"#{<<"a">> => <<>>}"#);
        assert_eq!(pair("k", &serde_json::json!(true)), "{<<\"k\">>,true}");
    }

    #[test]
    fn atoms_are_quoted_when_they_must_be() {
        assert_eq!(atom("direct"), "direct");
        assert_eq!(atom("x-delayed-message"), "'x-delayed-message'");
        assert_eq!(atom("Fanout"), "'Fanout'");
    }
}
