//! Profiles: how often which stack of functions was seen, or for how long, and the forms in which they are read.
//!
//! ```text
//!  frame, stacks ─┬─► folded      one stack a line: flamegraph.pl's form, read again by us
//!                 ├─► pprof       for `go tool pprof` and what else reads it
//!                 ├─► speedscope  for https://www.speedscope.app
//!                 ├─► functions   what each function took, alone and with what it called, and its callers
//!                 └─► tree ─────► svg   a flame graph in one file
//!  two of them ─────► diff ─────► svg   what grew, and what fell
//! ```
//!
//! The root of a stack comes first, everywhere. A frame says what it is: a function that worked, one that waited, or the thread and the
//! kind of work that the stack belongs to. Deliberately absent: files, clocks, addresses and symbols.

mod diff;
mod folded;
mod frame;
mod functions;
mod gzip;
mod pprof;
mod protobuf;
mod speedscope;
mod stacks;
pub mod svg;
mod tree;

pub use diff::{Change, Diff};
pub use folded::FoldedError;
pub use frame::{Frame, Kind};
pub use functions::{Function, Functions};
pub use stacks::{Cost, Profile, Unit};
pub use tree::{Node, Tree};
