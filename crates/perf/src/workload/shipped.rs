//! Workloads that come with the program.

use std::io;

use super::{Error, Overrides, Workload, read};

/// A workload that comes with the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shipped {
    /// Its name.
    pub name: &'static str,
    /// The file, to be copied and changed.
    pub text: &'static str,
}

/// All of them, by name.
#[must_use]
pub fn shipped() -> &'static [Shipped] {
    &[]
}

/// A workload that cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Neither a file nor shipped.
    #[error("there is no file {name} and no shipped workload of that name{hint}")]
    Unknown {
        /// As it was given.
        name: String,
        /// What there is instead.
        hint: String,
    },
    /// The file cannot be read.
    #[error("{name} cannot be read: {error}")]
    Unreadable {
        /// The file.
        name: String,
        /// Why.
        error: io::Error,
    },
    /// What it says cannot be run.
    #[error(transparent)]
    Invalid(#[from] Error),
}

/// Opens a file, or, if there is no such file, the shipped workload of that name, with or without `.toml`.
pub fn open(name: &str, overrides: &Overrides) -> Result<Workload, OpenError> {
    match std::fs::read_to_string(name) {
        Ok(text) => return Ok(read(&text, name, overrides)?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        // A folder may be called as a workload is.
        Err(error) if error.kind() == io::ErrorKind::IsADirectory => {}
        Err(error) => return Err(OpenError::Unreadable { name: name.to_owned(), error }),
    }
    match find(name) {
        Some(shipped) => Ok(read(shipped.text, &format!("{}.toml", shipped.name), overrides)?),
        None => Err(OpenError::Unknown {
            name: name.to_owned(),
            hint: super::error::suggestion(
                name.strip_suffix(".toml").unwrap_or(name),
                shipped().iter().map(|shipped| shipped.name),
            ),
        }),
    }
}

/// The shipped workload of a name, with or without `.toml`.
#[must_use]
pub fn find(name: &str) -> Option<&'static Shipped> {
    let name = name.strip_suffix(".toml").unwrap_or(name);
    shipped().iter().find(|shipped| shipped.name == name)
}
