//! Why an operator's change was not made.

use crate::random::RandomError;

/// Why a change was not made, by what the caller answers. The texts are RabbitMQ's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ControlError {
    /// There is no such thing.
    #[error("{0}")]
    NotFound(String),
    /// The request makes no sense.
    #[error("{0}")]
    Invalid(String),
    /// It is protected.
    #[error("{0}")]
    Protected(String),
    /// The broker cannot do it now.
    #[error(transparent)]
    Random(#[from] RandomError),
}

pub(crate) fn not_found<T>(text: impl Into<String>) -> Result<T, ControlError> {
    Err(ControlError::NotFound(text.into()))
}

pub(crate) fn invalid<T>(text: impl Into<String>) -> Result<T, ControlError> {
    Err(ControlError::Invalid(text.into()))
}
