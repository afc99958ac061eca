//! What there is to say of configuration keys, a row of a table each: pattern, type, default, what a key does today.
//!
//! A pattern's segments are words, `$name` (any one segment), `{a,b}` (one of these) or, at the end, `**` (anything
//! below).

use std::cmp::Reverse;

use super::syntax::KeyPath;
use super::value::Type;

/// What a key does today.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It does what its text says.
    Effective,
    /// Another name of an effective key.
    AliasOf(&'static str),
    /// What an effective key was called before: it is read with a warning that names the key.
    RenamedTo(&'static str),
    /// Accepted; there is nothing here that it could change. A warning says why.
    NoEffect,
    /// Accepted with a warning that says what is missed.
    NotBuilt,
    /// The program does not start, because it would be less safe than the file says.
    Refused,
}

/// A row of the table.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// The keys that it is about.
    pub pattern: &'static str,
    /// What their values are.
    pub kind: Type,
    /// None: unset.
    pub default: Option<&'static str>,
    /// For patterns with `$name`: what holds while no such key is set.
    pub family_default: &'static [(&'static str, &'static str)],
    /// What it does today.
    pub state: State,
    /// Values that describe what happens anyway, so that there is nothing to warn of or to refuse.
    pub harmless: &'static [&'static str],
    /// Whether a new value counts without a restart.
    pub is_reloadable: bool,
    /// What it does; for keys that are not honoured, why, or what is missed.
    pub text: &'static str,
}

/// A chapter of the reference.
#[derive(Debug)]
pub struct Section {
    /// What it is about.
    pub title: &'static str,
    /// Its keys.
    pub keys: &'static [Row],
}

/// All keys of a program, in the order of the reference.
#[derive(Debug)]
pub struct Table(pub &'static [Section]);

impl Table {
    /// All keys.
    pub fn keys(&self) -> impl Iterator<Item = &'static Row> {
        self.0.iter().flat_map(|section| section.keys)
    }

    /// The row of a key: a literal one before one with placeholders, a longer one before a shorter one.
    #[must_use]
    pub fn find(&self, path: &KeyPath) -> Option<&'static Row> {
        let rank = |key: &&Row| (key.pattern.matches(['$', '*']).count(), Reverse(key.pattern.len()));
        self.keys().filter(|key| key.matches(path.segments())).min_by_key(rank)
    }
}

const fn row(
    pattern: &'static str,
    kind: Type,
    default: Option<&'static str>,
    state: State,
    text: &'static str,
) -> Row {
    Row { pattern, kind, default, family_default: &[], state, harmless: &[], is_reloadable: false, text }
}

/// A key that does what it says. An empty default means unset.
#[must_use]
pub const fn effective(pattern: &'static str, kind: Type, default: &'static str, text: &'static str) -> Row {
    let default = if default.is_empty() { None } else { Some(default) };
    row(pattern, kind, default, State::Effective, text)
}

/// Another name of an effective key.
#[must_use]
pub(crate) const fn alias(pattern: &'static str, of: &'static str, kind: Type) -> Row {
    row(pattern, kind, None, State::AliasOf(of), "")
}

/// What an effective key was called before.
#[must_use]
pub const fn renamed(pattern: &'static str, to: &'static str) -> Row {
    row(pattern, Type::Text, None, State::RenamedTo(to), "")
}

/// A key that is accepted and changes nothing.
#[must_use]
pub const fn no_effect(pattern: &'static str, kind: Type, why: &'static str) -> Row {
    row(pattern, kind, None, State::NoEffect, why)
}

/// A key that should do something one day.
#[must_use]
pub(crate) const fn not_built(pattern: &'static str, kind: Type, missed: &'static str) -> Row {
    row(pattern, kind, None, State::NotBuilt, missed)
}

/// A key that stops the start.
#[must_use]
pub const fn refused(pattern: &'static str, kind: Type, why: &'static str) -> Row {
    row(pattern, kind, None, State::Refused, why)
}

impl Row {
    /// With what holds while no such key is set.
    #[must_use]
    pub const fn family(self, family_default: &'static [(&'static str, &'static str)]) -> Row {
        Row { family_default, ..self }
    }

    /// With values that describe what happens anyway.
    #[must_use]
    pub const fn unless(self, harmless: &'static [&'static str]) -> Row {
        Row { harmless, ..self }
    }

    /// With new values counting without a restart.
    #[must_use]
    pub const fn reloadable(self) -> Row {
        Row { is_reloadable: true, ..self }
    }

    /// Whether this row is about the key.
    #[must_use]
    pub fn matches(&self, segments: &[String]) -> bool {
        let mut given = segments.iter();
        for wanted in self.pattern.split('.') {
            if wanted == "**" {
                return given.len() > 0;
            }
            let Some(segment) = given.next() else { return false };
            if !segment_matches(wanted, segment) {
                return false;
            }
        }
        given.len() == 0
    }

    /// Every spelling of the pattern with its `{a,b}` written out.
    #[must_use]
    pub fn spellings(&self) -> Vec<String> {
        let Some((before, rest)) = self.pattern.split_once('{') else { return vec![self.pattern.to_owned()] };
        let Some((words, after)) = rest.split_once('}') else { return vec![self.pattern.to_owned()] };
        words.split(',').map(|word| format!("{before}{word}{after}")).collect()
    }
}

fn segment_matches(wanted: &str, segment: &str) -> bool {
    if wanted.starts_with('$') {
        return true;
    }
    match wanted.strip_prefix('{').and_then(|words| words.strip_suffix('}')) {
        Some(words) => words.split(',').any(|word| word == segment),
        None => wanted == segment,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_match_one_segment_and_stars_the_rest() {
        let matches = |pattern, key: &str| {
            effective(pattern, Type::Text, "", "").matches(KeyPath::parse(key).unwrap().segments())
        };
        assert!(matches("listeners.tcp.$name", "listeners.tcp.default"));
        assert!(!matches("listeners.tcp.$name", "listeners.tcp"));
        assert!(!matches("listeners.tcp.$name", "listeners.tcp.a.b"));
        assert!(matches("log.{queue,ra}.level", "log.ra.level"));
        assert!(!matches("log.{queue,ra}.level", "log.other.level"));
        assert!(matches("mqtt.**", "mqtt.a.b"));
        assert!(!matches("mqtt.**", "mqtt"));
    }
}
