//! A regular expression as operators write them for permissions and policies: unanchored, compiled once.
//!
//! Matching takes time linear in the name; therefore look-around and back-references, which RabbitMQ's engine has, are
//! refused with a text that says so.

use std::fmt;

use regex::{Regex, RegexBuilder};

/// The most memory that a compiled pattern may take.
const COMPILED_LEN_MAX: usize = 1 << 20;
/// The longest pattern, in bytes.
const PATTERN_LEN_MAX: usize = 4096;

/// A compiled pattern and the text that it came from.
#[derive(Clone)]
pub struct Pattern {
    text: Box<str>,
    matcher: Matcher,
}

/// Most permissions are "everything" or "nothing": those need no automaton.
#[derive(Clone)]
enum Matcher {
    All,
    EmptyOnly,
    Regex(Regex),
}

/// A text that is not a pattern that we can match.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid regular expression '{text}': {reason}")]
pub struct PatternError {
    text: Box<str>,
    reason: String,
}

impl Pattern {
    /// Compiles a pattern. The empty text means `^$`, as in RabbitMQ: it matches only the empty name.
    pub fn parse(text: &str) -> Result<Pattern, PatternError> {
        let matcher = match text {
            "" | "^$" => Matcher::EmptyOnly,
            ".*" | "^.*" | "^.*$" => Matcher::All,
            _ => Matcher::Regex(compile(text)?),
        };
        Ok(Pattern { text: Box::from(text), matcher })
    }

    /// The pattern that matches everything.
    #[must_use]
    pub fn all() -> Pattern {
        Pattern { text: Box::from(".*"), matcher: Matcher::All }
    }

    /// The pattern that matches everything, written in another way.
    pub(crate) fn all_by(text: &str) -> Pattern {
        Pattern { text: Box::from(text), matcher: Matcher::All }
    }

    /// Whether the pattern matches anywhere in the name.
    #[must_use]
    pub fn is_match(&self, name: &str) -> bool {
        match &self.matcher {
            Matcher::All => true,
            Matcher::EmptyOnly => name.is_empty(),
            Matcher::Regex(regex) => regex.is_match(name),
        }
    }

    /// The text as given.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

fn compile(text: &str) -> Result<Regex, PatternError> {
    let refuse = |reason: String| PatternError { text: Box::from(text), reason };
    if text.len() > PATTERN_LEN_MAX {
        return Err(refuse(format!("it is longer than {PATTERN_LEN_MAX} bytes")));
    }
    RegexBuilder::new(text).size_limit(COMPILED_LEN_MAX).build().map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => refuse("it is too large when compiled".to_owned()),
        other => refuse(last_line(&other.to_string())),
    })
}

/// The engine draws the place of the error over several lines; the last one has the reason.
fn last_line(message: &str) -> String {
    let line = message.lines().last().unwrap_or_default();
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Pattern) -> bool {
        self.text == other.text
    }
}

impl Eq for Pattern {}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.text, f)
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_match(pattern: &str, name: &str, expected: bool) {
        assert_eq!(Pattern::parse(pattern).unwrap().is_match(name), expected, "{pattern} on {name}");
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
    fn look_around_is_refused_by_name() {
        assert_eq!(
            Pattern::parse("^(?!amq\\.).*").unwrap_err().to_string(),
            "invalid regular expression '^(?!amq\\.).*': look-around, including look-ahead and look-behind, is not supported"
        );
    }

    #[test]
    fn broken_and_huge_patterns_are_refused() {
        assert_eq!(Pattern::parse("(").unwrap_err().to_string(), "invalid regular expression '(': unclosed group");
        assert!(Pattern::parse(&"a".repeat(4097)).unwrap_err().to_string().ends_with("longer than 4096 bytes"));
        assert!(Pattern::parse("(\\pL{1000}){1000}").unwrap_err().to_string().ends_with("too large when compiled"));
    }
}
