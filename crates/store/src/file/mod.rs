//! The few file operations the store is built on, as a trait, so that tests can cut the power between any two of them.
//!
//! [`RealDisk`] calls the operating system and adds nothing. `SimDisk` (tests, feature `simulation`) is a disk in memory
//! that forgets what was not synced. Nothing else in the store touches `std::fs`.
//!
//! What callers may rely on is what POSIX and Linux promise, not more: data is durable after [`File::fdatasync`], a created,
//! renamed or removed name after [`Disk::sync_dir`], and after a failed `fdatasync` nothing is known about what was not
//! synced before, even if the next one succeeds.

mod operations;
mod real;
#[cfg(any(test, feature = "simulation"))]
mod simulated;

pub use operations::{Disk, File, Lock, read_exact_at, write_all_at};
pub(crate) use operations::{PAGE_LEN, is_out_of_reach, replace, write_all_vectored_at};
pub use real::RealDisk;
#[cfg(any(test, feature = "simulation"))]
pub use simulated::{Faults, SimDisk};
