//! Whether upstreams accept a login, into any vhost or into one.

use super::ids::{ClientId, UpstreamConnectionId};

/// What upstreams last said of a login, the upstream connection that asks one, and the clients that wait for the answer.
#[derive(Debug, Default)]
pub(super) struct LoginCheck {
    accepted_ms: Option<u64>,
    connection: Option<UpstreamConnectionId>,
    waiters: Vec<ClientId>,
    last_error: Option<String>,
}

impl LoginCheck {
    /// When an upstream accepted the login last.
    pub(super) fn accepted_ms(&self) -> Option<u64> {
        self.accepted_ms
    }

    /// An upstream has accepted the login. Gives the clients that waited for that.
    pub(super) fn accept(&mut self, accepted_ms: u64) -> Vec<ClientId> {
        self.accepted_ms = Some(accepted_ms);
        self.last_error = None;
        self.take_waiters()
    }

    /// An upstream no longer accepts the login.
    pub(super) fn revoke(&mut self) {
        self.accepted_ms = None;
    }

    /// The upstream connection that asks, or has asked for any vhost and waits for one.
    pub(super) fn connection(&self) -> Option<UpstreamConnectionId> {
        self.connection
    }

    pub(super) fn start(&mut self, connection: UpstreamConnectionId) {
        self.connection = Some(connection);
    }

    /// The upstream connection that asked has the answer, or does something else now.
    pub(super) fn end(&mut self) {
        self.connection = None;
    }

    /// An upstream connection is lost; if it is the one that asked, this is why.
    pub(super) fn fail(&mut self, connection: UpstreamConnectionId, why: &str) {
        if self.connection.take_if(|asking| *asking == connection).is_some() {
            self.set_last_error(why);
        }
    }

    pub(super) fn add_waiter(&mut self, client: ClientId) {
        self.waiters.push(client);
    }

    pub(super) fn has_waiters(&self) -> bool {
        !self.waiters.is_empty()
    }

    pub(super) fn waiter_count(&self) -> usize {
        self.waiters.len()
    }

    pub(super) fn take_waiters(&mut self) -> Vec<ClientId> {
        std::mem::take(&mut self.waiters)
    }

    /// Forgets clients that wait no more.
    pub(super) fn retain_waiters(&mut self, is_there: impl Fn(&ClientId) -> bool) {
        self.waiters.retain(is_there);
    }

    /// Why no upstream could be asked last, or what it refused.
    pub(super) fn last_error(&self) -> Option<&str> {
        self.last_error.as_deref()
    }

    pub(super) fn set_last_error(&mut self, why: &str) {
        self.last_error = Some(why.to_owned());
    }

    pub(super) fn clear_last_error(&mut self) {
        self.last_error = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::switchboard::slots::SlotId;

    fn client(number: u64) -> ClientId {
        ClientId::from_number(number)
    }

    #[test]
    fn acceptance_answers_those_that_wait_once() {
        let mut check = LoginCheck::default();
        check.add_waiter(client(1));
        check.add_waiter(client(2));
        check.set_last_error("refused");
        assert_eq!(check.accept(7), [client(1), client(2)]);
        assert_eq!((check.accepted_ms(), check.last_error()), (Some(7), None));
        assert!(check.accept(8).is_empty());
        check.revoke();
        assert_eq!(check.accepted_ms(), None);
    }

    #[test]
    fn only_the_loss_of_the_connection_that_asks_fails_the_check() {
        let (asking, other) = (UpstreamConnectionId::from_number(1), UpstreamConnectionId::from_number(2));
        let mut check = LoginCheck::default();
        check.fail(asking, "not asked yet");
        check.start(asking);
        check.fail(other, "another one");
        assert_eq!((check.connection(), check.last_error()), (Some(asking), None));
        check.fail(asking, "lost");
        assert_eq!((check.connection(), check.last_error()), (None, Some("lost")));
        check.clear_last_error();
        check.start(other);
        check.end();
        check.fail(other, "it has the answer");
        assert_eq!((check.connection(), check.last_error()), (None, None));
    }

    #[test]
    fn clients_that_are_gone_wait_no_more() {
        let mut check = LoginCheck::default();
        (1..=3).for_each(|number| check.add_waiter(client(number)));
        check.retain_waiters(|waiting| *waiting != client(2));
        assert_eq!(check.waiter_count(), 2);
        assert_eq!(check.take_waiters(), [client(1), client(3)]);
        assert!(!check.has_waiters());
    }
}
