//! Words to options with their values, and bare words.

use std::fmt;
use std::ops::Range;

use crate::commons;
use crate::opt::{Opt, Takes};

/// How names are written, and where values end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Names are written as they are; an option's value may be any word.
    Gnu,
    /// As Apache Commons CLI has it, which reads PerfTest's words: names may be cut, and what looks like an option is no value.
    CommonsCli,
}

/// What a word is, or several.
#[derive(Debug)]
pub enum Word<'o, 'w, M> {
    /// An option with its values.
    Option(Said<'o, 'w, M>),
    /// A word that belongs to no option, and its place.
    Bare(&'w str, usize),
}

/// An option that was said.
#[derive(Debug)]
pub struct Said<'o, 'w, M> {
    /// Which.
    pub option: &'o Opt<M>,
    /// Its values: one of an option that takes one, none of a flag.
    pub values: Vec<&'w str>,
    /// The words that it is made of.
    pub words: Range<usize>,
}

impl<'w, M> Said<'_, 'w, M> {
    /// Its value; empty if it takes none.
    #[must_use]
    pub fn value(&self) -> &'w str {
        self.values.first().copied().unwrap_or_default()
    }
}

/// Why words make no sense. As text it is the beginning of a sentence, which the program ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mistake {
    /// No option has this name.
    Unknown {
        /// The option alone: its value may be a secret.
        word: String,
        /// What may have been meant.
        closest: Option<String>,
    },
    /// Several options begin like this.
    Ambiguous {
        /// The option alone.
        word: String,
        /// They, separated by commas.
        candidates: String,
    },
    /// A value has to follow.
    ValueMissing {
        /// The option's long name.
        option: String,
        /// The word that it was said in.
        word: String,
        /// What its value is called.
        value: &'static str,
    },
    /// No value may follow.
    ValueUnexpected {
        /// The option's long name.
        option: String,
        /// The word that it was said in.
        word: String,
    },
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Mistake::Unknown { word, .. } => write!(f, "unknown option '{word}'"),
            Mistake::Ambiguous { word, candidates } => write!(f, "option '{word}' can be any of: {candidates}"),
            Mistake::ValueMissing { option, .. } => write!(f, "option '{option}' needs a value"),
            Mistake::ValueUnexpected { option, .. } => write!(f, "option '{option}' takes no value"),
        }
    }
}

impl std::error::Error for Mistake {}

/// All options, and all bare words, in their order.
pub fn read<'o, 'w, M>(
    options: &'o [Opt<M>],
    style: Style,
    words: &'w [String],
) -> Result<(Vec<Said<'o, 'w, M>>, Vec<&'w str>), Mistake> {
    let (mut said, mut bare) = (Vec::new(), Vec::new());
    for word in Reader::new(options, style, words) {
        match word? {
            Word::Option(option) => said.push(option),
            Word::Bare(word, _) => bare.push(word),
        }
    }
    Ok((said, bare))
}

/// Reads words one after the other. Where several options have a name, the first counts. After a mistake it goes on behind it.
pub struct Reader<'o, 'w, M> {
    options: &'o [Opt<M>],
    style: Style,
    words: &'w [String],
    /// The next word.
    at: usize,
    /// Short options of the word before that, still to be read.
    letters: &'w str,
    /// Whether all further words are bare.
    are_options_over: bool,
}

/// What an option comes to: nothing if it was denied.
type Read<'o, 'w, M> = Result<Option<Word<'o, 'w, M>>, Mistake>;

impl<'o, 'w, M> Iterator for Reader<'o, 'w, M> {
    type Item = Result<Word<'o, 'w, M>, Mistake>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let read = if self.letters.is_empty() { self.word(self.words.get(self.at)?) } else { self.letter() };
            if let Some(item) = read.transpose() {
                return Some(item);
            }
        }
    }
}

impl<'o, 'w, M> Reader<'o, 'w, M> {
    /// Reads all of these words.
    #[must_use]
    pub fn new(options: &'o [Opt<M>], style: Style, words: &'w [String]) -> Self {
        Reader { options, style, words, at: 0, letters: "", are_options_over: false }
    }

    fn word(&mut self, word: &'w str) -> Read<'o, 'w, M> {
        self.at += 1;
        if self.are_options_over || !is_option(word) {
            return Ok(Some(Word::Bare(word, self.at - 1)));
        }
        match word.strip_prefix("--") {
            Some("") => {
                self.are_options_over = true;
                Ok(None)
            }
            Some(rest) => self.said_by_long_name(word, rest.trim_start_matches('-')),
            None => self.after_one_dash(word, &word[1..]),
        }
    }

    fn said_by_long_name(&mut self, word: &'w str, rest: &'w str) -> Read<'o, 'w, M> {
        let (name, value) = rest.split_once('=').map_or((rest, None), |(name, value)| (name, Some(value)));
        let dashed = name.replace('_', "-");
        let exact = self.options.iter().find(|option| option.is_long(&dashed));
        let found = match self.style {
            Style::CommonsCli if exact.is_none() => commons::long_named(self.options, word, name)?,
            _ => exact,
        };
        let option = found.ok_or_else(|| self.unknown(without_value(word), word))?;
        self.said(option, word, value)
    }

    fn after_one_dash(&mut self, word: &'w str, rest: &'w str) -> Read<'o, 'w, M> {
        if let Some(option) = self.short(rest) {
            return self.said(option, word, None);
        }
        if let Some((name, value)) = rest.split_once('=')
            && let Some(option) = self.short(name)
        {
            return self.said(option, word, Some(value));
        }
        if self.style == Style::CommonsCli && (rest.contains('=') || commons::begins_long_name(self.options, rest)) {
            return self.said_by_long_name(word, rest);
        }
        self.letters = rest;
        self.letter()
    }

    /// The next of several short options in one word; the rest of it may be a value.
    fn letter(&mut self) -> Read<'o, 'w, M> {
        let word = &self.words[self.at - 1];
        let letters = std::mem::take(&mut self.letters);
        let (letter, rest) = letters.split_at(letters.chars().next().map_or(0, char::len_utf8));
        let Some(option) = self.short(letter) else {
            return Err(match self.style {
                // What follows an unknown letter may be anything.
                Style::Gnu => self.unknown(&format!("-{letter}"), word),
                Style::CommonsCli => self.unknown(without_value(word), word),
            });
        };
        let value =
            rest.strip_prefix('=').or_else(|| option.takes_value().then_some(rest).filter(|rest| !rest.is_empty()));
        if value.is_none() {
            self.letters = rest;
        }
        self.said(option, word, value)
    }

    fn said(&mut self, option: &'o Opt<M>, word: &'w str, attached: Option<&'w str>) -> Read<'o, 'w, M> {
        let start = self.at - 1;
        let values = match (option.takes, attached) {
            (Takes::Nothing, None | Some("true")) => Vec::new(),
            (Takes::Nothing, Some("false")) => return Ok(None),
            (Takes::Truth, None) => vec!["true"],
            (Takes::Truth, Some(value @ ("true" | "false"))) => vec![value],
            (Takes::Nothing | Takes::Truth, Some(_)) => {
                return Err(Mistake::ValueUnexpected { option: option.name(), word: word.to_owned() });
            }
            (_, Some(value)) => vec![value],
            (_, None) => self.values_of(option, word)?,
        };
        Ok(Some(Word::Option(Said { option, values, words: start..self.at })))
    }

    /// The values of an option in the words behind it.
    fn values_of(&mut self, option: &Opt<M>, word: &str) -> Result<Vec<&'w str>, Mistake> {
        let mut values = Vec::new();
        while let Some(next) = self.words.get(self.at).filter(|next| self.is_value(option, next)) {
            values.push(if self.style == Style::CommonsCli { commons::unquoted(next) } else { next });
            self.at += 1;
            if option.takes != Takes::Many {
                break;
            }
        }
        if values.is_empty() && option.takes != Takes::Perhaps {
            let (option, value) = (option.name(), option.value);
            return Err(Mistake::ValueMissing { option, word: word.to_owned(), value });
        }
        Ok(values)
    }

    fn is_value(&self, option: &Opt<M>, word: &str) -> bool {
        match self.style {
            Style::Gnu => option.takes == Takes::One || !is_option(word),
            Style::CommonsCli => commons::is_value(self.options, word),
        }
    }

    fn short(&self, name: &str) -> Option<&'o Opt<M>> {
        self.options.iter().find(|option| option.is_short(name))
    }

    /// The option that is shown is unknown; what may have been meant is the closest to the word without its value.
    fn unknown(&self, shown: &str, word: &str) -> Mistake {
        let longs = self.options.iter().map(Opt::name);
        let shorts = self.options.iter().map(|option| format!("-{}", option.short));
        let word = without_value(word);
        let closest = match self.style {
            Style::Gnu => human::closest(word, longs),
            Style::CommonsCli => {
                let shorts = shorts.filter(|short| short.len() > 1 && !word.starts_with("--"));
                human::nearest(word, longs.chain(shorts)).map(|(name, _)| name)
            }
        };
        Mistake::Unknown { word: shown.to_owned(), closest }
    }
}

/// Whether a word is an option, as far as that can be seen. A dash alone is none: it may be a file.
#[must_use]
pub fn is_option(word: &str) -> bool {
    word.starts_with('-') && word != "-"
}

/// An option alone: its value may be a secret.
pub(crate) fn without_value(word: &str) -> &str {
    word.split_once('=').map_or(word, |(name, _)| name)
}
