//! When messages are due.

use std::time::Duration;

/// A rate, over one stretch of time, for one publisher.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rate {
    /// As fast as possible. A message is due when it can be sent.
    Unlimited,
    /// So many a second, evenly. 0 is a pause.
    Fixed(f64),
    /// From one rate to another, evenly.
    Ramp {
        /// Messages a second at the start.
        from: f64,
        /// Messages a second at the end.
        to: f64,
    },
    /// So many a second on average, at random times, each independent of the others.
    Poisson(f64),
}

/// A rate and how long it lasts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Segment {
    /// The rate.
    pub rate: Rate,
    /// How long it lasts; `None`: to the end.
    pub duration: Option<Duration>,
}

/// When messages are due: segments one after the other, since the start of the run.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    /// The segments.
    pub segments: Vec<Segment>,
    /// Whether it begins again after the last segment (PerfTest's `--variable-rate`). If not, nothing is due after it.
    pub repeat: bool,
}

impl Schedule {
    /// One rate for the whole run.
    #[must_use]
    pub fn constant(rate: Rate) -> Self {
        Schedule { segments: vec![Segment { rate, duration: None }], repeat: false }
    }
}
