//! Makes a workload smaller or larger than it is written.

/// A factor for counts and rates.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale(pub(super) f64);

impl Scale {
    /// At least one of what there is.
    pub(super) fn count(self, count: u64) -> u64 {
        if count == 0 { 0 } else { ((count as f64 * self.0).round() as u64).max(1) }
    }

    pub(super) fn small_count(self, count: u32) -> u32 {
        u32::try_from(self.count(u64::from(count))).unwrap_or(u32::MAX)
    }

    pub(super) fn rate(self, rate: f64) -> f64 {
        rate * self.0
    }

    pub(super) fn is_one(self) -> bool {
        self.0 == 1.0
    }
}
