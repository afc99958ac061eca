//! Whether a destination takes what it is given. Each change is to be logged once: a receiver that is away for a day is one line,
//! not one an interval, and so is one that refuses some of each round.

/// How things stand with a destination.
#[derive(Debug, Default)]
pub(super) struct Health {
    is_failing: bool,
    /// Something has failed since the last round ended.
    has_failed: bool,
    /// Lines that were lost since it began to fail.
    lost: u64,
    is_loss_told: bool,
}

/// What is to be logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HealthChange {
    /// It fails from now on.
    Fails,
    /// So many lines were lost until it took a whole round again.
    Recovered(u64),
}

impl Health {
    /// An attempt has failed.
    pub(super) fn failed(&mut self) -> Option<HealthChange> {
        self.has_failed = true;
        (!std::mem::replace(&mut self.is_failing, true)).then_some(HealthChange::Fails)
    }

    /// Lines are lost. Whether this is the first time since it began to fail.
    pub(super) fn lose(&mut self, line_count: u64) -> bool {
        self.lost += line_count;
        line_count > 0 && !std::mem::replace(&mut self.is_loss_told, true)
    }

    /// A round has come to its end.
    pub(super) fn round_ended(&mut self) -> Option<HealthChange> {
        if std::mem::take(&mut self.has_failed) || !self.is_failing {
            return None;
        }
        let Health { lost, .. } = std::mem::take(self);
        Some(HealthChange::Recovered(lost))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_told_once() {
        let mut health = Health::default();
        assert_eq!(health.round_ended(), None);
        assert_eq!(health.failed(), Some(HealthChange::Fails));
        for _ in 0..3 {
            assert_eq!(health.failed(), None);
            assert_eq!(health.round_ended(), None);
        }
        assert_eq!(health.round_ended(), Some(HealthChange::Recovered(0)));
        assert_eq!(health.round_ended(), None);
        assert_eq!(health.failed(), Some(HealthChange::Fails), "it may begin anew");
    }

    #[test]
    fn who_refuses_some_of_each_round_has_not_recovered() {
        let mut health = Health::default();
        assert_eq!(health.failed(), Some(HealthChange::Fails));
        for _ in 0..5 {
            assert_eq!(health.round_ended(), None);
            assert_eq!(health.failed(), None);
        }
    }

    #[test]
    fn losses_are_told_once_and_counted_until_it_recovers() {
        let mut health = Health::default();
        health.failed();
        assert!(!health.lose(0));
        assert!(health.lose(3));
        assert!(!health.lose(4));
        health.round_ended();
        assert_eq!(health.round_ended(), Some(HealthChange::Recovered(7)));
        health.failed();
        assert!(health.lose(1));
    }
}
