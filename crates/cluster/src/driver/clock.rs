//! The engine's clock.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::{DriverShared, TICK};

/// Time between ticks while the leader is known to be gone: an election is held after 100 to 200 ms then.
const HASTENED_TICK: Duration = Duration::from_millis(2);

pub(super) fn run(shared: &Arc<DriverShared>) {
    let mut due = Instant::now();
    loop {
        let is_hastened = shared.is_leader_gone.load(Ordering::Relaxed)
            && shared.member.status().leader.is_none_or(|leader| {
                // As long as it is believed to lead, it is the one that is gone.
                leader != shared.member.identity().member
            });
        due += if is_hastened { HASTENED_TICK } else { TICK };
        let now = Instant::now();
        // A process that stood still does not catch up: that time has not passed for it.
        due = due.max(now);
        if shared.sleep(due - now) {
            return;
        }
        shared.member.tick();
    }
}
