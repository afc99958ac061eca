//! The switchboard between clients and brokers that are played here.

#![allow(clippy::unwrap_used, reason = "tests; clippy.toml covers only functions marked as such")]

mod alarms;
mod broker;
mod crossing;
mod ending;
mod fixture;
mod handshakes;
mod keeping;
mod moving;
mod pacing;
mod patience;
mod renewing;
mod service;
mod sharing;
