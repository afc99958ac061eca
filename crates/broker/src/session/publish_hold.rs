//! Publishers that wait: while an alarm is on, or the store is behind.
//!
//! RabbitMQ's way: a connection is stopped when it begins to publish while an alarm is on, never before; it is told so once
//! (`connection.blocked`, if it asked for that), and once more when all alarms are over. That publish is the first thing to be looked at
//! then: none goes through meanwhile, but for one whose content was still coming when the alarm began. Consumers go on.

use amqp::frame::put_method;
use amqp::method::connection;

use super::assembly::CompletePublish;
use super::channel::Channel;
use super::{Phase, Session};
use crate::refusal::Refusal;

impl Session {
    /// A read begins: looks whether what is published in it has to wait, or is traced. Once, for all that it brings is handed on together.
    #[inline]
    pub(super) fn look_at_publishing(&mut self) {
        let is_held = self.broker.alarms.is_on() || self.broker.engine.store.is_congested();
        self.flow.begin_read(is_held || telemetry::trace::is_active());
    }

    /// A whole publish, which takes `len` bytes behind its method, of a read whose publishes are checked: `None` if it has to wait.
    #[cold]
    pub(super) fn publish_checked(
        &mut self,
        mut channel: Box<Channel>,
        whole: &CompletePublish<'_>,
        len: usize,
    ) -> Option<Result<usize, (Box<Refusal>, usize)>> {
        let is_held = self.hold_publish();
        let result = match telemetry::trace::is_active() {
            _ if is_held => None,
            false => Some(self.publish(&mut channel, whole)),
            true => Some(self.traced_publish(&mut channel, whole)),
        };
        self.channels.put(channel);
        Some(result?.map(|()| len).map_err(|refusal| (refusal, len)))
    }

    /// A publish is to begin: whether it has to wait, for the end of an alarm or for the store. Then nothing more is received, and the
    /// publish comes again.
    #[inline(always)]
    pub(super) fn is_publish_held(&mut self) -> bool {
        self.flow.checks_publishes() && self.hold_publish()
    }

    /// Before it is taken, and not only after: very many publishers would each get in one more read, which on a full disk is too much.
    #[cold]
    fn hold_publish(&mut self) -> bool {
        if self.broker.alarms.is_on() {
            return self.block();
        }
        if matches!(self.phase, Phase::Running) {
            self.slow_down();
            self.flow.put_back_if_congested();
        }
        self.flow.is_put_back()
    }

    /// Stops receiving until all alarms are over, unless the connection ends. Says whether it is stopped.
    #[cold]
    fn block(&mut self) -> bool {
        if self.flow.is_blocked() || !matches!(self.phase, Phase::Running) {
            return self.flow.is_blocked();
        }
        self.flow.set_blocked(true);
        if self.login().capabilities.connection_blocked {
            let reason = self.broker.alarms.reason();
            put_method(&mut self.out, 0, &connection::Blocked { reason: reason.as_bytes() });
        }
        true
    }

    pub(super) fn alarms_changed(&mut self) {
        if !self.flow.is_blocked() || self.broker.alarms.is_on() {
            return;
        }
        self.flow.set_blocked(false);
        if self.login().capabilities.connection_blocked {
            put_method(&mut self.out, 0, &connection::Unblocked);
        }
    }
}
