//! What parameters of several components check of their values, each with RabbitMQ's text.
//!
//! A value is an object of terms. [`proplist`] checks each by its [`Constraint`], and finds those that have none. Texts never have the
//! passwords of URIs.

use amqp::uri::{self, Uri};
use serde_json::Value;

use super::without_passwords;
use crate::erlang;

/// Checks a term; the error is a sentence that begins with its key.
pub type Check = fn(key: &str, value: &Value) -> Result<(), String>;

/// What a term of a proplist has to be.
#[derive(Debug, Clone, Copy)]
pub struct Constraint {
    key: &'static str,
    check: Check,
    is_mandatory: bool,
}

impl Constraint {
    /// A term that has to be there.
    #[must_use]
    pub const fn mandatory(key: &'static str, check: Check) -> Constraint {
        Constraint { key, check, is_mandatory: true }
    }

    /// A term that may be there.
    #[must_use]
    pub const fn optional(key: &'static str, check: Check) -> Constraint {
        Constraint { key, check, is_mandatory: false }
    }
}

/// Checks all terms of a value, and says all that is wrong, in RabbitMQ's order: unknown terms first, then from the last constraint on.
#[must_use]
pub fn proplist(name: &str, constraints: &[Constraint], value: &Value) -> Vec<String> {
    let Value::Object(terms) = value else {
        return vec![format!("{name} not a list {}", shown(value))];
    };
    let unknown = terms.iter().filter(|(key, _)| !constraints.iter().any(|constraint| constraint.key == *key));
    let unknown: Vec<String> = unknown.map(|(key, value)| pair(key, value)).collect();
    let unknown = (!unknown.is_empty()).then(|| format!("Unrecognised terms [{}] in {name}", unknown.join(",")));
    let wrong = constraints.iter().rev().filter_map(|Constraint { key, check, is_mandatory }| match terms.get(*key) {
        Some(value) => check(key, value).err(),
        None => is_mandatory.then(|| format!("Key \"{key}\" not found in {name}")),
    });
    unknown.into_iter().chain(wrong).collect()
}

/// A number, of whatever kind.
pub fn number(key: &str, value: &Value) -> Result<(), String> {
    expect(value.is_number(), key, "should be a number", value)
}

/// A whole number.
pub fn integer(key: &str, value: &Value) -> Result<(), String> {
    expect(value.is_i64() || value.is_u64(), key, "should be a number", value)
}

/// Text.
pub fn binary(key: &str, value: &Value) -> Result<(), String> {
    expect(value.is_string(), key, "should be binary", value)
}

/// Text that can be the name of a queue.
pub fn queue_name(key: &str, value: &Value) -> Result<(), String> {
    binary(key, value)?;
    match value.as_str().map_or(0, str::len) {
        0..=255 => Ok(()),
        len => Err(format!("{key} should be less than 255 bytes, actually was {len}")),
    }
}

/// True or false.
pub fn boolean(key: &str, value: &Value) -> Result<(), String> {
    expect(value.is_boolean(), key, "should be boolean", value)
}

/// A list.
pub fn list(key: &str, value: &Value) -> Result<(), String> {
    expect(value.is_array(), key, "should be list", value)
}

/// One of some texts.
pub fn one_of(options: &[&str], key: &str, value: &Value) -> Result<(), String> {
    binary(key, value)?;
    if value.as_str().is_some_and(|text| options.contains(&text)) {
        return Ok(());
    }
    let options: Vec<String> = options.iter().map(|option| erlang::term(&Value::from(*option))).collect();
    Err(format!("{key} should be one of [{}], actually was {}", options.join(","), shown(value)))
}

/// A URI of AMQP, or a list of them.
pub fn uris(key: &str, value: &Value) -> Result<(), String> {
    match value {
        Value::String(text) => uri(text).map(|_| ()),
        Value::Array(values) if values.is_empty() => Err(format!("{key} should have at least one URI")),
        Value::Array(values) => values.iter().try_for_each(|value| uris(key, value)),
        _ => list(key, value),
    }
}

/// A URI of AMQP. One without a host means this broker, to which there is no TLS.
pub fn uri(text: &str) -> Result<Uri, String> {
    let refuse = |reason: &str| Err(format!("\"{}\" not a valid URI: {reason}", uri::without_passwords(text)));
    match Uri::parse(text) {
        Ok(uri) if uri.is_tls && uri.is_hostless => refuse("TLS requires a host"),
        Ok(uri) => Ok(uri),
        Err(error) => refuse(&error.reason),
    }
}

/// A value as a term, without passwords.
#[must_use]
pub fn shown(value: &Value) -> String {
    erlang::term(&without_passwords(value))
}

fn pair(key: &str, value: &Value) -> String {
    erlang::pair(&uri::without_passwords(key), &without_passwords(value))
}

fn expect(is_so: bool, key: &str, what: &str, value: &Value) -> Result<(), String> {
    if is_so { Ok(()) } else { Err(format!("{key} {what}, actually was {}", shown(value))) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const CONSTRAINTS: &[Constraint] = &[
        Constraint::mandatory("uri", uris),
        Constraint::optional("n", number),
        Constraint::optional("mode", |key, value| one_of(&["on-confirm", "no-ack"], key, value)),
    ];

    #[track_caller]
    fn check(value: &Value, wrong: &[&str]) {
        assert_eq!(proplist("mine", CONSTRAINTS, value), wrong);
    }

    #[test]
    fn each_term_is_checked_by_its_constraint() {
        check(&json!({"uri": "amqp://"}), &[]);
        check(&json!({"uri": "amqp://", "n": 1.5, "mode": "no-ack"}), &[]);
        check(&json!({"uri": "amqp://", "n": "x"}), &["n should be a number, actually was <<\"x\">>"]);
        check(
            &json!({"uri": "amqp://", "mode": "x"}),
            &["mode should be one of [<<\"on-confirm\">>,<<\"no-ack\">>], actually was <<\"x\">>"],
        );
        check(&json!({"uri": "amqp://", "mode": 1}), &["mode should be binary, actually was 1"]);
    }

    #[test]
    fn unknown_and_missing_terms_are_named() {
        check(
            &json!({"b": 2, "a": 1, "uri": "amqp://"}),
            &["Unrecognised terms [{<<\"a\">>,1},{<<\"b\">>,2}] in mine"],
        );
        check(&json!({"n": []}), &["n should be a number, actually was []", "Key \"uri\" not found in mine"]);
        check(&json!("x"), &["mine not a list <<\"x\">>"]);
    }

    #[test]
    fn uris_are_one_or_a_list() {
        check(&json!({"uri": ["amqp://", "amqps://a.example/v"]}), &[]);
        check(&json!({"uri": 1}), &["uri should be list, actually was 1"]);
        check(&json!({"uri": ["amqp://", 1]}), &["uri should be list, actually was 1"]);
        let wrong = "\"http://a\" not a valid URI: it has to begin with amqp:// or amqps://, not with http://";
        check(&json!({"uri": ["amqp://", "http://a"]}), &[wrong]);
    }

    #[test]
    fn a_uri_without_a_host_has_no_tls() {
        check(&json!({"uri": "amqp://me:secret@/v"}), &[]);
        check(&json!({"uri": "amqps:///v"}), &["\"amqps:///v\" not a valid URI: TLS requires a host"]);
    }

    #[test]
    fn no_text_has_a_password() {
        let uri = "amqp://me:secret@h";
        for value in [
            json!({"uri": {"x": uri}}),
            json!({"uri": format!("{uri}:x")}),
            json!({"uri": uri, "n": uri}),
            json!({"uri": uri, "mode": [uri]}),
            json!({"uri": uri, "x": uri}),
            json!({"uri": uri, uri: 1}),
            json!([uri]),
        ] {
            let wrong = proplist("mine", CONSTRAINTS, &value).join("\n");
            assert!(!wrong.contains("secret") && wrong.contains("me:***@h"), "{wrong}");
        }
    }

    #[test]
    fn other_terms_have_rabbitmqs_texts() {
        let refused = |check: Check, value: Value| check("k", &value).unwrap_err();
        assert_eq!(refused(boolean, json!("true")), "k should be boolean, actually was <<\"true\">>");
        assert_eq!(refused(integer, json!(1.5)), "k should be a number, actually was 1.5");
        assert_eq!(refused(binary, json!(null)), "k should be binary, actually was null");
        assert_eq!(refused(queue_name, json!("q".repeat(256))), "k should be less than 255 bytes, actually was 256");
        assert_eq!(queue_name("k", &json!("q".repeat(255))), Ok(()));
    }
}
