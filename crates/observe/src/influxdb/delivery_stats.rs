//! What has become of the lines for one destination, for metrics.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use telemetry::{Counter, Gauge};

/// Where lines go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// To a file.
    File,
    /// To a server, by HTTP.
    Http,
}

impl Kind {
    /// How metrics and the log call it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::File => "file",
            Kind::Http => "http",
        }
    }
}

/// What has become of lines for one destination.
#[derive(Debug)]
pub(crate) struct DeliveryStats {
    pub(crate) kind: Kind,
    /// Lines that it has.
    pub(crate) written: Counter,
    /// Lines that are lost.
    pub(crate) dropped: Counter,
    /// Lines that wait.
    pub(crate) waiting: Gauge,
    /// When it last took something, in milliseconds since 1970; 0: never.
    last_success_ms: Gauge,
}

impl DeliveryStats {
    pub(super) fn of(kind: Kind) -> Self {
        let (written, dropped, waiting, last_success_ms) = Default::default();
        DeliveryStats { kind, written, dropped, waiting, last_success_ms }
    }

    /// It has so many lines more.
    pub(crate) fn write(&self, line_count: u64) {
        self.written.add(line_count);
        self.last_success_ms.set(i64::try_from(since_1970().as_millis()).unwrap_or(i64::MAX));
    }

    /// When it last took something, in seconds since 1970.
    pub(crate) fn last_success_s(&self) -> Option<f64> {
        Some(self.last_success_ms.get()).filter(|at_ms| *at_ms > 0).map(|at_ms| at_ms as f64 / 1e3)
    }
}

/// How long it is since 1970.
pub(super) fn since_1970() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
