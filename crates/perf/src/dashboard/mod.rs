//! A run's progress, on a dozen lines of a terminal that stay where they are.
//!
//! ```text
//!  history   what is remembered of the samples so far
//!  view      a picture of it, for whatever width there is
//!  line      one line of the picture
//!  terminal  where the picture is drawn
//! ```
//!
//! Nothing is taken from the terminal that would have to be given back: no other screen, no raw mode, and the cursor stays
//! visible, on an empty line below the picture. Whatever ends the program, a panic's message or the shell's prompt is
//! written there. Interrupts stay signals, which the command handles.

mod history;
mod line;
mod terminal;
mod view;

use std::time::Duration;

pub use terminal::{Dashboard, OpenError};

use crate::plan::Plan;
use crate::results::Percentiles;

/// Lines that the dashboard takes, the empty one for the cursor included.
pub const LINES: u16 = 12;

/// What is known about a run before it starts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outline {
    /// The run's name.
    pub name: String,
    /// How long it lasts; `None` is until it is done or interrupted.
    pub duration: Option<Duration>,
    /// Its phases, with how long each is.
    pub phases: Vec<(String, Duration)>,
    /// How many processors the generator may use, on all machines.
    pub processors: u32,
    /// Whether agents generate the load.
    pub has_agents: bool,
}

impl Outline {
    /// A plan's.
    #[must_use]
    pub fn of(plan: &Plan, processors: u32, has_agents: bool) -> Self {
        let phases = plan.phases.iter().map(|phase| (phase.name.clone(), phase.duration)).collect();
        Outline { name: plan.name.clone(), duration: plan.duration, phases, processors, has_agents }
    }
}

/// Latencies since the start, which cannot be computed from those of the intervals.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Overall {
    /// From when a message was due until a consumer had it.
    pub consumer: Option<Percentiles>,
    /// From when a message was due until it was confirmed.
    pub confirm: Option<Percentiles>,
}
