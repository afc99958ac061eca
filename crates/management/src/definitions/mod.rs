//! A broker's definitions: what operators and clients have declared, exported as one document and imported from one. What a document says,
//! the crate `definitions` reads.
//!
//! A document is of the whole broker, or of one vhost and then names no vhost. Importing one makes what is missing and
//! changes what RabbitMQ changes; it deletes nothing unless it is asked to ([`prune`]). A document is read and checked
//! as a whole before anything is changed ([`check`]); the one wait for durability is the caller's, at the end.

mod binding;
mod check;
mod diff;
mod export;
mod hidden;
mod import;
mod prune;
mod requests;

pub use check::check;
pub(crate) use diff::diff;
pub(crate) use export::Export;
pub use export::export;
pub use import::{ImportResult, import};
pub use prune::PruneResult;
pub(crate) use prune::prune;
