//! Erlang's terms, as `file:consult` reads them from `rabbitmq.config`, `advanced.config` and `enabled_plugins`: one term and a full stop.
//!
//! ```text
//!  term    = atom | 'quoted atom' | "string" … | <<binary>> | number | $c
//!          | { term, … } | [ term, … ] | [ term | term ] | #{ term => term, … }
//!  comment = % to the end of the line
//! ```
//!
//! Reading is total: what is no term is an error with its line. Depth and number of terms are bounded.

mod parser;

use std::fmt;

pub(crate) use parser::parse;

/// Terms within each other.
pub(crate) const DEPTH_MAX: usize = 64;
/// Terms altogether.
pub(crate) const COUNT_MAX: usize = 1_000_000;

/// A term, and the line on which it begins.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    pub(crate) line: usize,
    pub(crate) term: Term,
}

/// A term.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Term {
    Atom(String),
    /// A list of characters.
    Text(String),
    /// Bytes as text, with what is none replaced.
    Binary(String),
    /// As it was written.
    Number(String),
    Tuple(Vec<Node>),
    List(Vec<Node>),
    Map(Vec<(Node, Node)>),
}

/// Why a text is no term.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line} is not a valid Erlang term: {reason}")]
pub(crate) struct TermError {
    pub(crate) line: usize,
    pub(crate) reason: &'static str,
}

/// Whether a text has no term: white space and comments only.
pub(crate) fn is_blank(text: &str) -> bool {
    text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('%'))
}

impl Node {
    pub(crate) fn atom(&self) -> Option<&str> {
        match &self.term {
            Term::Atom(name) => Some(name),
            _ => None,
        }
    }

    pub(crate) fn list(&self) -> Option<&[Node]> {
        match &self.term {
            Term::List(items) => Some(items),
            // An empty text is an empty list.
            Term::Text(text) if text.is_empty() => Some(&[]),
            _ => None,
        }
    }

    pub(crate) fn tuple(&self) -> Option<&[Node]> {
        match &self.term {
            Term::Tuple(items) => Some(items),
            _ => None,
        }
    }

    /// `{name, value}`, or `name` for `{name, true}`, as lists of properties have them.
    pub(crate) fn property(&self) -> Option<(&str, Option<&Node>)> {
        match &self.term {
            Term::Atom(name) => Some((name, None)),
            Term::Tuple(items) => match items.as_slice() {
                [name, value] => Some((name.scalar()?, Some(value))),
                _ => None,
            },
            _ => None,
        }
    }

    /// Names and their values, in a list of properties or in a map, and not an empty one.
    pub(crate) fn members(&self) -> Option<Vec<(&str, Option<&Node>)>> {
        match &self.term {
            Term::Map(pairs) if !pairs.is_empty() => {
                pairs.iter().map(|(name, value)| Some((name.scalar()?, Some(value)))).collect()
            }
            Term::List(items) if !items.is_empty() => {
                items.iter().map(|item| item.tuple().and_then(|_| item.property())).collect()
            }
            _ => None,
        }
    }

    /// What is a word: an atom or a text.
    pub(crate) fn word(&self) -> Option<&str> {
        match &self.term {
            Term::Atom(text) | Term::Text(text) | Term::Binary(text) => Some(text),
            _ => None,
        }
    }

    /// What is one value and has no others in it, as text.
    pub(crate) fn scalar(&self) -> Option<&str> {
        match &self.term {
            Term::Atom(text) | Term::Text(text) | Term::Binary(text) | Term::Number(text) => Some(text),
            Term::Tuple(_) | Term::List(_) | Term::Map(_) => None,
        }
    }

    /// A list of names, and not an empty one.
    pub(crate) fn is_list_of_atoms(&self) -> bool {
        self.list().is_some_and(|items| !items.is_empty() && items.iter().all(|item| item.atom().is_some()))
    }
}

/// As people write them, shortened where it is long. Strings inside may be secrets: they are not shown.
impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.term {
            Term::Atom(name) => f.write_str(name),
            Term::Number(text) => f.write_str(text),
            Term::Text(_) => f.write_str("\"…\""),
            Term::Binary(_) => f.write_str("<<…>>"),
            Term::Tuple(items) => match items.first() {
                Some(first) => write!(f, "{{{first}, …}}"),
                None => f.write_str("{}"),
            },
            Term::List(items) => f.write_str(if items.is_empty() { "[]" } else { "[…]" }),
            Term::Map(_) => f.write_str("#{…}"),
        }
    }
}

#[cfg(test)]
mod tests;
