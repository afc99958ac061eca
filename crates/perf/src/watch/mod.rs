//! Watching processes and brokers while load is on them.

mod management;
mod process;

pub use management::{Management, ManagementError};
pub use process::{ProcessError, Processes, machine, processors};
