//! Credit that consumers grant, and drains of it: which are running, and when they end.
//!
//! A drain ends as soon as its consumer has no credit left, can be given nothing because another one is active, or when a dispatch has
//! found nothing for it. It lasts while messages are ready that it may get and that are not at hand: those that must be read from a segment
//! first, that are just coming back, or that its gate does not let through. Then a load, a return or [`Queue::resume`] leads to the
//! dispatch that continues it. It gives back everything where an operator has paused the queue: that may be for long.
//!
//! Only a dispatch that has nothing left to hand out looks at all drains that go on, others at those of the consumers that got something.
//! In a queue without drains they cost each dispatch one look at a flag, and deliveries nothing.

use crate::consumers::{ConsumerId, Gate};
use crate::credit::Grant;
use crate::effects::Effects;
use crate::message::Message;
use crate::queue::Queue;

impl<M: Message, G: Gate> Queue<M, G> {
    /// A consumer grants credit, instead of what it granted before; a running drain is given up or continues with this. Dispatch after it:
    /// the consumer may be handed messages, and a drain may end ([`Effects::drained`]). False if there is no consumer of this id, or it
    /// came with credit that is not granted.
    pub fn grant(&mut self, consumer: ConsumerId, grant: Grant) -> bool {
        let is_granted = self.consumers.as_mut().is_some_and(|consumers| consumers.grant(consumer, grant));
        self.has_drains |= is_granted && grant.is_draining;
        if is_granted && let Some(groups) = &mut self.ready.groups {
            groups.wake(consumer);
        }
        is_granted
    }

    /// Ready messages that a consumer might be handed if it had credit for them. None while another is the single active one, or the
    /// queue is paused.
    pub fn available_to(&self, consumer: ConsumerId) -> u64 {
        let is_served = !self.is_paused() && self.consumer(consumer).is_some_and(|consumer| consumer.is_active);
        if is_served { self.ready.count } else { 0 }
    }

    /// Ends those drains whose credit has been used up by a dispatch, whose deliveries begin at `start`, and those for which it has found
    /// nothing.
    #[cold]
    pub(crate) fn end_drains(&mut self, start: usize, now_ms: u64, effects: &mut Effects<M>) {
        let is_paused = self.is_paused();
        // What has waited for long enough is ready again in turns, and what comes back does so in pieces.
        let first_end_ms = self.set_aside.as_ref().and_then(|set_aside| set_aside.first_end());
        let more_comes = self.returning_count > 0 || first_end_ms.is_some_and(|end_ms| end_ms <= now_ms);
        let holds_up = self.ready.groups.as_ref().is_some_and(|groups| groups.holds_up);
        let Some(consumers) = &mut self.consumers else {
            self.has_drains = false;
            return;
        };
        // So that a consumer that takes a turn need not be asked whether it is draining.
        effects.deliveries[start..].iter().for_each(|delivery| consumers.end_drain_if_used_up(delivery.consumer));
        if is_paused || self.ready.count == 0 && !more_comes {
            consumers.end_drains(|_| true);
        } else if holds_up && !more_comes {
            // No consumer that waits for its turn may have what is ready. One whose gate is closed may have some of it.
            consumers.end_drains(|is_in_turn| is_in_turn);
        }
        self.has_drains = consumers.report_drains(&mut effects.drained);
    }
}
