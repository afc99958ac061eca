//! Words to options, by the rules that PerfTest's parser (Apache Commons CLI's) has:
//!
//! ```text
//!  --size 1000   --size=1000   -s 1000   -s1000   -s=1000     the same
//!  -qp q-%d      -qp=q-%d                                     short names may have several letters
//!  --pmess 5     -size 5                                      a long name may be cut, if it is still clear, and have one dash
//!  -aK           -Kx3                                         several short flags, the last with its value
//!  -C -1                                                      a word with a dash is a value if no option begins like it
//!  --                                                         what follows is not looked at
//! ```

use std::ops::Range;

use super::table::{Group, OPTIONS, OptionEntry, Takes};

/// Why words are not a command.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WordError {
    /// No option has this name.
    #[error("unknown option '{word}'; the closest known option is '{closest}'")]
    Unknown {
        /// As it was given, without its value.
        word: String,
        /// What may have been meant.
        closest: String,
    },
    /// Several options begin like this.
    #[error("option '{word}' can be any of: {candidates}")]
    Ambiguous {
        /// As it was given, without its value.
        word: String,
        /// The options, separated by commas.
        candidates: String,
    },
    /// A value has to follow.
    #[error("option '{0}' needs a value")]
    ValueMissing(String),
    /// No value may follow.
    #[error("option '{0}' takes no value")]
    ValueUnexpected(String),
}

/// What the words say.
#[derive(Clone, Debug, Default)]
pub(super) struct Words {
    /// Options with their values, in order; a flag has none.
    pub(super) given: Vec<(&'static OptionEntry, Vec<String>)>,
    /// Which words each of them is made of.
    spans: Vec<Range<usize>>,
    /// Words that belong to no option.
    pub(super) stray: Vec<String>,
}

/// Takes a command line apart, without the program's name.
pub(super) fn split(words: &[String]) -> Result<Words, WordError> {
    let mut parser = Parser::default();
    for (at, word) in words.iter().enumerate() {
        parser.take(at, word)?;
    }
    parser.close()?;
    Ok(parser.out)
}

/// The words, as they are, but for those of some options and their values. What cannot be read stays, and hides nothing
/// of what comes after it.
#[must_use]
pub fn without_options(words: &[String], hidden: &[&str]) -> Vec<String> {
    let mut parser = Parser { is_lenient: true, ..Parser::default() };
    let is_workload = words.first().is_some_and(|word| word == "run");
    let mut is_override_value = false;
    for (at, word) in words.iter().enumerate() {
        if std::mem::take(&mut is_override_value) {
            continue;
        }
        match as_override(word).filter(|_| is_workload) {
            Some((_, value)) => is_override_value = value.is_none(),
            // An unknown word is not known to be secret.
            None => drop(parser.take(at, word)),
        }
    }
    let split = parser.out;
    let is_hidden = |at: usize| {
        let mut names = split.given.iter().zip(&split.spans).filter(|(_, span)| span.contains(&at)).peekable();
        names.peek().is_some() && names.all(|((entry, _), _)| hidden.contains(&entry.long))
    };
    words.iter().enumerate().filter(|(at, _)| !is_hidden(*at)).map(|(_, word)| word.clone()).collect()
}

/// A workload's own option, `--set` or `--scale`, and its value if that is part of the word; otherwise it is the next.
pub(crate) fn as_override(word: &str) -> Option<(&str, Option<&str>)> {
    let (name, value) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
    matches!(name, "--set" | "--scale").then_some((name, value))
}

#[derive(Default)]
struct Parser {
    out: Words,
    /// Whether the last option may still get values.
    open: bool,
    /// Whether words follow that are not looked at.
    is_over: bool,
    /// Whether an option may lack its value.
    is_lenient: bool,
    /// The word that is looked at.
    at: usize,
}

impl Parser {
    fn take(&mut self, at: usize, word: &str) -> Result<(), WordError> {
        self.at = at;
        if self.is_over {
            self.out.stray.push(word.to_owned());
            return Ok(());
        }
        if self.open && is_value(word) {
            self.push_value(unquoted(word));
            return Ok(());
        }
        self.close()?;
        match word.strip_prefix('-') {
            Some("-") => self.is_over = true,
            Some(rest) if rest.starts_with('-') => self.long(word, rest.trim_start_matches('-'))?,
            Some(rest) if !rest.is_empty() => self.short(word, rest)?,
            _ => self.out.stray.push(word.to_owned()),
        }
        Ok(())
    }

    fn push_value(&mut self, value: &str) {
        if let Some((entry, values)) = self.out.given.last_mut() {
            values.push(value.to_owned());
            self.open = entry.takes == Takes::Many;
        }
        if let Some(span) = self.out.spans.last_mut() {
            span.end = self.at + 1;
        }
    }

    fn start(&mut self, entry: &'static OptionEntry) -> Result<(), WordError> {
        self.close()?;
        self.out.given.push((entry, Vec::new()));
        self.out.spans.push(self.at..self.at + 1);
        self.open = entry.takes != Takes::Nothing;
        Ok(())
    }

    fn close(&mut self) -> Result<(), WordError> {
        self.open = false;
        match self.out.given.last() {
            _ if self.is_lenient => Ok(()),
            Some((entry, values)) if values.is_empty() && matches!(entry.takes, Takes::One | Takes::Many) => {
                Err(WordError::ValueMissing(entry.name()))
            }
            _ => Ok(()),
        }
    }

    fn start_with(&mut self, entry: &'static OptionEntry, value: &str) -> Result<(), WordError> {
        if entry.takes == Takes::Nothing {
            return Err(WordError::ValueUnexpected(entry.name()));
        }
        self.start(entry)?;
        self.push_value(value);
        self.open = false;
        Ok(())
    }

    fn long(&mut self, word: &str, name: &str) -> Result<(), WordError> {
        if let Some((name, value)) = name.split_once('=') {
            let entry = long_named(word, name)?;
            return self.start_with(entry, value);
        }
        let entry = long_named(word, name)?;
        self.start(entry)
    }

    fn short(&mut self, word: &str, name: &str) -> Result<(), WordError> {
        if let Some(entry) = short_named(name) {
            return self.start(entry);
        }
        if let Some((name, value)) = name.split_once('=') {
            let entry = short_named(name).map_or_else(|| long_named(word, name), Ok)?;
            return self.start_with(entry, value);
        }
        if has_long_prefix(name) {
            return self.start(long_named(word, name)?);
        }
        self.cluster(word, name)
    }

    /// `-aK`, `-s1000`, `-as1000`.
    fn cluster(&mut self, word: &str, letters: &str) -> Result<(), WordError> {
        for (at, letter) in letters.char_indices() {
            let end = at + letter.len_utf8();
            let entry = short_named(&letters[at..end]).ok_or_else(|| unknown(word))?;
            if entry.takes != Takes::Nothing && end < letters.len() {
                return self.start_with(entry, &letters[end..]);
            }
            self.start(entry)?;
        }
        Ok(())
    }
}

fn short_named(name: &str) -> Option<&'static OptionEntry> {
    OPTIONS.iter().find(|entry| !entry.short.is_empty() && entry.short == name)
}

/// Whether this is the beginning of one of PerfTest's names, or one of ours as a whole: ours are not to change what
/// PerfTest makes of a word with one dash.
fn has_long_prefix(prefix: &str) -> bool {
    let is_named =
        |entry: &OptionEntry| entry.long == prefix || entry.group != Group::Ours && entry.long.starts_with(prefix);
    !prefix.is_empty() && OPTIONS.iter().any(is_named)
}

fn long_named(word: &str, name: &str) -> Result<&'static OptionEntry, WordError> {
    if let Some(entry) = OPTIONS.iter().find(|entry| entry.long == name) {
        return Ok(entry);
    }
    let begins = |entry: &&OptionEntry| !name.is_empty() && entry.long.starts_with(name);
    let (ours, theirs): (Vec<&OptionEntry>, Vec<&OptionEntry>) =
        OPTIONS.iter().filter(begins).partition(|entry| entry.group == Group::Ours);
    match (&theirs[..], &ours[..]) {
        ([entry], _) | ([], [entry]) => Ok(entry),
        ([], []) => Err(unknown(word)),
        _ => {
            let names: Vec<String> = theirs.into_iter().chain(ours).map(|entry| entry.name()).collect();
            Err(WordError::Ambiguous { word: without_value(word).to_owned(), candidates: names.join(", ") })
        }
    }
}

fn unknown(word: &str) -> WordError {
    let word = without_value(word);
    let closest = closest(word.trim_start_matches('-'), word.starts_with("--"));
    WordError::Unknown { word: word.to_owned(), closest }
}

/// The option alone: the value may be a secret.
fn without_value(word: &str) -> &str {
    word.split_once('=').map_or(word, |(name, _)| name)
}

/// The option whose name takes the fewest changes. After one dash, short names count too.
fn closest(name: &str, long_only: bool) -> String {
    let shorts = OPTIONS.iter().map(|entry| entry.short).filter(|short| !long_only && !short.is_empty());
    match human::nearest(name, OPTIONS.iter().map(|entry| entry.long).chain(shorts)) {
        Some((closest, _)) if short_named(closest).is_some() => format!("-{closest}"),
        Some((closest, _)) => format!("--{closest}"),
        None => String::new(),
    }
}

/// Whether a word is the value of the option before it, rather than another option.
fn is_value(word: &str) -> bool {
    let Some(rest) = word.strip_prefix('-') else { return true };
    if rest.is_empty() {
        return true;
    }
    let name = rest.trim_start_matches('-');
    let name = name.split_once('=').map_or(name, |(name, _)| name);
    let first = name.chars().next().map(String::from).unwrap_or_default();
    rest != "-"
        && !has_long_prefix(name)
        && (rest.starts_with('-') || short_named(&first).is_none() && short_named(name).is_none())
}

/// Without the quotes around it: commands come out of files where no shell has taken them away.
fn unquoted(word: &str) -> &str {
    word.strip_prefix('"').and_then(|word| word.strip_suffix('"')).filter(|word| !word.contains('"')).unwrap_or(word)
}
