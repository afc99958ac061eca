//! Definitions: what operators and clients have declared, as one JSON document in RabbitMQ's format.
//!
//! A document is of the whole broker, or of one vhost and then names no vhost. Importing one makes what is missing and
//! changes what RabbitMQ changes; it deletes nothing unless it is asked to ([`prune`]). A document is read and checked
//! as a whole before anything is changed ([`check`]); the one wait for durability is the caller's, at the end.

mod binding;
mod check;
mod diff;
mod entry;
mod error;
mod export;
mod findings;
mod hidden;
mod import;
mod parse;
mod prune;
mod scope;

pub use check::check;
pub(crate) use diff::diff;
pub use entry::Definitions;
pub use error::DefinitionsError;
pub(crate) use export::Export;
pub use export::export;
pub use import::{ImportResult, import};
pub use parse::parse;
pub use prune::PruneResult;
pub(crate) use prune::prune;
pub use scope::{Scope, Unsupported};
