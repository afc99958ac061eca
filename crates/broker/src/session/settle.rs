//! basic.ack, nack, reject, recover: what becomes of deliveries.

use amqp::frame::put_method;
use amqp::method::basic;
use queue::Return;

use super::Session;
use super::channel::Channel;
use super::exception::{self, Handled};
use crate::front::Disposition;

impl Session {
    /// basic.ack.
    pub(super) fn ack(&mut self, channel: &mut Channel, tag: u64, multiple: bool) -> Handled<()> {
        Ok(self.front.settle(channel, tag, multiple, Disposition::Accepted)?)
    }

    /// basic.nack and basic.reject. As in RabbitMQ only the latter counts as a failure.
    pub(super) fn nack(
        &mut self,
        channel: &mut Channel,
        tag: u64,
        multiple: bool,
        requeue: bool,
        has_failed: bool,
    ) -> Handled<()> {
        let disposition = match requeue {
            true if has_failed => Disposition::Requeued(Return::Failed),
            true => Disposition::Requeued(Return::Unharmed),
            false => Disposition::Rejected { has_failed },
        };
        Ok(self.front.settle(channel, tag, multiple, disposition)?)
    }

    /// basic.recover and basic.recover-async: everything unacked on the channel returns to its queue.
    pub(super) fn recover(&mut self, channel: &mut Channel, requeue: bool, is_answered: bool) -> Handled<()> {
        if !requeue {
            return exception::not_implemented("requeue=false");
        }
        self.front.requeue_all(channel);
        if is_answered {
            put_method(self.front.out(), channel.number().0, &basic::RecoverOk);
        }
        Ok(())
    }
}
