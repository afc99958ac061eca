//! A regular expression as operators write them for permissions and policies: unanchored, compiled once.
//!
//! Most patterns are matched in time linear in the name. Those with look-around or back-references, which RabbitMQ's engine has, are
//! matched by an engine that tries, with a bound on its work for a name and one for all names that a pattern is asked about. At the bound a
//! name does not match: what a permission does not decide is refused, and a policy that does not decide is not for that name.

mod engine;
mod work;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

pub use engine::{Engine, Options, UndecidedMatch};
pub use work::WorkAccount;

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
    Engine(Arc<CompiledPattern>),
}

/// A compiled pattern, what it has taken, and whether it could not be decided for a name.
struct CompiledPattern {
    engine: Engine,
    account: WorkAccount,
    is_undecided: AtomicBool,
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
            _ => {
                let (account, is_undecided) = (WorkAccount::default(), AtomicBool::new(false));
                Matcher::Engine(Arc::new(CompiledPattern { engine: compile(text)?, account, is_undecided }))
            }
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

    /// Whether the pattern matches anywhere in the name. A name for which that takes too much work does not match; it is logged once for a
    /// pattern, since clients choose the names.
    #[must_use]
    pub fn is_match(&self, name: &str) -> bool {
        match &self.matcher {
            Matcher::All => true,
            Matcher::EmptyOnly => name.is_empty(),
            Matcher::Engine(tried) => tried.engine.decide(name, &tried.account).unwrap_or_else(|undecided| {
                if !tried.is_undecided.swap(true, Ordering::Relaxed) {
                    tracing::warn!(pattern = %self.text, %name, reason = %undecided, "a pattern was taken not to match");
                }
                false
            }),
        }
    }

    /// Whether there was a name that took too much work, and so was taken not to match.
    #[must_use]
    pub fn is_undecided(&self) -> bool {
        match &self.matcher {
            Matcher::All | Matcher::EmptyOnly => false,
            Matcher::Engine(tried) => tried.is_undecided.load(Ordering::Relaxed),
        }
    }

    /// The text as given.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

fn compile(text: &str) -> Result<Engine, PatternError> {
    let refuse = |reason: String| PatternError { text: Box::from(text), reason };
    if text.len() > PATTERN_LEN_MAX {
        return Err(refuse(format!("it is longer than {PATTERN_LEN_MAX} bytes")));
    }
    let options = Options { is_case_insensitive: false, compiled_len_max: COMPILED_LEN_MAX };
    Engine::compile(text, options).map_err(refuse)
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
mod tests;
