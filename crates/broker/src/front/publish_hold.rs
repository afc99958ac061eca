//! Publishers that wait: while an alarm is on, or the store is behind.
//!
//! RabbitMQ's way: a connection is stopped when it begins to publish while an alarm is on, never before; the client is notified once
//! (`connection.blocked`, if it asked for that), and once more when all alarms are over. That publish is then the first thing to be looked
//! at: none passes meanwhile, but for one whose content was still coming when the alarm began. Consumers go on.

use super::{Front, Protocol};

impl<P: Protocol> Front<P> {
    /// A read begins: looks whether what is published in it has to wait, or is traced. Once, for all that it brings is handed on together.
    #[inline]
    pub(crate) fn look_at_publishing(&mut self) {
        let is_held = self.broker.alarms.is_on() || self.broker.engine.store.is_congested();
        self.flow.begin_read(is_held || telemetry::trace::is_active());
    }

    /// A publish is to begin: whether it has to wait, for the end of an alarm or for the store. Then nothing more is received, and the
    /// publish comes again.
    #[inline(always)]
    pub(crate) fn is_publish_held(&mut self) -> bool {
        self.flow.checks_publishes() && self.hold_publish()
    }

    /// Before it is taken, and not only after: very many publishers would each get in one more read, which on a full disk is too much.
    #[cold]
    pub(crate) fn hold_publish(&mut self) -> bool {
        if self.broker.alarms.is_on() {
            return self.block();
        }
        if self.is_running() {
            self.slow_down();
            self.flow.put_back_if_congested();
        }
        self.flow.is_put_back()
    }

    /// Stops receiving until all alarms are over, unless the connection ends. Says whether it is stopped.
    #[cold]
    fn block(&mut self) -> bool {
        if self.flow.is_blocked() || !self.is_running() {
            return self.flow.is_blocked();
        }
        self.flow.set_blocked(true);
        let reason = self.broker.alarms.reason();
        P::put_blocked(&mut self.out, &self.agreed, &reason);
        true
    }

    pub(super) fn alarms_changed(&mut self) {
        if !self.flow.is_blocked() || self.broker.alarms.is_on() {
            return;
        }
        self.flow.set_blocked(false);
        P::put_unblocked(&mut self.out, &self.agreed);
    }
}
