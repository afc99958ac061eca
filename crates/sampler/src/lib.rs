//! What the processors of this process do, looked at so many times a second: the stacks of its threads, and what they work on.
//!
//! ```text
//!  kernel ── SIGPROF, to each thread after so much time of its own ──► signal ─► walk ─► ring    in the thread, in its own stack
//!                                                                                         │
//!  session (a thread of its own) ◄────────────────────────────────────────────────────────┘
//!    │  events or timers for threads as they come, an end to everything
//!    └─► viewer    addresses within files, for the command line to name
//! ```
//!
//! - Each thread has a clock that counts its own processor time: threads that wait are not disturbed, and those that work are seen as
//!   often as they work. It is a performance event where the process may have these, and else a timer, which the kernel looks at only
//!   at its own ticks. A sample stands for all that its thread has worked since the one before.
//! - A stack is walked by frame pointers, within the thread's own stack: whatever these are, no other memory is read.
//!   Code without them (parts of the C library, assembly) loses a caller, never more.
//! - The ring has a fixed size, is mapped while a session runs, and unmapped after it. What has no room in it is counted as dropped.
//! - There is one session at a time. It ends at its time, when it is stopped, or when its viewer has left.
//! - All of the handler is safe for a signal: it calls nothing, takes no lock and allocates nothing.
//!
//! Deliberately absent: symbols. Only Linux on 64-bit x86 and ARM is known; elsewhere a session cannot be started.

mod clock;
mod event;
mod modules;
mod ring;
mod session;
mod signal;
mod threads;
mod timer;
mod viewer;
mod walk;
mod work;

pub use modules::{Module, build_id};
pub use ring::{DEPTH_MAX, RING_LEN};
pub use session::{End, Options, Session, StartError, Summary};
pub use viewer::{Sample, Viewer, Wish};
pub use work::{Work, does, working_on};
