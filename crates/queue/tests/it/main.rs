//! What a queue promises: rule by rule, and against a naive model.

#![allow(clippy::unwrap_used, reason = "tests; clippy.toml covers only functions marked as such")]

mod consuming;
mod delays;
mod fixture;
mod getting;
mod granting;
mod groups;
mod keys;
mod limits_and_expiry;
mod model;
mod paging;
mod remove;
mod restoring;
mod settling;
