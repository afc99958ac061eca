//! Tables and documents as commands print them.

use serde_json::json;

use super::*;

fn queues() -> Output {
    Output::Table(Table {
        columns: vec!["name".to_owned(), "messages".to_owned(), "arguments".to_owned()],
        rows: vec![
            vec![json!("a\tb"), json!(10), json!({"x-max-length": 10, "x-overflow": "drop-head"})],
            vec![json!("long name"), json!(2), json!({})],
        ],
    })
}

#[track_caller]
fn check(output: &Output, format: Format, is_terminal: bool, has_headers: bool, expected: &str) {
    let style = Style { format, has_headers, is_terminal };
    assert_eq!(String::from_utf8(render(output, style)).unwrap(), expected);
}

#[test]
fn scripts_get_tabs_as_from_rabbitmqctl() {
    let rows = "a\\011b\t10\t[{\"x-max-length\",10},{\"x-overflow\",\"drop-head\"}]\nlong name\t2\t[]\n";
    check(&queues(), Format::Table, false, false, rows);
    check(&queues(), Format::Table, false, true, &format!("name\tmessages\targuments\n{rows}"));
    let empty = Output::Table(Table { columns: vec!["name".to_owned()], rows: Vec::new() });
    check(&empty, Format::Table, false, true, "");
}

#[test]
fn people_get_columns_and_a_bold_header() {
    let table = Output::Table(Table {
        columns: vec!["name".to_owned(), "messages".to_owned()],
        rows: vec![vec![json!("a long name"), json!(1)], vec![json!("b"), json!(null)]],
    });
    check(&table, Format::Table, true, true, "\x1b[1mname         messages\x1b[0m\na long name  1\nb\n");
    let boxed = "+-------------+----------+\n| name        | messages |\n+-------------+----------+\n\
                 | a long name | 1        |\n| b           |          |\n+-------------+----------+\n";
    check(&table, Format::Boxes(&Borders::ASCII), false, true, boxed);
    check(&table, Format::Boxes(&Borders::NONE), false, false, " a long name  1\n b\n");
}

#[test]
fn programs_get_json_and_csv() {
    let json = "[\n{\"arguments\":{\"x-max-length\":10,\"x-overflow\":\"drop-head\"},\"messages\":10,\"name\":\"a\\tb\"}\n\
                ,{\"arguments\":{},\"messages\":2,\"name\":\"long name\"}\n]\n";
    check(&queues(), Format::Json, true, true, json);
    let Output::Table(table) = queues() else { panic!() };
    let parsed: Value = serde_json::from_slice(&render(
        &queues(),
        Style { format: Format::PrettyJson, has_headers: true, is_terminal: false },
    ))
    .unwrap();
    assert_eq!(parsed, Value::Array(table.objects()));
    check(&Output::Text("done".to_owned()), Format::Json, false, true, "{\"message\":\"done\",\"result\":\"ok\"}\n");
    let quoted = Output::Table(Table { columns: vec!["a".to_owned()], rows: vec![vec![json!("x\"y,z")]] });
    check(&quoted, Format::Csv, false, true, "\"a\"\n\"x\"\"y,z\"\n");
}

#[test]
fn rabbitmqadmins_other_formats() {
    let table = Output::Table(Table {
        columns: vec!["name".to_owned(), "n".to_owned()],
        rows: vec![vec![json!("q1"), json!(1)], vec![json!("q2"), json!(2)]],
    });
    check(&table, Format::Pairs, false, true, "name=\"q1\" n=\"1\"\nname=\"q2\" n=\"2\"\n");
    check(&table, Format::Bash, false, true, "q1 q2\n");
    check(&table, Format::RawJson, false, true, "[{\"n\":1,\"name\":\"q1\"},{\"n\":2,\"name\":\"q2\"}]\n");
    assert!(admin_format(Some("yaml"), None).is_err() && admin_format(None, Some("baroque")).is_err());
    assert!(ctl_format("erlang").is_err() && ctl_format("yaml").is_err());
}

#[test]
fn numbers_are_sorted_as_numbers() {
    let mut table = Table { columns: vec!["n".to_owned()], rows: [9, 10, 1].iter().map(|n| vec![json!(n)]).collect() };
    table.sort("n", false).unwrap();
    assert_eq!(table.rows, [vec![json!(1)], vec![json!(9)], vec![json!(10)]]);
    table.sort("n", true).unwrap();
    assert_eq!(table.rows[0], vec![json!(10)]);
    assert!(table.sort("m", false).is_err());
}

#[test]
fn names_do_not_reach_the_terminal_as_commands() {
    let table =
        Output::Table(Table { columns: vec!["name".to_owned()], rows: vec![vec![json!("a\u{1b}[2J\t^amq\\.")]] });
    check(&table, Format::Table, false, false, "a\\033[2J\\011^amq\\.\n");
    check(&table, Format::Csv, false, false, "\"a\u{1b}[2J\t^amq\\.\"\n");
}

#[test]
fn nothing_that_a_server_says_is_obeyed_by_a_terminal() {
    let evil = "Evil\u{1b}[2J\u{9b}31m\r";
    let shown = "Evil\\u001b[2J\\u009b31m\\u000d";
    // Words for people are never what a program wants raw.
    for is_terminal in [false, true] {
        check(&Output::Text(evil.to_owned()), Format::Table, is_terminal, false, &format!("{shown}\n"));
    }
    let document = Output::Document { text: String::new(), value: json!({"name": "\u{9b}31m"}) };
    check(&document, Format::RawJson, true, false, "{\"name\":\"\\u009b31m\"}\n");
    let table = Output::Table(Table { columns: vec!["name".to_owned()], rows: vec![vec![json!("a\u{1b}[2J")]] });
    check(&table, Format::Csv, true, false, "\"a\\u001b[2J\"\n");
    check(&Output::Bytes(b"a\x1b[2J".to_vec()), Format::Table, true, false, "a\\u001b[2J");
    check(&Output::Bytes(b"a\x1b[2J".to_vec()), Format::Table, false, false, "a\u{1b}[2J");
}
