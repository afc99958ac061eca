//! What is wrong with a workload, and where.

use std::fmt;

use super::document::SourcePlace;

/// A workload that cannot be run as it is written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{location}: {message}")]
pub(crate) struct Error {
    /// Where.
    pub location: Location,
    /// What was found, and what should be there.
    pub message: String,
}

/// Where an error is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Location {
    /// In a file.
    File {
        /// Its name, as it was given.
        name: String,
        /// Counted from 1.
        line: usize,
        /// In characters, counted from 1.
        column: usize,
    },
    /// In an override, as it was written: `--set rate=fast`.
    Override(String),
}

impl fmt::Display for Location {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Location::File { name, line, column } => write!(formatter, "{name}:{line}:{column}"),
            Location::Override(setting) => write!(formatter, "{setting}"),
        }
    }
}

/// An error whose place is still an offset.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) place: SourcePlace,
    pub(super) message: String,
}

impl Fault {
    pub(super) fn new(place: &SourcePlace, message: impl Into<String>) -> Self {
        Fault { place: place.clone(), message: message.into() }
    }

    /// With line and column, for the user.
    pub(super) fn into_error(self, file_name: &str, text: &str) -> Error {
        let location = match self.place {
            SourcePlace::Override(setting) => Location::Override(setting.to_string()),
            SourcePlace::Offset(offset) => {
                let before = text.get(..offset).unwrap_or(text);
                let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
                Location::File {
                    name: file_name.to_owned(),
                    line: before.matches('\n').count() + 1,
                    column: before[line_start..].chars().count() + 1,
                }
            }
        };
        Error { location, message: self.message }
    }
}

/// ", did you mean X?" where something is near, else what there is.
pub(super) fn suggestion<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let mut known: Vec<&str> = known.into_iter().collect();
    if let Some((candidate, distance)) = human::nearest(word, known.iter().copied())
        && distance <= 1.max(candidate.len().min(word.len()) / 3)
    {
        return format!("; did you mean \"{candidate}\"?");
    }
    const SHOWN_MAX: usize = 40;
    known.sort_unstable();
    known.dedup();
    match known.len() {
        0 => "; none is defined".to_owned(),
        1 => format!("; the only choice is \"{}\"", known[0]),
        2..=SHOWN_MAX => format!("; possible: {}", known.join(", ")),
        _ => format!("; possible: {}, …", known[..SHOWN_MAX].join(", ")),
    }
}
