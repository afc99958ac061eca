//! The load generator: `warren perf`.
//!
//! ```text
//!  perftest   PerfTest's command line            ─┐
//!  workload   workload files (TOML), those that   ├─► plan ─► engine ─► results ─► report, output
//!             ship with it, sweeps                ─┘
//!  plan       what a run does, resolved: what is published to where, when; what is consumed how
//!  engine     runs a plan: topology, publishers, consumers, clocks, recorders
//!  agents     other machines that do parts of a run
//!  watch      the broker's and the generator's own CPU, memory, disk and network
//!  results    the outcome: samples, summary, histograms; the JSON that is kept
//!  histogram  latencies, counted
//!  output     what is shown while it runs: console lines, CSV, Prometheus, InfluxDB
//!  dashboard  the same for a terminal, in place
//!  command    the commands: all of it together
//!  report     what is looked at afterwards: verdicts, HTML, comparison
//! ```
//!
//! Works against any AMQP 0-9-1 broker, and knows nothing of Warren's.

mod agents;
pub mod command;
pub mod dashboard;
mod engine;
pub mod histogram;
mod output;
pub mod perftest;
pub mod plan;
pub mod report;
pub mod results;
mod watch;
mod workload;
