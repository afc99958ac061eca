//! What a queue promises: rule by rule, and against a naive model.

#![allow(clippy::unwrap_used, reason = "tests; clippy.toml covers only functions marked as such")]

mod consuming;
mod delays;
mod dropping;
mod fixture;
mod getting;
mod groups;
mod keys;
mod model;
mod paging;
mod restoring;
mod settling;
mod taking;
