//! What there is to say about a configuration: warnings, and the reasons not to start.

use std::fmt;

/// Something accepted that does not do what its author may expect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning(pub Remark);

/// Why a program cannot start with this configuration: all of it, not only the first reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError(pub(super) Vec<Remark>);

/// Something about one assignment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// Which.
    pub origin: Origin,
    /// What there is to say.
    pub text: String,
}

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// It has not been set.
    Default,
    /// A line of a file.
    File {
        /// The file's name.
        name: String,
        /// From 1.
        line: usize,
    },
    /// This environment variable.
    Environment(&'static str),
    /// `--set`.
    Set,
    /// Another option of the command line, by its long name.
    Option(&'static str),
    /// Its arguments.
    Arguments,
}

impl ConfigError {
    /// The same with other names for where things are set: for callers that have translated them.
    #[must_use]
    pub fn relabelled(self, relabel: impl Fn(Origin) -> Origin) -> ConfigError {
        let remarks = self.0.into_iter().map(|remark| Remark { origin: relabel(remark.origin), ..remark });
        ConfigError(remarks.collect())
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Default => f.write_str("the defaults"),
            Origin::File { name, line } => write!(f, "{name}:{line}"),
            Origin::Environment(variable) => f.write_str(variable),
            Origin::Set => f.write_str("--set"),
            Origin::Option(name) => write!(f, "--{name}"),
            Origin::Arguments => f.write_str("the command line"),
        }
    }
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.origin, self.text)
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, remark) in self.0.iter().enumerate() {
            let separator = if index > 0 { "\n" } else { "" };
            write!(f, "{separator}{remark}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigError {}
