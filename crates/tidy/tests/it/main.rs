//! The rules, held.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod crates;
mod documents;
mod profiles;
mod rules;
