//! What a broker will need, with the arithmetic shown: `warren plan`.
//!
//! ```text
//!  setting       the table of all that can be said about a workload and its machines  ─┐
//!  value         such a thing as people write it                                       │
//!  workload      what was said, from which source, and whether it contradicts itself   │
//!  assumptions   figures that are no inputs, with where they come from                 │ no I/O: a workload in,
//!  quantity      numbers with a name and a unit                                        │ lines out
//!  formula       arithmetic that is worked out from what is shown                      │
//!  sheet         the lines                                                             │
//!  arithmetic    a workload → a sheet                                                  │
//!  limits        whether a machine has what a line needs                               │
//!  render        a sheet as text and as JSON                                          ─┘
//!  file          a workload from a small file
//!  perf_results  a workload from what `warren perf` has measured
//!  live          a workload from a broker that runs, over its HTTP API
//!  machine       what this machine has
//!  command       options; all of it together
//! ```
//!
//! Knows nothing of Warren's broker but the figures in `assumptions`. Deliberately absent: anything that is measured under load
//! (that is `warren perf`), and prices.

pub mod arithmetic;
mod assumptions;
pub mod command;
mod file;
pub mod formula;
pub mod limits;
mod live;
mod machine;
mod perf_results;
pub mod quantity;
pub mod render;
pub mod setting;
pub mod sheet;
mod value;
pub mod workload;
