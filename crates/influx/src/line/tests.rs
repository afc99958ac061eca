//! Points written as lines, whatever is in their names.

use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::timestamp::Precision;

const AT: Duration = Duration::from_secs(1_700_000_000);

#[track_caller]
fn check(tags: &[(&str, &str)], fields: impl FnOnce(&mut Fields<'_>), expected: &str) {
    let mut out = "before\n".to_owned();
    let put = |written: &mut Tags| tags.iter().for_each(|(name, value)| written.put(name, value));
    let is_written = write(&mut out, "m", Precision::Seconds.at(AT), put, fields);
    assert_eq!(out.strip_prefix("before\n"), Some(expected));
    assert_eq!(is_written, !expected.is_empty());
}

#[test]
fn a_line_has_measurement_tags_fields_and_time() {
    let fields = |fields: &mut Fields<'_>| {
        fields.count("a", 3);
        fields.integer("b", -3);
        fields.float("c", 0.5);
        fields.boolean("d", true);
        fields.text("e", "x y");
    };
    check(&[("x", "1"), ("y", "2")], fields, "m,x=1,y=2 a=3i,b=-3i,c=0.5,d=true,e=\"x y\" 1700000000\n");
    check(&[], |fields| fields.count("a", 0), "m a=0i 1700000000\n");
}

#[test]
fn tags_without_a_name_or_a_value_are_left_out() {
    check(&[("a", ""), ("", "b"), ("c", "\\"), ("d", "e")], |fields| fields.count("f", 1), "m,d=e f=1i 1700000000\n");
}

#[test]
fn numbers_that_are_none_are_left_out() {
    let fields = |fields: &mut Fields<'_>| {
        for number in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            fields.float("a", number);
        }
        fields.float("b", 1.0);
    };
    check(&[], fields, "m b=1.0 1700000000\n");
}

#[test]
fn a_count_that_is_too_large_is_the_largest() {
    check(&[], |fields| fields.count("a", u64::MAX), "m a=9223372036854775807i 1700000000\n");
}

#[test]
fn what_has_no_field_is_no_line() {
    check(&[("a", "b")], |_| (), "");
    check(&[("a", "b")], |fields| fields.float("a", f64::NAN), "");
    check(&[("a", "b")], |fields| fields.count("", 1), "");
    let mut out = String::new();
    assert!(!write(&mut out, "", Precision::Seconds.at(AT), |_| (), |fields| fields.count("a", 1)));
    assert_eq!(out, "");
}

#[test]
fn tags_that_were_made_once_are_as_if_put_one_by_one() {
    let mut common = Tags::default();
    common.put("a b", "c");
    let mut out = String::new();
    let put = |tags: &mut Tags| {
        tags.put_all(&common);
        tags.put("d", "e");
    };
    write(&mut out, "m", Precision::Seconds.at(AT), put, |fields| fields.count("f", 1));
    assert_eq!(out, "m,a\\ b=c,d=e f=1i 1700000000\n");
}

/// What a reader has understood.
#[derive(Debug, Clone, PartialEq)]
struct Point {
    measurement: String,
    tags: Vec<(String, String)>,
    fields: Vec<(String, Value)>,
    at: i64,
}

#[derive(Debug, Clone, PartialEq)]
enum Value {
    Integer(i64),
    Float(f64),
    Boolean(bool),
    Text(String),
}

fn unescaped(name: &str, special: &str) -> String {
    special.chars().fold(name.to_owned(), |name, letter| name.replace(&format!("\\{letter}"), &letter.to_string()))
}

fn value(text: &str) -> Value {
    if let Some(text) = text.strip_prefix('"') {
        let mut letters = text.strip_suffix('"').unwrap().chars();
        let mut read = String::new();
        while let Some(letter) = letters.next() {
            read.push(if letter == '\\' { letters.next().unwrap() } else { letter });
        }
        return Value::Text(read);
    }
    match (text.strip_suffix('i'), text) {
        (Some(number), _) => Value::Integer(number.parse().unwrap()),
        (None, "true") => Value::Boolean(true),
        (None, "false") => Value::Boolean(false),
        (None, number) => Value::Float(number.parse().unwrap()),
    }
}

/// Reads a line. Tags have no quotes that mean anything, fields do.
fn parse(line: &str) -> Point {
    // Quotes mean something from the first space on that has no backslash before it.
    let bytes = line.as_bytes();
    let end = (1..bytes.len()).find(|&at| bytes[at] == b' ' && bytes[at - 1] != b'\\').unwrap();
    let (series, rest) = (&line[..end], &line[end + 1..]);
    let (fields, at) = rest.rsplit_once(' ').unwrap();
    let mut names = split(series, ',').into_iter();
    let measurement = unescaped(&names.next().unwrap(), ", ");
    let pair = |text: &str| {
        let parts = split(text, '=');
        assert_eq!(parts.len(), 2, "{text}");
        (unescaped(&parts[0], ", ="), unescaped(&parts[1], ", ="))
    };
    let field = |text: &String| {
        let end = (1..text.len())
            .find(|&at| text.as_bytes()[at] == b'=' && text.as_bytes()[at - 1] != b'\\')
            .unwrap_or_else(|| panic!("{text} in {line}"));
        (unescaped(&text[..end], ", ="), value(&text[end + 1..]))
    };
    Point {
        measurement,
        tags: names.map(|tag| pair(&tag)).collect(),
        fields: split_fields(fields).iter().map(field).collect(),
        at: at.parse().unwrap(),
    }
}

/// Cuts at a letter that has no backslash right before it, which is how InfluxDB's own parser does it.
fn split(text: &str, at: char) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut before = ' ';
    for letter in text.chars() {
        if letter == at && before != '\\' {
            parts.push(String::new());
        } else {
            parts.last_mut().unwrap().push(letter);
        }
        before = letter;
    }
    parts
}

/// Fields are divided by commas, except those with a backslash before them and those between quotes. A quote means something only right
/// after an equal sign that ends a name, and up to the next one that has no backslash of its own.
fn split_fields(text: &str) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    let (mut parts, mut at, mut is_name) = (vec![String::new()], 0, true);
    while at < letters.len() {
        let (letter, before) = (letters[at], if at > 0 { letters[at - 1] } else { ' ' });
        let part = parts.last_mut().unwrap();
        if is_name && letter == '=' && before != '\\' {
            part.push(letter);
            is_name = false;
            if letters.get(at + 1) == Some(&'"') {
                part.push('"');
                at += 2;
                while letters[at] != '"' {
                    let len = if letters[at] == '\\' { 2 } else { 1 };
                    part.extend(&letters[at..at + len]);
                    at += len;
                }
                part.push('"');
            }
        } else if letter == ',' && (!is_name || before != '\\') {
            parts.push(String::new());
            is_name = true;
        } else {
            part.push(letter);
        }
        at += 1;
    }
    parts
}

/// A name as a reader gets it.
fn told(name: &str) -> String {
    name.trim_end_matches('\\').chars().map(told_letter).collect()
}

fn told_letter(letter: char) -> String {
    match letter {
        '\n' => "\\n".to_owned(),
        '\r' => "\\r".to_owned(),
        '\t' => "\\t".to_owned(),
        letter if letter.is_control() => format!("\\x{:02x}", u32::from(letter)),
        letter => letter.to_string(),
    }
}

/// Mostly letters that mean something.
fn name() -> impl Strategy<Value = String> {
    prop_oneof![3 => "[a-c ,=\\\\\"#\n\r\t]{0,8}", 1 => any::<String>()]
}

fn field_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<i64>().prop_map(Value::Integer),
        any::<f64>().prop_map(Value::Float),
        any::<bool>().prop_map(Value::Boolean),
        name().prop_map(Value::Text),
    ]
}

proptest! {
    #[test]
    fn whatever_is_written_is_read_back(
        measurement in name(),
        tags in proptest::collection::vec((name(), name()), 0..4),
        fields in proptest::collection::vec((name(), field_value()), 0..4),
        seconds in 0..10_000_000_000_u64,
    ) {
        let mut out = String::new();
        let is_written = write(
            &mut out,
            &measurement,
            Precision::Seconds.at(Duration::from_secs(seconds)),
            |written| tags.iter().for_each(|(name, value)| written.put(name, value)),
            |written| for (name, value) in &fields {
                match value {
                    Value::Integer(number) => written.integer(name, *number),
                    Value::Float(number) => written.float(name, *number),
                    Value::Boolean(is) => written.boolean(name, *is),
                    Value::Text(text) => written.text(name, text),
                }
            },
        );
        let has_name = |name: &str| !told(name).is_empty();
        let expected = Point {
            measurement: if measurement.starts_with('#') { format!("\\{}", told(&measurement)) } else { told(&measurement) },
            tags: tags
                .iter()
                .filter(|(name, value)| has_name(name) && has_name(value))
                .map(|(name, value)| (told(name), told(value)))
                .collect(),
            fields: fields
                .iter()
                .filter(|(name, value)| has_name(name) && !matches!(value, Value::Float(number) if !number.is_finite()))
                .map(|(name, value)| match value {
                    Value::Text(text) => (told(name), Value::Text(text.chars().map(told_letter).collect())),
                    value => (told(name), value.clone()),
                })
                .collect(),
            at: i64::try_from(seconds).unwrap(),
        };
        let is_point = has_name(&measurement) && !expected.fields.is_empty();
        prop_assert_eq!(is_written, is_point);
        if !is_point {
            prop_assert_eq!(out, "");
            return Ok(());
        }
        let line = out.strip_suffix('\n').unwrap();
        prop_assert!(!line.contains(char::is_control), "{:?}", line);
        prop_assert_eq!(parse(line), expected);
    }
}
