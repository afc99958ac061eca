//! What operators change: users, vhosts, permissions, policies, parameters. Each change is journalled before a client sees
//! it, told to whom it concerns, and emitted as an event. And backups, which change nothing, and limits of memory and disk, which last
//! until the process ends.
//!
//! Who may do it is for the caller to decide (the HTTP API by tags); what users may do inside a vhost is in
//! [`crate::vhost_access`].

mod backups;
mod checks;
mod connections;
mod delayed;
mod login_sessions;
mod parameters;
mod pause;
mod permissions;
mod policies;
mod resources;
mod users;
mod vhost_parameters;
mod vhosts;
mod watched;

use crate::random::RandomError;

pub use backups::{BackupError, BackupView};
pub use delayed::{Cancelled, DelayedFilter, DelayedMessage, DelayedPage};
pub use login_sessions::OpenedSession;
pub use parameters::check_parameter_name;
pub use policies::{PolicyApplication, PolicyRequest};
pub use users::{PasswordChange, UserRequest};
pub use vhosts::VhostRequest;

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
