//! Whether this node takes clients: by its own situation, and by what operators have ordered.

use super::Situation;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct ClientAccess {
    /// The situation that the host knows of; None: none since this node served, or became something else.
    situation: Option<Situation>,
    is_draining: bool,
    /// It serves no clients until it is ordered to, whatever it becomes meanwhile.
    is_app_stopped: bool,
}

impl ClientAccess {
    /// Returns whether the host does not know of this situation yet.
    pub(super) fn set_situation(&mut self, situation: &Situation) -> bool {
        let is_news = self.situation.as_ref() != Some(situation);
        if is_news {
            self.situation = Some(situation.clone());
        }
        is_news
    }

    /// The next situation is news, whatever it is.
    pub(super) fn forget_situation(&mut self) {
        self.situation = None;
    }

    pub(super) fn is_draining(&self) -> bool {
        self.is_draining
    }

    pub(super) fn is_app_stopped(&self) -> bool {
        self.is_app_stopped
    }

    /// It takes no clients until it is revived, or reset.
    pub(super) fn drain(&mut self) {
        self.is_draining = true;
    }

    /// It takes no clients until its application is started.
    pub(super) fn stop_app(&mut self) {
        (self.is_draining, self.is_app_stopped) = (true, true);
    }

    /// It takes clients.
    pub(super) fn accept(&mut self) {
        (self.is_draining, self.is_app_stopped) = (false, false);
    }

    /// The node has been reset. Returns whether it takes clients.
    pub(super) fn reset(&mut self) -> bool {
        self.is_draining = self.is_app_stopped;
        !self.is_app_stopped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stopped_application_outlives_a_reset_and_draining_does_not() {
        let mut clients = ClientAccess::default();
        clients.drain();
        assert!(clients.reset() && !clients.is_draining());
        clients.stop_app();
        assert!(!clients.reset() && clients.is_draining());
        clients.accept();
        assert!(clients.reset());
    }

    #[test]
    fn a_situation_is_reported_once_until_it_changes() {
        let mut clients = ClientAccess::default();
        assert!(clients.set_situation(&Situation::Waiting) && !clients.set_situation(&Situation::Waiting));
        assert!(clients.set_situation(&Situation::Elected));
        clients.forget_situation();
        assert!(clients.set_situation(&Situation::Elected));
    }
}
