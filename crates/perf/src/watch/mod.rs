//! Watching processes and brokers while load is on them.

mod disks;
mod management;
mod process;

pub(crate) use management::Management;
pub(crate) use process::{Processes, machine, processors};
