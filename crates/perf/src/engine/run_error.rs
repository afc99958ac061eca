//! Why there is no run.

use amqp_client::{CallError, OpenError};

use super::message::MessagesError;
use super::values::NameTooLong;

/// Why there was no run at all.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RunError {
    /// There is no connection to the broker.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The broker does not let something be declared.
    #[error("cannot declare the objects of the run: {0}")]
    Declare(CallError),
    /// Something cannot be sent as it is.
    #[error("{0}")]
    Unsendable(String),
    /// Publishers or consumers cannot start.
    #[error("{0}")]
    Failed(String),
    /// The system refuses threads or timers.
    #[error("cannot start threads: {0}")]
    Threads(#[from] std::io::Error),
    /// The user interrupted it before it began.
    #[error("interrupted before it began")]
    Interrupted,
}

impl From<NameTooLong> for RunError {
    fn from(error: NameTooLong) -> Self {
        RunError::Unsendable(error.to_string())
    }
}

impl From<MessagesError> for RunError {
    fn from(error: MessagesError) -> Self {
        RunError::Unsendable(error.to_string())
    }
}
