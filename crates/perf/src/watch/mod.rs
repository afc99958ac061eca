//! Watching processes and brokers while load is on them.

mod process;

pub use process::{ProcessError, Processes, machine};
