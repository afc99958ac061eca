//! Patterns as operators bring them from RabbitMQ.

use super::*;

#[track_caller]
fn check_match(pattern: &str, name: &str, expected: bool) {
    assert_eq!(Pattern::parse(pattern).unwrap().is_match(name), expected, "{pattern} on {name}");
}

#[track_caller]
fn check_refused(pattern: &str, reason: &str) {
    let error = Pattern::parse(pattern).unwrap_err().to_string();
    assert!(error.ends_with(reason), "{error}");
}

fn engine(text: &str) -> Engine {
    Engine::compile(text, Options { is_case_insensitive: false, compiled_len_max: COMPILED_LEN_MAX }).unwrap()
}

#[test]
fn a_pattern_matches_anywhere_in_the_name() {
    check_match("log", "app.logs", true);
    check_match("^log", "app.logs", false);
    check_match("^(amq\\.gen.*|amq\\.default)$", "amq.gen-x", true);
    check_match("a|b", "cab", true);
}

#[test]
fn the_empty_pattern_matches_only_the_empty_name() {
    check_match("", "", true);
    check_match("", "q", false);
    check_match("^$", "q", false);
}

#[test]
fn everything_matches_everything() {
    for pattern in [".*", "^.*", "^.*$"] {
        check_match(pattern, "", true);
        check_match(pattern, "any name", true);
    }
}

#[test]
fn a_pattern_may_look_around() {
    for (pattern, matching, other) in [
        ("^(?!amq\\.).*", "orders", "amq.gen-x"),
        ("^(?!amq\\.|federation:).+", "federation", "federation: x"),
        ("(?<!\\.dlq)$", "orders", "orders.dlq"),
        ("(?<=^eu\\.|^us\\.)orders", "us.orders", "de.orders"),
        ("^(?=.*eu)(?=.*prio).*$", "prio.eu", "prio.us"),
        ("^(?=\\w{1,9}$)", "orders", "orders."),
        ("^((?!tmp).)*$", "orders", "orders.tmp.1"),
        ("(?i)^(?!AMQ)", "orders", "amq.x"),
        ("^(a|b)-\\1$", "a-a", "a-b"),
        ("^(?>a+)b", "aab", "aa"),
        ("^a++b", "aab", "aa"),
        ("^(?!\\p{Lu})", "\u{e4}", "\u{c4}"),
    ] {
        check_match(pattern, matching, true);
        check_match(pattern, other, false);
    }
}

#[test]
fn only_what_needs_it_is_tried_by_backtracking() {
    let is_linear = |text| matches!(engine(text), Engine::Linear(_));
    assert!(is_linear("^(a+)+b$") && is_linear("^amq\\.") && is_linear("[(?!]"));
    assert!(!is_linear("^(?!amq\\.)") && !is_linear("(a)\\1"));
}

#[test]
fn at_the_bound_a_name_does_not_match() {
    let name = "a".repeat(255);
    for text in [
        "^(?:(?!b)a|a)*(?<!a)$",
        "^(a|aa|aaa)+(?<!a)$",
        "^(a*)*\\1b",
        "(?=(a+)+$)(?=(a|aa)+b)",
        "^(?=(?:a?){200}b)(?!c)",
    ] {
        assert!(!Pattern::parse(text).unwrap().is_match(&name), "{text}");
    }
    let text = "^(?:(?!b)a|a)*(?<!a)$";
    assert_eq!(engine(text).decide(&name, &WorkAccount::default()), Err(UndecidedMatch));
    check_match(text, "", true);
    check_match(text, "b", false);
}

/// Patterns that are hard for each of very many names, one by its steps, others by what each step reads.
const HARD: [&str; 4] = ["(a*)*b\\1", "(?=(a+)+$)x", "(?:(?=(?:(?=a+)a)*)a)*(?!)", "^(a|aa|aaa)+(?<!a)$"];

fn hard_names(count: usize) -> impl Iterator<Item = String> {
    (0..count).map(|number| format!("{}{number:05}", "a".repeat(240)))
}

#[test]
fn all_names_of_a_pattern_share_a_bound_of_work() {
    for text in HARD {
        let (engine, account) = (engine(text), WorkAccount::default());
        let decided: Vec<_> = hard_names(3_000).map(|name| engine.decide(&name, &account)).collect();
        assert!(account.is_exhausted() || decided.iter().all(Result::is_ok), "{text}");
        // What needs no more than is free is decided all the same.
        assert_eq!(engine.decide("orders", &account), engine.decide("orders", &WorkAccount::default()), "{text}");
    }
}

#[test]
fn sensible_patterns_have_enough_work_for_any_number_of_names() {
    for (text, expected) in
        [("^(?!amq\\.).*", true), ("^((?!tmp).)*$", true), ("(?<!\\.dlq)$", true), ("^(?=.*eu)(?=.*prio)", false)]
    {
        let (engine, account) = (engine(text), WorkAccount::default());
        for name in hard_names(2_000).chain(["orders".to_owned()]) {
            assert_eq!(engine.decide(&name, &account), Ok(expected), "{text}");
        }
        assert_eq!(format!("{account:?}"), format!("{:?}", WorkAccount::default()), "{text}");
    }
}

#[test]
fn a_pattern_says_that_it_could_not_be_decided() {
    let pattern = Pattern::parse("^(a|aa|aaa)+(?<!a)$").unwrap();
    assert!(!pattern.is_match("orders") && !pattern.is_undecided());
    assert!(!pattern.is_match(&"a".repeat(255)) && pattern.is_undecided());
}

/// How long names take, in the worst case that we know: `cargo test --release -- --ignored --nocapture what_hard_patterns_take`.
#[test]
#[ignore = "a measurement"]
fn what_hard_patterns_take() {
    for text in HARD.iter().chain(&["^((?!tmp).)*$"]) {
        let (engine, account) = (engine(text), WorkAccount::default());
        for count in [1, 100, 3_000] {
            let start = std::time::Instant::now();
            let _decided: Vec<_> = hard_names(count).map(|name| engine.decide(&name, &account)).collect();
            println!("{text:32} {count:5} names {:9.1} ms {account:?}", start.elapsed().as_secs_f64() * 1e3);
        }
    }
}

#[test]
fn broken_and_huge_patterns_are_refused() {
    assert_eq!(Pattern::parse("(").unwrap_err().to_string(), "invalid regular expression '(': unclosed group");
    check_refused(&"a".repeat(4097), "longer than 4096 bytes");
    check_refused("(\\pL{1000}){1000}", "too large when compiled");
    check_refused("(?=(\\pL{1000}){1000})", "too large when compiled");
    check_refused("(?:(?!\\w{100})\\pL{900}){1000}", "too large when compiled");
    check_refused(&format!("(?!{})", "a".repeat(1024)), "must not be longer than 1024 bytes");
    check_refused(&"(?=".repeat(300), "too deeply nested");
    check_refused("(?=a", "opening parenthesis without closing parenthesis");
    check_refused("(a)\\2", "invalid back reference to group 2");
}

#[test]
fn what_the_engines_read_differently_is_refused() {
    check_refused("(?!\\h)", "'\\h' is not supported");
    check_refused("(a)\\g1", "'\\g' is not supported");
    check_refused("(a)?(?(1)b|c)", "'(?(' is not supported");
    check_refused("(?!a)(b)(?1)", "'(?1' is not supported");
    check_refused("(?!a)(*ACCEPT)", "'(*' is not supported");
    check_match("^(?!\\\\h)", "\\h", false);
}

mod any {
    use proptest::prelude::*;

    use super::*;

    fn fragments() -> impl Strategy<Value = String> {
        let fragment = prop::sample::select(vec![
            "(?!",
            "(?=",
            "(?<!",
            "(?<=",
            "(?>",
            "(?:",
            "(",
            ")",
            "a",
            "b",
            "\u{e4}",
            ".",
            "*",
            "+",
            "?",
            "|",
            "^",
            "$",
            "[ab]",
            "[^a]",
            "{2,5}",
            "{0}",
            "(?(1)",
            "++",
            "*?",
            "\\1",
            "\\2",
            "\\b",
            "\\K",
            "\\G",
            "\\w",
            "(?i)",
            "(?x)",
            "(?<n>",
            "\\k<n>",
            "(?1)",
            "\\Z",
            "\\z",
            "[[:alpha:]]",
        ]);
        prop::collection::vec(fragment, 0..14).prop_map(|parts| parts.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_000))]

        /// Whatever operators write and clients are called: it is refused, or says yes or no.
        #[test]
        fn every_pattern_is_refused_or_decides(text in fragments(), name in "[ab\u{e4}.]{0,24}") {
            if let Ok(pattern) = Pattern::parse(&text) {
                let _ = pattern.is_match(&name);
            }
        }
    }
}
