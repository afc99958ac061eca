//! What attaches to a broker that runs, and looks into it: `warren trace`, `warren profile`, `warren top`.
//!
//! ```text
//!  target   which broker is asked, and as which user
//!  api      its HTTP API: JSON, and endless answers
//!  failure  why there is nothing to show
//!  trace    calls of the broker's functions, and messages, as they happen
//!  profile  where time is spent
//!  top      what keeps it busy
//! ```
//!
//! All requests are sent over the HTTP API, as an administrator. The broker bounds what a session costs; it ends when this program does.
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
