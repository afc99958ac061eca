//! Patterns over words.

use routing::Routable;

use crate::broker::Vhost;

#[track_caller]
fn check(pattern: &str, matching: &[&str], other: &[&str]) {
    let mut vhost = Vhost::with_queues(&["q"]);
    vhost.bind("amq.topic", "q:q", pattern);
    let mut matches = |key: &str| !vhost.route("amq.topic", &Routable::by_key(key.as_bytes())).is_empty();
    for key in matching {
        assert!(matches(key), "{pattern:?} should match {key:?}");
    }
    for key in other {
        assert!(!matches(key), "{pattern:?} should not match {key:?}");
    }
}

#[test]
fn words_match_themselves() {
    check("a.b", &["a.b"], &["a", "a.b.c", "b.a", "a.", "", "A.b", "a.bc"]);
}

#[test]
fn a_star_is_exactly_one_word() {
    check("*", &["a", "*", "#"], &["", "a.b", "."]);
    check("a.*", &["a.b", "a."], &["a", "a.b.c", "b.b"]);
    check("*.*", &["a.b", "."], &["a", "", "a.b.c"]);
    check("*.b.*", &["a.b.c"], &["a.b", "a.c.b", "b.b"]);
}

#[test]
fn a_hash_is_any_number_of_words() {
    check("#", &["", "a", "a.b", ".", "..."], &[]);
    check("a.#", &["a", "a.b", "a.b.c", "a."], &["", "b", "b.a", ".a"]);
    check("#.a", &["a", "b.a", "a.a", ".a"], &["", "a.b", "a."]);
    check("a.#.b", &["a.b", "a.c.b", "a.b.b", "a.b.c.b"], &["a", "b", "a.b.c"]);
    check("#.a.#", &["a", "b.a", "a.b", "b.a.b", "a.a"], &["", "b"]);
    check("#.#", &["", "a", "a.b"], &[]);
    check("#.*", &["a", "a.b"], &[""]);
    check("*.#", &["a", "a.b"], &[""]);
    check("a.#.*", &["a.b", "a.b.c"], &["a", "b.c"]);
}

#[test]
fn the_empty_key_has_no_words() {
    check("", &[""], &["a", "."]);
}

#[test]
fn empty_words_are_words() {
    check(".", &["."], &["", "a.", ".."]);
    check("a..b", &["a..b"], &["a.b", "a.c.b"]);
    check("a.*.b", &["a..b", "a.c.b"], &["a.b"]);
}

#[test]
fn wildcards_are_wildcards_only_as_whole_words() {
    check("a*", &["a*"], &["ab", "a"]);
    check("#a", &["#a"], &["a", "b.a"]);
}

#[test]
fn many_hashes_do_not_backtrack() {
    let mut vhost = Vhost::with_queues(&["q", "r"]);
    // 60 times `#.a`, which a key of 127 `a` can match in more ways than there are atoms.
    vhost.bind("amq.topic", "q:q", &"#.a.".repeat(60));
    vhost.bind("amq.topic", "q:r", &format!("{}#", "#.a.".repeat(60)));
    let key = vec!["a"; 127].join(".");
    assert_eq!(vhost.route("amq.topic", &Routable::by_key(key.as_bytes())), ["r"]);
}

#[test]
fn unbinding_one_pattern_leaves_those_that_share_its_words() {
    let mut vhost = Vhost::with_queues(&["q", "r", "s"]);
    vhost.bind("amq.topic", "q:q", "a.b.c");
    vhost.bind("amq.topic", "q:r", "a.b");
    vhost.bind("amq.topic", "q:s", "a.*.#");
    let route = |vhost: &mut Vhost| vhost.route("amq.topic", &Routable::by_key(b"a.b.c"));
    assert_eq!(route(&mut vhost), ["q", "s"]);
    vhost.unbind("amq.topic", "q:r", "a.b");
    assert_eq!(route(&mut vhost), ["q", "s"]);
    vhost.unbind("amq.topic", "q:q", "a.b.c");
    assert_eq!(route(&mut vhost), ["s"]);
    vhost.unbind("amq.topic", "q:s", "a.*.#");
    assert!(route(&mut vhost).is_empty());
}
