//! A publisher that publishes faster than messages leave, though these are late already, is slowed down. Else the processor would only take
//! messages in, and those that are due would wait ever longer.

/// Messages that leave before older ones count half.
const WINDOW: u32 = 16 * 1024;

/// How many come in and leave, as long as those that leave are late.
#[derive(Debug, Default)]
pub(super) struct Flow {
    arrived: u32,
    released: u32,
    is_behind: bool,
}

impl Flow {
    #[inline]
    pub(super) fn note_arrived(&mut self) {
        self.arrived = self.arrived.saturating_add(u32::from(self.is_behind));
    }

    /// So many have left; `is_behind` if the next ones should have by now, too.
    pub(super) fn note_released(&mut self, count: usize, is_behind: bool) {
        if !(is_behind && self.is_behind) {
            *self = Flow { is_behind, ..Flow::default() };
            return;
        }
        self.released = self.released.saturating_add(count as u32);
        if self.released >= WINDOW {
            (self.arrived, self.released) = (self.arrived / 2, self.released / 2);
        }
    }

    /// Whether so many come in that those that are late would get later: three for four that leave is not too many.
    pub(super) fn needs_backpressure(&self) -> bool {
        self.is_behind && u64::from(self.arrived) * 4 > u64::from(self.released) * 3
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_is_behind_needs_backpressure() {
        let mut flow = Flow::default();
        (0..10).for_each(|_| flow.note_arrived());
        assert!(!flow.needs_backpressure());
        flow.note_released(0, true);
        assert!(!flow.needs_backpressure(), "what came before does not count");
        flow.note_arrived();
        assert!(flow.needs_backpressure());
        flow.note_released(2, true);
        assert!(!flow.needs_backpressure());
        flow.note_arrived();
        assert!(flow.needs_backpressure());
        flow.note_released(1, false);
        assert!(!flow.needs_backpressure());
    }

    #[test]
    fn what_has_been_counts_less_and_less() {
        let mut flow = Flow::default();
        flow.note_released(0, true);
        flow.note_released(WINDOW as usize - 1, true);
        (0..WINDOW).for_each(|_| flow.note_arrived());
        assert!(flow.needs_backpressure());
        (0..3).for_each(|_| flow.note_released(WINDOW as usize, true));
        assert!(!flow.needs_backpressure());
    }
}
