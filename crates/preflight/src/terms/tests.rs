//! Terms, and texts that are none.

use proptest::prelude::*;

use super::*;

/// A term with its strings shown, for tests.
fn shown(node: &Node) -> String {
    let all = |items: &[Node]| items.iter().map(shown).collect::<Vec<_>>().join(",");
    match &node.term {
        Term::Atom(name) => format!("'{name}'"),
        Term::Text(text) => format!("{text:?}"),
        Term::Binary(text) => format!("<<{text:?}>>"),
        Term::Number(text) => text.clone(),
        Term::Tuple(items) => format!("{{{}}}", all(items)),
        Term::List(items) => format!("[{}]", all(items)),
        Term::Map(members) => {
            let members: Vec<String> =
                members.iter().map(|(key, value)| format!("{}=>{}", shown(key), shown(value))).collect();
            format!("#{{{}}}", members.join(","))
        }
    }
}

#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(parse(text).map(|node| shown(&node)), Ok(expected.to_owned()), "{text}");
}

#[track_caller]
fn check_error(text: &str, line: usize, reason: &'static str) {
    assert_eq!(parse(text), Err(TermError { line, reason }), "{text}");
}

#[test]
fn every_kind_of_term_is_read() {
    check("[rabbitmq_management,rabbitmq_mqtt].", "['rabbitmq_management','rabbitmq_mqtt']");
    check("'rabbit@my-host'.", "'rabbit@my-host'");
    check("rabbit@host .", "'rabbit@host'");
    check(
        "{a, \"b\\\"c\" \"d\", <<\"e\">>, <<\"\u{e9}\"/utf8>>, <<1,2>>, <<>>}.",
        "{'a',\"b\\\"cd\",<<\"e\">>,<<\"é\">>,<<\"\\u{1}\\u{2}\">>,<<>>}".replace("<<>>", "<<\"\">>").as_str(),
    );
    check("[0.4, -1, 1.0e6, 16#FF, 1_000, $a].", "[0.4,-1,1.0e6,255,1000,97]");
    check("[].", "[]");
    check("{}.", "{}");
    check("#{<<\"id\">> => {map, #{}}}.", "#{<<\"id\">>=>{'map',#{}}}");
    check("[a | [b]].", "['a','b']");
    check("\"\\x41\\x{42}\\103\\n\".", "\"ABC\\n\"");
}

#[test]
fn comments_and_line_ends_are_anywhere() {
    let node =
        parse("%% -*- mode: erlang -*-\n[ % all\n  {rabbit, [\n    {heartbeat, 60} % seconds\n  ]}\n].\n% end\n")
            .unwrap();
    let rabbit = &node.list().unwrap()[0];
    let (name, settings) = rabbit.property().unwrap();
    let heartbeat = &settings.unwrap().list().unwrap()[0];
    assert_eq!((name, rabbit.line, heartbeat.line), ("rabbit", 3, 4));
    assert_eq!(heartbeat.property().unwrap().1.unwrap().scalar(), Some("60"));
}

#[test]
fn what_is_no_term_is_an_error_with_its_line() {
    check_error("", 1, "there is none");
    check_error("[a]", 1, "the full stop at the end is missing");
    check_error("[a\n", 2, "unexpected end of the file");
    check_error("[a b].", 1, "a comma was expected, or the end of a list");
    check_error("[a,\n Name].", 2, "variables are not supported");
    check_error("\"a", 1, "a quote is not closed");
    check_error("a. b.", 1, "unexpected text after the full stop");
    check_error("<<256>>.", 1, "a byte must be a number up to 255");
    check_error("[,].", 1, "invalid character");
    check_error(&"[".repeat(1_000_000), 1, "the term is nested too deeply");
}

#[test]
fn strings_are_not_shown() {
    let node = parse("{default_pass, <<\"secret\">>}.").unwrap();
    assert_eq!(node.to_string(), "{default_pass, …}");
    assert_eq!(parse("\"secret\".").unwrap().to_string(), "\"…\"");
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "\\PC*|[a-c{}\\[\\]<>\"'%,.$#=|0-9/\\\\ \\n]*") {
        let _ = parse(&text);
        let _ = parse(&format!("[{text}]."));
    }

    #[test]
    fn what_is_written_is_read_back(
        properties in proptest::collection::vec(("[a-z][a-z_0-9]{0,8}", "[^\"\\\\]{0,12}", 0u32..), 0..8)
    ) {
        let text: Vec<String> = properties.iter().map(|(name, value, number)| format!("{{{name}, {{\"{value}\", {number}}}}}")).collect();
        let node = parse(&format!("[\n{}\n].\n", text.join(",\n% more\n"))).unwrap();
        let seen: Vec<_> = node
            .list()
            .unwrap()
            .iter()
            .map(|item| {
                let (name, value) = item.property().unwrap();
                let pair = value.unwrap().tuple().unwrap();
                (name.to_owned(), pair[0].word().unwrap().to_owned(), pair[1].scalar().unwrap().parse().unwrap())
            })
            .collect();
        prop_assert_eq!(seen, properties);
    }
}
