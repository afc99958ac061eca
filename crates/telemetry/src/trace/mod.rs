//! Calls of the functions that an operator would ask about, seen while they happen.
//!
//! ```text
//!  point          a function that can be watched: off, it costs a relaxed load and a branch
//!  pattern        which points a session watches, and `arguments` which of their calls
//!  active         whether anything watches
//!  limit          how many calls a session may see
//!  call           one call, from its entry to its return
//!  pending_answer a call whose own work is over, until it is answered
//!  task           which task makes a call, across threads and awaits
//!  follow         a task that is one call, across its awaits
//!  wait           what a task waits for: a lock and its holder, the disk, a socket, another task
//!  locks          locks that know their holder while a session runs
//!  session        the observers: at most eight, each bounded, each closed when dropped
//!  wall           what a session makes of the calls within those that match: a tree of times
//!  recorder       the last calls of all points, in a fixed ring
//! ```
//!
//! Why these are not callsites of the crate `tracing`: those are known only once they have been passed, where `warren trace list` has
//! to name all there are; and they report a span when it is closed, but not what it waited for meanwhile.
//!
//! Sessions are the process's, as the points are.

mod active;
mod arguments;
mod call;
mod clock;
mod follow;
mod limit;
pub mod locks;
mod pattern;
mod pending_answer;
mod point;
mod recorder;
mod session;
mod task;
mod wait;
mod wall;
mod wall_state;

pub use active::is_active;
pub use arguments::{Argument, Arguments, Condition, Value};
pub use call::Call;
pub use follow::{CallDescription, follow};
pub use limit::{Limit, Tripped};
pub use pattern::Pattern;
pub use pending_answer::{PENDING_ANSWER_COUNT_MAX, PendingAnswer};
pub use point::{Point, all as points, register};
pub use recorder::{Moment, RECORDER_LEN, RecordedRequest, RecordedWait, Recorder, Recording, SlowCall, recorder};
pub use session::{
    CallEvent, CallsOptions, CallsSession, End, OpenError, ReturnEvent, SESSION_COUNT_MAX, SESSION_LEN_MAX, TraceEvent,
    WallSession, session_count,
};
pub use task::{Task, TaskGuard};
pub use wait::{WaitKind, WaitReason, waiting};
pub use wall::{FrameKind, Node, Tree};

#[cfg(test)]
mod tests;
