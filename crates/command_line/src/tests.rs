//! What words are read as.

use proptest::prelude::*;

use super::*;

const OPTIONS: &[Opt<char>] = &[
    Opt::valued("port", "PORT", 'p', "the port").short("p").or("5673"),
    Opt::flag("quiet", 'q', "say little").short("q"),
    Opt::flag("silent", 's', "say nothing").short("s"),
    Opt { takes: Takes::Truth, ..Opt::flag("dead", 'd', "dead letters") },
    Opt::valued("no-delay", "BOOL", 'n', "whether to wait").also(&["tcp-no-delay"]),
    Opt { takes: Takes::Perhaps, ..Opt::valued("exchange", "NAME", 'e', "the exchange").short("e") },
    Opt { takes: Takes::Many, ..Opt::valued("column", "NAME", 'c', "columns") },
    Opt::flag("help", 'h', "explain").short("?").also(&["h"]),
];

/// As PerfTest's: short names of several letters, and options that were added.
const PERFTEST: &[Opt<char>] = &[
    Opt::valued("size", "N", 's', "").short("s"),
    Opt::valued("qos", "N", 'q', "").short("q"),
    Opt::valued("queue-pattern", "NAME", 'Q', "").short("qp"),
    Opt::valued("confirm", "N", 'c', "").short("c"),
    Opt::valued("confirm-timeout", "N", 't', "").short("ct"),
    Opt::flag("autoack", 'a', "").short("a"),
    Opt::flag("json-body", 'b', "").short("jb"),
    Opt { takes: Takes::Many, ..Opt::valued("flag", "NAME", 'f', "").short("f") },
    Opt { takes: Takes::Perhaps, ..Opt::valued("exchange", "NAME", 'e', "").short("e") },
    Opt { is_added: true, ..Opt::valued("json", "FILE", 'j', "") },
    Opt { is_added: true, ..Opt::valued("seed", "N", 'S', "") },
];

fn words(line: &str) -> Vec<String> {
    line.split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// `p=1 q [bare]`: options by what they mean, with their values; bare words in brackets; a mistake in words.
fn shown(options: &[Opt<char>], style: Style, words: &[String]) -> String {
    let one = |word: Result<Word<'_, '_, char>, Mistake>| match word {
        Ok(Word::Option(said)) if said.values.is_empty() => said.option.means.to_string(),
        Ok(Word::Option(said)) => format!("{}={}", said.option.means, said.values.join(",")),
        Ok(Word::Bare(word, _)) => format!("[{word}]"),
        Err(mistake) => format!("({mistake})"),
    };
    Reader::new(options, style, words).map(one).collect::<Vec<_>>().join(" ")
}

#[track_caller]
fn check(line: &str, expected: &str) {
    assert_eq!(shown(OPTIONS, Style::Gnu, &words(line)), expected, "{line}");
}

#[track_caller]
fn check_commons(line: &str, expected: &str) {
    assert_eq!(shown(PERFTEST, Style::CommonsCli, &words(line)), expected, "{line}");
}

#[track_caller]
fn check_closest(options: &[Opt<char>], style: Style, word: &str, expected: Option<&str>) {
    match read(options, style, &words(word)) {
        Err(Mistake::Unknown { closest, .. }) => assert_eq!(closest.as_deref(), expected, "{word}"),
        other => panic!("{word}: {other:?}"),
    }
}

#[test]
fn a_value_follows_its_option_in_its_word_or_as_the_next() {
    for line in ["--port 5673", "--port=5673", "-p 5673", "-p5673", "-p=5673"] {
        check(line, "p=5673");
    }
    check("--port= x", "p= [x]");
    check("--port=a=b", "p=a=b");
    check("-pa=b", "p=a=b");
}

#[test]
fn a_value_may_be_any_word() {
    check("-p -1", "p=-1");
    check("--port -- --quiet", "p=-- q");
    check("--port --quiet", "p=--quiet");
}

#[test]
fn words_that_belong_to_no_option_are_bare() {
    check("a -q b", "[a] q [b]");
    check("a - -q", "[a] [-] q");
    check("-q -- -p --x -- b", "q [-p] [--x] [--] [b]");
}

#[test]
fn options_have_other_names() {
    check("--tcp_no_delay=1 --no_delay 2", "n=1 n=2");
    check("-? -h --help", "h h h");
    check("--h", "(unknown option '--h')");
    check("-port 1", "p=ort [1]");
}

#[test]
fn short_options_stand_in_one_word() {
    check("-qs", "q s");
    check("-qsp5673 -sqp 1", "q s p=5673 s q p=1");
    check("-sp=1", "s p=1");
    check("-qx", "q (unknown option '-x')");
}

#[test]
fn flags_may_be_said_with_their_truth() {
    check("--quiet=true -q=true --quiet=false", "q q");
    check("--dead --dead=true --dead=false", "d=true d=true d=false");
    check("--quiet=perhaps --dead=perhaps", "(option '--quiet' takes no value) (option '--dead' takes no value)");
    check("-q=5", "(option '--quiet' takes no value)");
}

#[test]
fn values_may_be_none_or_many() {
    check("-e -q -e x y --exchange", "e q e=x [y] e");
    check("--column a b -q --column=a b", "c=a,b q c=a [b]");
    check("--column -q", "(option '--column' needs a value) q");
}

#[test]
fn mistakes_name_the_option_and_no_value() {
    check("-p", "(option '--port' needs a value)");
    check("--prot=secret -xsecret", "(unknown option '--prot') (unknown option '-x')");
    assert_eq!(
        read(OPTIONS, Style::Gnu, &words("-q -p")).unwrap_err(),
        Mistake::ValueMissing { option: "--port".to_owned(), word: "-p".to_owned(), value: "PORT" }
    );
    check_closest(OPTIONS, Style::Gnu, "--prot=1", Some("--port"));
    check_closest(OPTIONS, Style::Gnu, "-xport", Some("--port"));
    check_closest(OPTIONS, Style::Gnu, "--something", None);
}

#[test]
fn what_was_said_knows_its_words() {
    let words = words("a -qp 1 --column x y -s");
    let (said, bare) = read(OPTIONS, Style::Gnu, &words).unwrap();
    let spans: Vec<_> = said.iter().map(|said| (said.option.means, said.words.clone())).collect();
    assert_eq!(spans, [('q', 1..2), ('p', 1..3), ('c', 3..6), ('s', 6..7)]);
    assert_eq!((bare, said[1].value(), said[0].value()), (vec!["a"], "1", ""));
}

#[test]
fn the_first_option_of_a_name_counts() {
    let twice = [Opt::flag("port", 'x', "own"), OPTIONS[0]];
    assert_eq!(shown(&twice, Style::Gnu, &words("--port -p 1")), "x p=1");
}

#[test]
fn commons_has_short_names_of_several_letters_and_long_ones_with_one_dash() {
    for line in ["-qp x", "-qp=x", "-queue-pattern x", "-queue-p=x", "--queue-p x", "---queue-pattern x"] {
        check_commons(line, "Q=x");
    }
    check_commons("-q5 -aqx -as=1", "q=5 a q=x (unknown option '-as')");
    check_commons("-ac", "a (option '--confirm' needs a value)");
}

#[test]
fn commons_cuts_names_while_they_are_clear() {
    check_commons("--s 1 --confirm-t 1 --confirm 2", "s=1 t=1 c=2");
    check_commons("--conf 5", "(option '--conf' can be any of: --confirm, --confirm-timeout) [5]");
    // Options that were added change nothing for the others.
    check_commons("--jso --json 1 --see 5 -seed 5 -see", "b j=1 S=5 S=5 s=ee");
}

#[test]
fn commons_knows_values_from_options() {
    check_commons("-c -1 -s -.wild", "c=-1 s=-.wild");
    check_commons("-c -queue", "(option '--confirm' needs a value) (option '--queue-pattern' needs a value)");
    check_commons("-s -- -q", "(option '--size' needs a value) [-q]");
    check_commons("-f a b -a -f=a b", "f=a,b a f=a [b]");
    check_commons("-e -a -e x", "e a e=x");
    check_commons("-s \"x\" -s=\"x\" -s \"", "s=x s=\"x\" s=\"");
}

#[test]
fn commons_always_has_a_closest_option() {
    check_closest(PERFTEST, Style::CommonsCli, "--size1000", Some("--size"));
    check_closest(PERFTEST, Style::CommonsCli, "-gp=x", Some("-qp"));
    check_closest(PERFTEST, Style::CommonsCli, "--nothing-like-it", Some("--confirm-timeout"));
}

#[test]
fn help_lists_options_with_their_texts_beside_them() {
    assert_eq!(
        list(OPTIONS, 40),
        "  -p, --port PORT        the port\n                         (default: 5673)\n  \
           -q, --quiet            say little\n  \
           -s, --silent           say nothing\n      \
               --dead[=false]     dead letters\n      \
               --no-delay BOOL    whether to wait\n  \
           -e, --exchange [NAME]  the exchange\n      \
               --column NAME      columns\n  \
           -?, --help             explain\n"
    );
    let rate = [Opt::valued("rate", "", (), "messages per second").or("5")];
    assert_eq!(list(&rate, usize::MAX), "      --rate  messages per second (default: 5)\n");
}

proptest! {
    /// Each word is an option's, a bare one, or part of a mistake, and none is two of these.
    #[test]
    fn any_words_are_read_to_their_end(
        words in proptest::collection::vec("-{0,3}(port|quiet|qs|p|queue-pattern|[a-zµ\"=_-]{0,4})(=[a-zµ\"]{0,2})?", 0..8),
        is_commons: bool,
    ) {
        let (options, style) = if is_commons { (PERFTEST, Style::CommonsCli) } else { (OPTIONS, Style::Gnu) };
        let mut at = 0;
        for word in Reader::new(options, style, &words) {
            let start = at;
            match word {
                Ok(Word::Option(said)) => {
                    prop_assert!(said.words.start + 1 >= start && said.words.end >= start && !said.words.is_empty());
                    at = said.words.end;
                }
                Ok(Word::Bare(word, place)) => {
                    prop_assert!(place >= start && word == words[place]);
                    at = place + 1;
                }
                Err(mistake) => prop_assert!(!mistake.to_string().is_empty()),
            }
        }
        prop_assert!(at <= words.len());
    }

    /// What is written is read, however it is written.
    #[test]
    fn what_is_written_is_read(said in proptest::collection::vec((0..3_usize, 0..5, "[a-z0-9.:/-]{1,6}"), 0..6)) {
        let mut words = Vec::new();
        let mut expected = Vec::new();
        for (option, form, value) in &said {
            match (OPTIONS[*option], form) {
                (option, 0) if option.takes_value() => words.extend([option.name(), value.clone()]),
                (option, 1) if option.takes_value() => words.push(format!("{}={value}", option.name())),
                (option, 2) if option.takes_value() => words.push(format!("-{}{value}", option.short)),
                (option, 3) if option.takes_value() => words.push(format!("-{}={value}", option.short)),
                (option, _) if option.takes_value() => words.extend([format!("-{}", option.short), value.clone()]),
                (option, 0) => words.push(option.name()),
                (option, _) => words.push(format!("-{}", option.short)),
            }
            let means = OPTIONS[*option].means;
            expected.push(if means == 'p' { format!("p={value}") } else { means.to_string() });
        }
        prop_assert_eq!(shown(OPTIONS, Style::Gnu, &words), expected.join(" "));
    }
}
