//! Why alerts or statistics cannot be set up as the configuration says.

use std::fmt;

/// The configuration has a value, a rule or a webhook that is not valid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetupError(pub(crate) String);

impl fmt::Display for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SetupError {}
