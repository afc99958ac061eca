//! What attaches to a broker that runs, and looks into it: `warren trace`, `warren profile`, `warren top`.
//!
//! ```text
//!  target   which broker is asked, and by whom
//!  api      its HTTP API: JSON, and answers that go on
//!  failure  why there is nothing to show
//!  trace    calls of the broker's functions, and messages, as they happen
//!  profile  where time goes
//!  top      what keeps it busy
//! ```
//!
//! Everything goes over the HTTP API, as an administrator. What a session costs is bounded by the broker; it ends when this program does.
//! Knows nothing of the broker.

mod api;
pub mod diagnose;
mod failure;
pub mod profile;
mod run;
mod target;
pub mod top;
pub mod trace;

pub use run::{main, main_with};
