//! The text of a configuration file: lines of `key = value`, as Cuttlefish reads them. Nothing here knows any key.
//!
//! ```text
//! # a comment
//! heartbeat = 60              # another one; a bare value ends at `#` or at the end of the line, and cannot be empty
//! default_pass = 'a#b c'      # between single quotes everything stands for itself, line ends too
//! loopback_users.john\.doe = true     # `\.` is a dot inside a segment of the key
//! banner = '''
//! any text up to the next three quotes, without the white space around it
//! '''
//! ```
//!
//! `include` is refused: files come from `conf.d`, which the caller reads.

use std::fmt;

/// A key, split at its dots.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyPath(Vec<String>);

impl KeyPath {
    /// Reads a whole text as a key, as `--set` needs it.
    #[must_use]
    pub fn parse(text: &str) -> Option<KeyPath> {
        let (key, rest) = take_key(text.trim())?;
        rest.is_empty().then_some(key)
    }

    /// The key of these words.
    #[must_use]
    pub fn of(segments: &[&str]) -> KeyPath {
        KeyPath(segments.iter().map(|segment| (*segment).to_owned()).collect())
    }

    /// Its words.
    #[must_use]
    pub fn segments(&self) -> &[String] {
        &self.0
    }
}

impl fmt::Display for KeyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, segment) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str(".")?;
            }
            f.write_str(&segment.replace('.', "\\."))?;
        }
        Ok(())
    }
}

/// One line's meaning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Setting {
    pub(super) key: KeyPath,
    pub(super) value: String,
    pub(super) line: usize,
}

/// A line that is not a setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SyntaxError {
    pub(super) line: usize,
    pub(super) reason: &'static str,
}

/// All settings of a text in order, or the first line that cannot be read.
pub(super) fn parse(text: &str) -> Result<Vec<Setting>, SyntaxError> {
    let mut lines = Lines { rest: text.strip_prefix('\u{feff}').unwrap_or(text), line: 1 };
    let mut settings = Vec::new();
    loop {
        lines.skip_blank();
        if lines.rest.is_empty() {
            return Ok(settings);
        }
        let line = lines.line;
        let (key, value) = lines.setting().map_err(|reason| SyntaxError { line, reason })?;
        settings.push(Setting { key, value, line });
    }
}

const NOT_A_SETTING: &str = "expected 'key = value'";
/// How a classic `rabbitmq.config` begins, or a comment of one.
const ERLANG_STARTS: [char; 3] = ['[', '{', '%'];
const ERLANG: &str = "expected 'key = value'; Erlang terms (rabbitmq.config, advanced.config) are not read, write the keys of \
    rabbitmq.conf";

struct Lines<'a> {
    rest: &'a str,
    line: usize,
}

impl<'a> Lines<'a> {
    /// Skips white space, comments and line ends.
    fn skip_blank(&mut self) {
        loop {
            self.rest = self.rest.trim_start_matches([' ', '\t', '\r']);
            if self.rest.starts_with('#') {
                self.rest = &self.rest[self.line_end()..];
            } else if self.rest.starts_with('\n') {
                self.advance(1);
            } else {
                return;
            }
        }
    }

    fn setting(&mut self) -> Result<(KeyPath, String), &'static str> {
        if self.rest.starts_with(ERLANG_STARTS) {
            return Err(ERLANG);
        }
        let (key, rest) = take_key(self.rest).ok_or(NOT_A_SETTING)?;
        let Some(rest) = skip_spaces(rest).strip_prefix('=') else {
            return Err(if key.0 == ["include"] {
                "include is not supported, move the file to conf.d"
            } else {
                NOT_A_SETTING
            });
        };
        self.rest = skip_spaces(rest);
        let value = self.value()?;
        Ok((key, value))
    }

    fn value(&mut self) -> Result<String, &'static str> {
        for quote in ["'''", "'"] {
            if let Some(rest) = self.rest.strip_prefix(quote) {
                self.rest = rest;
                return self.quoted(quote);
            }
        }
        let line = &self.rest[..self.line_end()];
        let value = line.split('#').next().unwrap_or_default().trim();
        self.rest = &self.rest[line.len()..];
        if value.is_empty() { Err("the value is missing, write '' for an empty one") } else { Ok(value.to_owned()) }
    }

    /// The text up to the closing quote; after it only a comment may follow on the line.
    fn quoted(&mut self, quote: &str) -> Result<String, &'static str> {
        let end = self.rest.find(quote).ok_or("the quote is not closed")?;
        let inner = &self.rest[..end];
        self.advance(end + quote.len());
        let after = skip_spaces(&self.rest[..self.line_end()]).trim_end_matches('\r');
        if !after.is_empty() && !after.starts_with('#') {
            return Err("unexpected text after the closing quote");
        }
        Ok(if quote.len() == 1 { inner.to_owned() } else { inner.trim().to_owned() })
    }

    fn line_end(&self) -> usize {
        self.rest.find('\n').unwrap_or(self.rest.len())
    }

    fn advance(&mut self, len: usize) {
        let (passed, rest) = self.rest.split_at(len);
        self.line += passed.matches('\n').count();
        self.rest = rest;
    }
}

fn skip_spaces(text: &str) -> &str {
    text.trim_start_matches([' ', '\t'])
}

/// Segments of letters, digits, `_`, `-` and escaped dots, with a dot between two.
fn take_key(text: &str) -> Option<(KeyPath, &str)> {
    let mut segments = vec![String::new()];
    let mut rest = text;
    loop {
        let segment = segments.last_mut()?;
        if let Some(after) = rest.strip_prefix("\\.") {
            segment.push('.');
            rest = after;
        } else if let Some(after) = rest.strip_prefix('.') {
            if segment.is_empty() {
                return None;
            }
            segments.push(String::new());
            rest = after;
        } else if let Some(c) = rest.chars().next().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-')) {
            segment.push(c);
            rest = &rest[1..];
        } else {
            return (!segment.is_empty()).then_some((KeyPath(segments), rest));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check_settings(text: &str, expected: &[(&str, &str, usize)]) {
        let parsed = parse(text).unwrap();
        let seen: Vec<_> = parsed.iter().map(|s| (s.key.to_string(), s.value.as_str(), s.line)).collect();
        let expected: Vec<_> = expected.iter().map(|(k, v, l)| ((*k).to_owned(), *v, *l)).collect();
        assert_eq!(seen, expected);
    }

    #[track_caller]
    fn check_error(text: &str, line: usize, reason: &'static str) {
        assert_eq!(parse(text), Err(SyntaxError { line, reason }));
    }

    #[test]
    fn a_setting_is_a_key_an_equals_sign_and_a_value() {
        check_settings("heartbeat = 60", &[("heartbeat", "60", 1)]);
        check_settings("\t a.b_c-1=x y \t\r\nd = e", &[("a.b_c-1", "x y", 1), ("d", "e", 2)]);
    }

    #[test]
    fn comments_and_blank_lines_mean_nothing() {
        check_settings("# x = 1\n\n \t \n  # more\na = 1 # end\nb = 2#end", &[("a", "1", 5), ("b", "2", 6)]);
        check_settings("", &[]);
    }

    #[test]
    fn quotes_keep_everything() {
        check_settings("a = 'x # \"y\" ' # c\nb = ''", &[("a", "x # \"y\" ", 1), ("b", "", 2)]);
        check_settings("a = 'one\ntwo'\nb = 1", &[("a", "one\ntwo", 1), ("b", "1", 3)]);
    }

    #[test]
    fn triple_quotes_hold_single_ones() {
        check_settings("a = '''\n  it's\n  here\n'''\r\nb = 1", &[("a", "it's\n  here", 1), ("b", "1", 5)]);
    }

    #[test]
    fn double_quotes_belong_to_the_value() {
        check_settings("a = \"x\"", &[("a", "\"x\"", 1)]);
    }

    #[test]
    fn an_escaped_dot_stays_in_its_segment() {
        let parsed = parse("loopback_users.john\\.doe = true").unwrap();
        assert_eq!(parsed[0].key.segments(), ["loopback_users", "john.doe"]);
        assert_eq!(parsed[0].key.to_string(), "loopback_users.john\\.doe");
    }

    #[test]
    fn a_byte_order_mark_is_skipped() {
        check_settings("\u{feff}a = 1", &[("a", "1", 1)]);
    }

    #[test]
    fn what_is_not_a_setting_is_refused_with_its_line() {
        check_error("a = 1\nrubbish", 2, "expected 'key = value'");
        check_error("a..b = 1", 1, "expected 'key = value'");
        check_error("a. = 1", 1, "expected 'key = value'");
        check_error("= 1", 1, "expected 'key = value'");
        check_error("a =\nb = 1", 1, "the value is missing, write '' for an empty one");
        check_error("a = # nothing", 1, "the value is missing, write '' for an empty one");
        check_error("a = 'x", 1, "the quote is not closed");
        check_error("\na = 'x' y", 2, "unexpected text after the closing quote");
        check_error("include conf.d/*.conf", 1, "include is not supported, move the file to conf.d");
    }

    #[test]
    fn a_classic_configuration_is_recognized() {
        check_error("[{rabbit, []}].", 1, ERLANG);
        check_error("\n%% -*- mode: erlang -*-\n[\n", 2, ERLANG);
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "\\PC*|[a-c.\\\\'#= \\r\\n\\t]*") {
            let _ = parse(&text);
        }

        #[test]
        fn what_is_written_is_read_back(
            lines in proptest::collection::vec(("[a-z][a-z0-9_-]{0,8}(\\\\?\\.[a-z0-9_-]{1,8}){0,3}", "[^']{0,12}"), 0..8)
        ) {
            let text: String = lines.iter().map(|(key, value)| format!("{key} = '{value}' # c\n")).collect();
            let seen: Vec<_> = parse(&text).unwrap().into_iter().map(|s| (s.key.to_string(), s.value)).collect();
            prop_assert_eq!(seen, lines);
        }
    }
}
