//! Which columns there are, and in what unit latency is.

use crate::plan::Plan;

/// Which columns there are: those of things that can happen in the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Columns {
    /// There are producers.
    pub published: bool,
    /// There are consumers.
    pub consumed: bool,
    /// Messages are mandatory.
    pub returned: bool,
    /// There are confirms.
    pub confirmed: bool,
}

impl Columns {
    /// Those of a plan.
    #[must_use]
    pub(crate) fn of(plan: &Plan) -> Self {
        let publishers = plan.publishers.iter();
        Columns {
            published: !plan.publishers.is_empty(),
            consumed: !plan.consumers.is_empty(),
            returned: publishers.clone().any(|publishers| publishers.mandatory),
            confirmed: publishers.clone().any(|publishers| publishers.confirm_window.is_some()),
        }
    }
}

/// In what unit latency is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Microseconds.
    #[default]
    Micros,
    /// Milliseconds (`--use-millis`).
    Millis,
}

impl Unit {
    /// As it is written.
    #[must_use]
    pub(crate) fn name(self) -> &'static str {
        match self {
            Unit::Micros => "µs",
            Unit::Millis => "ms",
        }
    }

    /// Whole units in so many nanoseconds, rounded down as PerfTest does.
    pub(super) fn of(self, nanos: u64) -> u64 {
        match self {
            Unit::Micros => nanos / 1_000,
            Unit::Millis => nanos / 1_000_000,
        }
    }
}
