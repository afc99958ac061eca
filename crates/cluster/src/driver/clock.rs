//! The engine's clock.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::shared::DriverShared;

/// Time between two ticks of the engine.
pub const TICK: Duration = Duration::from_millis(20);

/// Time between ticks while the leader is known to have ended: an election is held after 100 to 200 ms then.
const HASTENED_TICK: Duration = Duration::from_millis(2);

pub(super) fn run(shared: &Arc<DriverShared>) {
    let mut due = Instant::now();
    loop {
        due += if shared.is_hastened() { HASTENED_TICK } else { TICK };
        let now = Instant::now();
        // A process that stood still does not catch up: that time has not passed for it.
        due = due.max(now);
        if shared.sleep(due - now) {
            return;
        }
        shared.member.tick();
    }
}

impl DriverShared {
    /// Whether there is reason to hold an election soon: the leader's process has ended, or there is no other voter to wait for.
    fn is_hastened(&self) -> bool {
        let own = self.member.identity().member;
        let status = self.member.status();
        let has_leader_ended = self.has_leader_ended.load(Ordering::Relaxed);
        // As long as another one is believed to lead, it is the one that has ended.
        (has_leader_ended && status.leader != Some(own)) || (status.leader.is_none() && status.members.voters == [own])
    }
}
