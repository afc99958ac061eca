//! What is looked at after a run.
//!
//! ```text
//!  verdict   whether what was expected came true
//!  html      one page that answers: is it fast enough, and what took the time
//!  compare   several results beside each other: terminal, Markdown, the same page
//! ```
//!
//! [`Results`](crate::results::Results) go in and text comes out; nothing here measures.

pub mod compare;
pub mod html;
mod thin;
pub mod verdict;
