//! What happens to messages, for people: live, and in files that survive a restart.
//!
//! ```text
//!                     filter: what is wanted
//!  broker::tap ─► sink ─► record ─► mailbox (bounded) ─┬─► live: an endless answer of the HTTP API
//!  (any thread)                                        └─► running: a thread a trace ─► format ─► files
//! ```
//!
//! Nothing that a disk or a reader does holds up a thread that reports: what does not fit into the mailbox is counted, and reported.
//! `Traces` knows those into files, and that there are no more than may be.

mod definition;
mod erlang;
mod files;
mod filter;
mod format;
mod live;
mod mailbox;
mod record;
mod running;
mod sink;
#[cfg(test)]
pub(crate) mod tests;
pub mod topic;

pub use definition::Definition;
pub use files::{Directory, Limits, TraceFile, is_name};
pub use filter::{Facts, Filter, MessageFacts, Verdict};
pub use format::{Format, event};
pub use live::{LiveLimits, LiveTrace};
pub use record::{Message, More, Record};
pub use running::{CreateError, TraceView, Traces};

/// Traces into files at a time. They are no viewers, and take no places of these: they run for weeks, so that eight of them would keep an
/// operator from looking on when something happens; and viewers that are there at a restart would keep a trace from going on.
pub const TRACE_COUNT_MAX: usize = 8;
