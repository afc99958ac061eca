//! The codec from outside: against itself, against other codecs, against recordings, against garbage.

#![allow(clippy::unwrap_used, reason = "a test may, and so may what it calls")]

#[path = "../../fuzz/checks.rs"]
mod checks;
mod fuzz;
#[path = "../../examples/generate/generator/mod.rs"]
mod generator;
mod golden;
mod handshake;
mod malformed;
mod methods;
mod other_codecs;
mod properties;
mod random;
mod tables;
