//! What commands in the foreground share: how one begins and ends, and how it prints.
//!
//! ```text
//!  foreground     a command's runtime, Ctrl-C, and complaints
//!  stop_signals   SIGINT and SIGTERM
//!  table          cells in columns
//! ```
//!
//! Figures with units are in `figures`, and texts of others as a terminal may have them in `human`: the state machines that write
//! them may not know a runtime.

mod foreground;
mod stop_signals;
pub mod table;

pub use foreground::{Interrupt, complain, run};
pub use stop_signals::{StopSignal, StopSignals};
