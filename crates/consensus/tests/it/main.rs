//! What consensus promises: rule by rule, its wire format, and whole groups under a simulation.

#![allow(clippy::unwrap_used, reason = "tests; clippy.toml covers only functions marked as such")]

mod rules;
mod simulation;
mod wire;
