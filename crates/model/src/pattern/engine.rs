//! Two engines behind one face: a linear one for every pattern that it can match, and a backtracking one, with bounds on its work, for
//! those that look around or refer back.
//!
//! Work is counted by how often the backtracking engine reads the name ([`super::work`]): steps alone say little, because it hands parts of
//! a pattern to the linear engine, which may read all of the name at each of them.
//!
//! The backtracking engine is Oniguruma's kin, and RabbitMQ's is PCRE: what they read differently is refused rather than matched otherwise.

use std::panic::{AssertUnwindSafe, catch_unwind};

use regex::{Regex, RegexBuilder};

use super::work::{MeasuredName, WorkAccount};

/// How often the backtracking engine may try another way for one name. The longest names have 255 bytes, and what is sensible needs a
/// few steps a byte; a pattern that wants more than this does not end for some names.
const BACKTRACK_MAX: usize = 20_000;
/// The longest pattern for the backtracking engine, in bytes. It compiles each part that it hands to the linear one separately.
const BACKTRACKING_LEN_MAX: usize = 1024;
/// The most memory for each such part, compiled, and for what it remembers while it matches.
const PART_LEN_MAX: usize = 512 * 1024;
/// The most instructions of such a pattern.
const PROGRAM_LEN_MAX: usize = 16 * 1024;

/// A compiled pattern.
#[derive(Debug, Clone)]
pub enum Engine {
    /// Takes time linear in the name.
    Linear(Regex),
    /// Tries, and gives up at a bound.
    Backtracking(Box<fancy_regex::Regex>),
}

/// What is asked of a pattern besides its text.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Whether upper and lower case are the same.
    pub is_case_insensitive: bool,
    /// The most memory that it may take when compiled.
    pub compiled_len_max: usize,
}

/// The bound was reached before it was known whether a name matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("undecided after as much work as a name may take")]
pub struct UndecidedMatch;

impl Engine {
    /// Compiles a pattern for the engine that it needs. The error is the reason why there is none.
    pub fn compile(text: &str, options: Options) -> Result<Engine, String> {
        let linear = RegexBuilder::new(text)
            .size_limit(options.compiled_len_max)
            .case_insensitive(options.is_case_insensitive)
            .build();
        match linear {
            Ok(regex) => Ok(Engine::Linear(regex)),
            Err(regex::Error::CompiledTooBig(_)) => Err("it is too large when compiled".to_owned()),
            Err(error) => match backtracking(text, options) {
                Ok(regex) => Ok(Engine::Backtracking(Box::new(regex))),
                Err(Refusal::Here(reason)) => Err(reason),
                // It is no pattern of either kind; the linear engine says more clearly why.
                Err(Refusal::Syntax(reason)) => Err(clearest(&error.to_string(), reason)),
            },
        }
    }

    /// Whether the pattern matches anywhere in the name. What that takes beyond what a linear engine would take is on the account.
    pub fn decide(&self, name: &str, account: &WorkAccount) -> Result<bool, UndecidedMatch> {
        match self {
            Engine::Linear(regex) => Ok(regex.is_match(name)),
            Engine::Backtracking(regex) => {
                let measured = MeasuredName::new(name, account);
                // The engine has no other way out at a bound than its own count of steps: a name that was read too often unwinds it.
                let decided = catch_unwind(AssertUnwindSafe(|| regex.is_match(&measured)));
                account.charge(&measured);
                decided.ok().and_then(Result::ok).ok_or(UndecidedMatch)
            }
        }
    }
}

/// Why the backtracking engine does not take a pattern.
enum Refusal {
    /// We do not let it.
    Here(String),
    /// It cannot.
    Syntax(String),
}

fn backtracking(text: &str, options: Options) -> Result<fancy_regex::Regex, Refusal> {
    if text.len() > BACKTRACKING_LEN_MAX {
        return Err(Refusal::Here(format!(
            "a pattern with look-around or back-references must not be longer than {BACKTRACKING_LEN_MAX} bytes"
        )));
    }
    if let Some(syntax) = foreign_syntax(text) {
        return Err(Refusal::Here(format!("'{syntax}' is not supported")));
    }
    let mut builder = fancy_regex::RegexBuilder::new(text);
    builder
        .case_insensitive(options.is_case_insensitive)
        .backtrack_limit(BACKTRACK_MAX)
        .delegate_size_limit(PART_LEN_MAX)
        .delegate_dfa_size_limit(PART_LEN_MAX)
        .max_prog_size(PROGRAM_LEN_MAX);
    builder.build().map_err(|error| match error {
        fancy_regex::Error::CompileError(inner) => match *inner {
            fancy_regex::CompileError::InnerError(inner) if inner.size_limit().is_some() => {
                Refusal::Here("it is too large when compiled".to_owned())
            }
            fancy_regex::CompileError::PatternTooComplex => Refusal::Here("it is too large when compiled".to_owned()),
            other => Refusal::Syntax(lower_first(&other.to_string())),
        },
        fancy_regex::Error::ParseError(_, error) => Refusal::Syntax(lower_first(&error.to_string())),
        other => Refusal::Syntax(lower_first(&other.to_string())),
    })
}

/// The first piece of syntax that the backtracking engine is not trusted with: what it reads otherwise than PCRE does (`\h` is
/// horizontal space there and a hexadecimal digit here, `\g1` a reference there and a call here), and conditions, calls and the
/// like, which nothing needs that matches names.
fn foreign_syntax(text: &str) -> Option<&str> {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match (byte, bytes.get(at + 1)) {
            (b'\\', Some(b'h' | b'H' | b'O' | b'g' | b'G' | b'K' | b'R' | b'X' | b'N')) => return text.get(at..at + 2),
            (b'\\', _) => at += 2,
            (b'(', Some(b'*')) => return text.get(at..at + 2),
            (b'(', Some(b'?')) => match bytes.get(at + 2) {
                Some(b'(' | b'~' | b'&' | b'R' | b'+' | b'0'..=b'9') => return text.get(at..at + 3),
                Some(b'-') if bytes.get(at + 3).is_some_and(u8::is_ascii_digit) => return text.get(at..at + 4),
                Some(b'P') if bytes.get(at + 3) == Some(&b'>') => return text.get(at..at + 4),
                _ => at += 2,
            },
            _ => at += 1,
        }
    }
    None
}

/// Of two engines' reasons the one that is about the pattern, not about what one of them lacks.
fn clearest(linear: &str, backtracking: String) -> String {
    // It draws the place of the error over several lines; the last one has the reason.
    let line = linear.lines().last().unwrap_or_default();
    let reason = line.strip_prefix("error: ").unwrap_or(line);
    let is_about_engine = ["look-around", "backreferences"].iter().any(|word| reason.starts_with(word));
    if is_about_engine { backtracking } else { reason.to_owned() }
}

fn lower_first(text: &str) -> String {
    let mut characters = text.chars();
    let first = characters.next().map(|first| first.to_lowercase().to_string()).unwrap_or_default();
    first + characters.as_str()
}
