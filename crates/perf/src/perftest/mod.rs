//! PerfTest's command line: a command from an operator's notes works when it is pasted.
//!
//! ```text
//!  words ───────┐
//!  environment ─┴─► parse ──► Options ──► plan ──► plan::Plan
//!         table ──► parse, usage, reference
//! ```
//!
//! What PerfTest does was found out by running version 2.22.1 against RabbitMQ 4; the tests in `tests.rs` say what that
//! was. Nothing here reads files, the environment or a clock: they are passed in.
//!
//! Different on purpose: the command line counts before the environment; an unknown option, and a value that makes no
//! sense, end with [`EXIT_CODE_USAGE`], where PerfTest prints its options and ends with 0 for the former; publishing to
//! the default exchange needs no `--predeclared`.

mod companion;
mod json_body;
mod limits;
mod options;
mod parse;
mod pattern;
mod plan;
mod reference;
mod secrets;
mod table;
#[cfg(test)]
mod tests;
mod usage;
mod value;

pub use companion::{Companion, CompanionError, parse_companion};
pub use options::{
    Allocation, BodySource, ConnectionSettings, Consumers, Format, MetricsSettings, Oauth2Settings, Options,
    OutputSettings, Producers, QueueNames, TlsSettings, Topology,
};
pub use parse::{Command, ParseError, parse};
pub use plan::{FileError, ReadFile};
pub use reference::render_reference;
pub(crate) use secrets::{as_override, without_agent_token};
pub use secrets::{without_options, without_secret_urls, without_secrets};
pub use table::{Details, Group, OPTIONS, OptionEntry, Treatment};
pub use value::StreamOffset;

/// With which a process ends whose command makes no sense.
pub const EXIT_CODE_USAGE: u8 = 1;
