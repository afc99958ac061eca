//! What operators change: users, vhosts, permissions, policies, parameters. Each change is journalled before a client sees it, passed on to
//! the parts that it concerns, and emitted as an event. And backups, which change nothing, and limits of memory and disk, which last until
//! the process ends.
//!
//! Who may do it is for the caller to decide (the HTTP API by tags); what users may do inside a vhost is in
//! [`crate::vhost_access`].

mod backups;
mod checks;
mod connections;
mod delayed;
mod error;
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

pub use backups::{BackupError, BackupView};
pub use definitions::{PasswordChange, PolicyRequest, UserRequest, VhostRequest};
pub use delayed::{Cancelled, DelayedFilter, DelayedMessage, DelayedPage};
pub use error::ControlError;
pub(crate) use error::{invalid, not_found};
pub use login_sessions::OpenedSession;
pub use parameters::check_parameter_name;
pub use policies::PolicyApplication;
