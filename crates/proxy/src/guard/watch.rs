//! How often each limit was reached, and what is to be said about it.

use super::{Alarm, Limit, Refusal};
use crate::limits::ALARM_INTERVAL_MS;

/// All limits.
#[derive(Debug, Default)]
pub(super) struct Watches([Watch; Limit::ALL.len()]);

#[derive(Debug, Default)]
struct Watch {
    counts: Counts,
    /// When the last alarm was.
    told_ms: Option<u64>,
    untold_count: u64,
    /// The last alarm, until it is taken.
    alarm: Option<Alarm>,
}

/// How often a limit was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// In all.
    pub reached: u64,
    /// When a client was refused or kept waiting for it.
    pub refused: u64,
}

impl Watches {
    /// A limit was reached. The words are made only where they are needed.
    pub(super) fn reach(&mut self, is_alarm_only: bool, now_ms: u64, limit: Limit, refusal: impl Fn() -> Refusal) {
        let watch = &mut self.0[limit as usize];
        watch.counts.reached += 1;
        watch.counts.refused += u64::from(!is_alarm_only);
        if watch.told_ms.is_some_and(|told_ms| now_ms < told_ms.saturating_add(ALARM_INTERVAL_MS)) {
            watch.untold_count += 1;
            return;
        }
        watch.told_ms = Some(now_ms);
        // One that was not taken is untold, too.
        let lost_count = watch.alarm.take().map_or(0, |alarm| alarm.untold_count + 1);
        let untold_count = std::mem::take(&mut watch.untold_count) + lost_count;
        watch.alarm = Some(Alarm { refusal: refusal(), is_alarm_only, at_ms: now_ms, untold_count });
    }

    pub(super) fn counts(&self, limit: Limit) -> Counts {
        self.0[limit as usize].counts
    }

    pub(super) fn take_alarms(&mut self) -> Vec<Alarm> {
        self.0.iter_mut().filter_map(|watch| watch.alarm.take()).collect()
    }
}
