//! Documents of definitions: what operators and clients have declared, as JSON in RabbitMQ's format, of a whole broker or of one vhost.
//!
//! ```text
//!  bytes ─► parse ─► Definitions: all of a document, typed     for an import
//!    │        ▲
//!    │        └─ user, vhost, policy, …: one entry             for an import, a check, and requests of the HTTP API
//!    └────► document: entry by entry, never held as a whole    for a check
//!
//!  export        entries from what a broker has, in the order of RabbitMQ's exports
//!  difference    what a document and a broker differ in
//!  comparison    what one document has and another one lacks
//!  transfer      a broker's export, completed to what another broker can import
//! ```
//!
//! What an entry says is read in one place: an import, a check before it and a request of the HTTP API take and refuse the same.
//!
//! Deliberately absent: brokers, files and sockets. Whether an entry fits to what a broker has, the caller says.

pub mod comparison;
mod difference;
mod document;
mod entry;
mod error;
pub mod export;
mod fields;
mod findings;
mod lists;
mod names;
mod parameter;
mod parse;
mod permission;
mod policy;
mod read_error;
mod remark;
mod scope;
mod topology;
mod transfer;
mod user;
mod vhost;

pub use difference::{Bounded, ChangedEntry, Difference};
pub use document::{DEFINITIONS, Document, Entries, Outline, Survey, Surveyor, lists_of};
pub use entry::{Definitions, EntryLocation, ParsedEntry};
pub use error::DefinitionsError;
pub use fields::{Fields, integer_of, wrong_type};
pub use findings::{Fault, FaultKind, Findings};
pub use lists::{LISTS, is_known};
pub use names::Names;
pub use parameter::{Parameter, parameter};
pub use parse::parse;
pub use permission::{permission, permissions, topic_permission};
pub use policy::{PolicyRequest, policy};
pub use read_error::ReadError;
pub use remark::Remark;
pub use scope::{Scope, Unsupported};
pub use topology::{BindingEntry, EndEntry, ExchangeEntry, QueueEntry, binding, exchange, queue};
pub use transfer::{EXCHANGES, Transfer, exported, is_internal};
pub use user::{PasswordChange, UserRequest};
pub use vhost::{VhostEntry, VhostRequest};
