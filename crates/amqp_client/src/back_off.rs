//! How long to wait before connecting again.

use std::time::Duration;

/// Doubling waits, up to a bound, each shortened at random so that many clients do not come back at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackOff {
    least: Duration,
    most: Duration,
    next: Duration,
}

impl BackOff {
    /// Waits from `least` to `most`.
    #[must_use]
    pub fn new(least: Duration, most: Duration) -> Self {
        BackOff { least, most: most.max(least), next: least }
    }

    /// The next wait. `chance` is between 0 and 1: of the time that is due, half is certain and half left to it.
    pub fn wait(&mut self, chance: f64) -> Duration {
        let due = self.next;
        self.next = (due * 2).min(self.most);
        due.mul_f64(0.5 + 0.5 * chance.clamp(0.0, 1.0))
    }

    /// The connection has come up: begin anew.
    pub fn reset(&mut self) {
        self.next = self.least;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_their_bound_and_begin_anew() {
        let mut back_off = BackOff::new(Duration::from_millis(100), Duration::from_millis(350));
        let waits: Vec<_> = (0..4).map(|_| back_off.wait(1.0).as_millis()).collect();
        assert_eq!(waits, [100, 200, 350, 350]);
        back_off.reset();
        assert_eq!(back_off.wait(0.0).as_millis(), 50);
    }
}
