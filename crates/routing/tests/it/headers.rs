//! Conditions on headers.

use amqp::table::{ArrayBuf, TableBuf, Value};
use routing::{BindError, Routable};

use crate::broker::Vhost;

fn table(fields: &[(&str, Value<'_>)]) -> TableBuf {
    fields.iter().fold(TableBuf::new(), |table, (name, value)| table.with(name, *value))
}

#[track_caller]
fn check(arguments: &[(&str, Value<'_>)], headers: &[(&str, Value<'_>)], matches: bool) {
    let mut vhost = Vhost::with_queues(&["q"]);
    vhost.bind_with("amq.headers", "q:q", &table(arguments));
    let headers = table(headers);
    let message = Routable { headers: Some(headers.as_table()), ..Routable::by_key(b"") };
    let is_found = !vhost.route("amq.headers", &message).is_empty();
    assert_eq!(is_found, matches, "{arguments:?} on {headers:?}");
}

const ONE: Value<'static> = Value::I32(1);
const TWO: Value<'static> = Value::I32(2);

fn x_match(rule: &'static str) -> (&'static str, Value<'static>) {
    ("x-match", Value::LongStr(rule.as_bytes()))
}

#[test]
fn all_conditions_must_hold_unless_any_is_asked() {
    for (rule, one_holds) in [(None, false), (Some("all"), false), (Some("any"), true)] {
        let mut arguments = vec![("a", ONE), ("b", TWO)];
        arguments.extend(rule.map(x_match));
        check(&arguments, &[("a", ONE), ("b", TWO), ("c", ONE)], true);
        check(&arguments, &[("a", ONE), ("b", ONE)], one_holds);
        check(&arguments, &[("b", TWO)], one_holds);
        check(&arguments, &[("a", TWO), ("c", TWO)], false);
        check(&arguments, &[], false);
    }
}

#[test]
fn x_headers_count_only_where_the_rule_says_so() {
    for (rule, holds) in [("all", true), ("all-with-x", false), ("any", false), ("any-with-x", true)] {
        // Of the two conditions, one is on an x- header.
        let is_any = rule.starts_with("any");
        let headers = if is_any { [("x-a", ONE), ("b", ONE)] } else { [("x-a", TWO), ("b", TWO)] };
        check(&[x_match(rule), ("x-a", ONE), ("b", TWO)], &headers, holds);
    }
    // `x-match` itself is never a condition.
    check(&[x_match("all-with-x"), ("a", ONE)], &[("a", ONE)], true);
    check(&[x_match("any-with-x"), ("a", ONE)], &[x_match("any-with-x")], false);
}

#[test]
fn no_condition_at_all() {
    check(&[], &[], true);
    check(&[x_match("all"), ("x-ignored", ONE)], &[("a", ONE)], true);
    check(&[x_match("all-with-x")], &[], true);
    check(&[x_match("any")], &[("a", ONE)], false);
    check(&[x_match("any"), ("x-ignored", ONE)], &[("x-ignored", ONE)], false);
    let mut vhost = Vhost::with_queues(&["q"]);
    vhost.bind("amq.headers", "q:q", "the key is ignored");
    assert_eq!(vhost.route("amq.headers", &Routable::by_key(b"")), ["q"]);
}

#[test]
fn nothing_as_value_asks_for_presence() {
    for rule in ["all", "any"] {
        let arguments = [x_match(rule), ("a", Value::Void)];
        for value in [ONE, Value::Void, Value::LongStr(b""), Value::Bool(false)] {
            check(&arguments, &[("a", value)], true);
        }
        check(&arguments, &[("b", ONE)], false);
    }
    check(&[("a", ONE)], &[("a", Value::Void)], false);
}

#[test]
fn the_last_of_two_headers_of_one_name_counts() {
    check(&[("a", ONE)], &[("a", ONE), ("a", TWO)], false);
    check(&[("a", ONE)], &[("a", TWO), ("a", ONE)], true);
    check(&[("a", ONE), ("a", TWO)], &[("a", ONE)], false);
    check(&[x_match("any"), ("a", ONE), ("a", TWO)], &[("a", ONE)], true);
}

#[test]
fn values_are_compared_by_kind_and_not_by_width() {
    let tables = [table(&[]), table(&[("a", ONE)]), table(&[("a", Value::I64(1))])];
    let arrays = [ArrayBuf::new(), ArrayBuf::new().with(ONE)];
    // Values in one row are equal, in different rows they are not.
    let rows: &[&[Value<'_>]] = &[
        &[ONE, Value::I8(1), Value::U8(1), Value::I16(1), Value::U16(1), Value::U32(1), Value::I64(1)],
        &[Value::I32(-1), Value::I8(-1), Value::I64(-1)],
        &[Value::U32(u32::MAX), Value::I64(0xffff_ffff)],
        &[Value::F32(1.0), Value::F64(1.0)],
        &[Value::F64(0.0)],
        &[Value::F64(-0.0)],
        &[Value::F64(0.1)],
        &[Value::LongStr(b"1"), Value::Binary(b"1")],
        &[Value::LongStr(b""), Value::Binary(b"")],
        &[Value::Bool(true)],
        &[Value::Bool(false)],
        &[Value::Decimal { scale: 0, value: 1 }],
        &[Value::Decimal { scale: 1, value: 10 }],
        &[Value::Table(tables[0].as_table()), Value::Array(arrays[0].as_array())],
        &[Value::Table(tables[1].as_table())],
        &[Value::Table(tables[2].as_table())],
        &[Value::Array(arrays[1].as_array())],
    ];
    let values = || rows.iter().enumerate().flat_map(|(row, values)| values.iter().map(move |value| (row, *value)));
    for (argument_row, argument) in values() {
        for (header_row, header) in values() {
            for rule in ["all", "any"] {
                check(&[x_match(rule), ("a", argument)], &[("a", header)], argument_row == header_row);
            }
        }
    }
}

#[test]
fn a_timestamp_is_seconds_in_a_binding_and_milliseconds_in_a_message() {
    let (argument, header) = (Value::Timestamp(5), Value::Timestamp(5));
    check(&[("a", argument)], &[("a", Value::I32(5))], true);
    check(&[("a", argument)], &[("a", header)], false);
    check(&[("a", Value::I64(5000))], &[("a", header)], true);
    check(&[("a", argument)], &[("a", Value::Timestamp(u64::MAX))], false);
}

#[test]
fn other_rules_are_refused() {
    let mut vhost = Vhost::with_queues(&["q"]);
    for value in [Value::LongStr(b"some"), Value::LongStr(b""), Value::Binary(b"all"), ONE, Value::Void] {
        let arguments = table(&[("x-match", value)]);
        let bound = vhost.try_bind("amq.headers", "q:q", "", arguments.as_table());
        assert_eq!(bound, Err(BindError::InvalidMatch), "{value:?}");
        // Other exchanges do not look at it.
        vhost.bind_with("amq.topic", "q:q", &arguments);
    }
}

#[test]
fn a_message_without_headers_matches_only_the_unconditional() {
    let mut vhost = Vhost::with_queues(&["q", "r"]);
    vhost.bind_with("amq.match", "q:q", &table(&[("a", Value::Void)]));
    vhost.bind_with("amq.match", "q:r", &table(&[x_match("all")]));
    assert_eq!(vhost.route("amq.match", &Routable::by_key(b"")), ["r"]);
}

#[test]
fn many_bindings_under_one_condition_are_removed_one_by_one() {
    let mut vhost = Vhost::with_queues(&["q"]);
    let arguments: Vec<_> = (0..1000)
        .map(|number| {
            table(&[x_match(if number % 2 == 0 { "any" } else { "all" }), ("a", ONE), ("b", Value::I32(number))])
        })
        .collect();
    for arguments in &arguments {
        vhost.bind_with("amq.match", "q:q", arguments);
    }
    let headers = table(&[("a", ONE), ("b", Value::I32(501))]);
    let message = Routable { headers: Some(headers.as_table()), ..Routable::by_key(b"") };
    for (number, arguments) in arguments.iter().enumerate() {
        let expected: &[&str] = if number < 999 { &["q"] } else { &[] };
        assert_eq!(vhost.route("amq.match", &message), expected, "before {number} is removed");
        vhost.try_unbind("amq.match", "q:q", "", arguments.as_table()).expect("unbound");
    }
}

#[test]
fn many_bindings_without_conditions_are_removed_one_by_one() {
    let mut vhost = Vhost::with_queues(&["q"]);
    let arguments: Vec<_> = (0..100).map(|number| table(&[("x-ignored", Value::I32(number))])).collect();
    for arguments in &arguments {
        vhost.bind_with("amq.match", "q:q", arguments);
    }
    for arguments in arguments.iter().skip(50).chain(&arguments[..50]) {
        assert_eq!(vhost.route("amq.match", &Routable::by_key(b"")), ["q"]);
        vhost.try_unbind("amq.match", "q:q", "", arguments.as_table()).expect("unbound");
    }
    assert!(vhost.route("amq.match", &Routable::by_key(b"")).is_empty());
}
