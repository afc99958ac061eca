//! What holds for the workspace and the binary as a whole.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod answers;
mod command_line;
mod control_socket;
mod ctl;
mod diagnose;
mod early_signals;
mod harness;
mod influxdb;
mod latency;
mod perf;
mod perf_agents;
mod perf_followed;
mod ping;
mod plan;
mod profile;
mod queue_info;
mod top;
mod trace;
