//! What is remembered, and how often is looked.

use std::sync::Arc;
use std::time::Duration;

pub use telemetry::Retention;

/// Which rates there are: RabbitMQ's `rates_mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Rates {
    /// None: counters count, and are looked at only when they are asked for.
    None,
    /// All.
    #[default]
    Basic,
    /// All: the ways between objects cost so little that they are always among them.
    Detailed,
}

impl Rates {
    /// RabbitMQ's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Rates::None => "none",
            Rates::Basic => "basic",
            Rates::Detailed => "detailed",
        }
    }
}

/// How long samples are kept: RabbitMQ's `sample_retention_policies`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retentions {
    /// Of the node and of vhosts.
    pub global: Arc<[Retention]>,
    /// Of objects that a caller looks at.
    pub basic: Arc<[Retention]>,
    /// Of the ways between objects: RabbitMQ's, which is reported. No history is kept of them.
    pub detailed: Arc<[Retention]>,
}

impl Default for Retentions {
    fn default() -> Self {
        let of = |policies: &[(u64, u64)]| {
            let retention = |(age_s, interval_s)| Retention { age_ms: age_s * 1000, interval_ms: interval_s * 1000 };
            policies.iter().copied().map(retention).collect()
        };
        Self {
            global: of(&[(605, 5), (3660, 60), (29_400, 600), (86_400, 1800)]),
            basic: of(&[(605, 5), (3600, 60)]),
            detailed: of(&[(605, 5)]),
        }
    }
}

/// Options of statistics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// How often is looked (`collect_statistics_interval`).
    pub interval: Duration,
    /// Which rates there are.
    pub rates: Rates,
    /// How long samples are kept.
    pub retentions: Retentions,
    /// Whether message sizes and waiting times are counted.
    pub has_histograms: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            interval: Duration::from_secs(5),
            rates: Rates::default(),
            retentions: Retentions::default(),
            has_histograms: true,
        }
    }
}

impl Options {
    /// Whether there are ticks.
    #[must_use]
    pub fn has_rates(&self) -> bool {
        self.rates != Rates::None
    }
}
