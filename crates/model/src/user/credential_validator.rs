//! Which passwords may be set.

use thiserror::Error;

use crate::pattern::Pattern;

/// Looks at passwords before they are set. Hashes cannot be looked at.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum CredentialValidator {
    /// Every password will do.
    #[default]
    AcceptEverything,
    /// Those with at least so many bytes.
    MinLength(usize),
    /// Those that match.
    Pattern(Pattern),
}

/// A password that may not be set. The texts are RabbitMQ's.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CredentialError {
    /// The caller chooses a longer one.
    #[error("minimum required password length is set to {0}")]
    TooShort(usize),
    /// The caller chooses another one.
    #[error("provided password does not match the validator regular expression")]
    NoMatch,
}

impl CredentialValidator {
    /// Whether a password may be set.
    pub fn check(&self, password: &str) -> Result<(), CredentialError> {
        match self {
            CredentialValidator::MinLength(min) if password.len() < *min => Err(CredentialError::TooShort(*min)),
            CredentialValidator::Pattern(pattern) if !pattern.is_match(password) => Err(CredentialError::NoMatch),
            _ => Ok(()),
        }
    }
}
