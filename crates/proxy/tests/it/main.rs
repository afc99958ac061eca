//! The switchboard between clients and brokers that are played here.

#![allow(clippy::unwrap_used, reason = "tests; clippy.toml covers only functions marked as such")]

mod alarms;
mod broker;
mod crossing;
mod dedicate;
mod ending;
mod fixture;
mod handshakes;
mod pacing;
mod service;
mod sharing;
mod spooling;
mod token_renewal;
mod wait_timeouts;
