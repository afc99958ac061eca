//! Whether a consumer's connection and channel can take one more delivery.
//!
//! A queue asks the gate under its lock. A gate that says no parks the consumer; the task that makes room again looks at the
//! flag and resumes it. Asking and making room race, so the asker looks twice (see `try_acquire`).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crate::limits::DELIVERY_OVERHEAD_LEN;
use crate::outbox::Outbox;

/// How many unacked deliveries a channel may have over all its consumers (`basic.qos` with `global`).
#[derive(Debug, Default)]
pub struct ChannelLimit {
    /// 0: no limit.
    limit: AtomicU32,
    unacked_count: AtomicU32,
}

impl ChannelLimit {
    /// Sets it; 0: no limit.
    pub fn set(&self, limit: u16) {
        self.limit.store(limit.into(), Ordering::SeqCst);
    }

    /// The channel ends: its consumers that acknowledge get nothing more.
    pub fn close(&self) {
        // As if it had far more than it may.
        self.unacked_count.store(u32::MAX / 2, Ordering::SeqCst);
        self.limit.store(1, Ordering::SeqCst);
    }

    /// The limit, 0 for none.
    pub fn limit(&self) -> u32 {
        self.limit.load(Ordering::SeqCst)
    }

    fn try_acquire(&self) -> bool {
        let limit = self.limit();
        let take = |count| (limit == 0 || count < limit).then_some(count + 1);
        self.unacked_count.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take).is_ok()
    }

    /// Counts deliveries that the channel no longer has.
    pub fn release(&self, count: u32) {
        let _ = self
            .unacked_count
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |current| Some(current.saturating_sub(count)));
    }
}

/// The way from a queue to one consumer.
#[derive(Debug)]
pub struct ConsumerGate {
    /// Where deliveries go.
    pub outbox: Arc<Outbox>,
    /// The consumer, as its connection numbers them.
    pub consumer: u32,
    /// Only consumers that acknowledge count towards their channel's limit.
    pub channel_limit: Option<Arc<ChannelLimit>>,
    /// Whether it has refused a delivery and waits to be resumed.
    pub is_parked: Arc<AtomicBool>,
}

impl ConsumerGate {
    fn try_acquire_once(&self, len: i64) -> bool {
        // The limit first: if the window is what refuses, something is on its way, and its going resumes consumers that were refused
        // meanwhile.
        if self.channel_limit.as_ref().is_some_and(|limit| !limit.try_acquire()) {
            return false;
        }
        let has_room = self.outbox.try_acquire(len);
        if !has_room && let Some(limit) = &self.channel_limit {
            limit.release(1);
        }
        has_room
    }
}

/// What a message takes of the window on its way to a consumer: all of it, since a header may be longer than the body.
#[inline]
pub fn window_cost(content_len: u32) -> i64 {
    i64::from(content_len) + DELIVERY_OVERHEAD_LEN
}

impl queue::Gate for ConsumerGate {
    #[inline]
    fn try_acquire(&self, len: u32) -> bool {
        let cost = window_cost(len);
        if self.try_acquire_once(cost) {
            return true;
        }
        // Room made between the refusal and the flag would go unnoticed: so flag first, then look again.
        self.is_parked.store(true, Ordering::SeqCst);
        self.outbox.has_parked.store(true, Ordering::SeqCst);
        if self.try_acquire_once(cost) {
            self.is_parked.store(false, Ordering::SeqCst);
            return true;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use queue::Gate;

    #[test]
    fn refusal_parks_and_room_opens_again() {
        let limit = Arc::new(ChannelLimit::default());
        limit.set(1);
        let gate = ConsumerGate {
            outbox: Outbox::new(),
            consumer: 0,
            channel_limit: Some(limit.clone()),
            is_parked: Arc::default(),
        };
        assert!(gate.try_acquire(10));
        assert!(!gate.try_acquire(10));
        assert!(gate.is_parked.load(Ordering::SeqCst));
        limit.release(1);
        assert!(gate.try_acquire(10));
    }

    #[test]
    fn a_closed_gate_stays_closed() {
        let (limit, outbox) = (Arc::new(ChannelLimit::default()), Outbox::new());
        let gate = |channel_limit| ConsumerGate {
            outbox: outbox.clone(),
            consumer: 0,
            channel_limit,
            is_parked: Arc::default(),
        };
        let (acking, other) = (gate(Some(limit.clone())), gate(None));
        assert!(acking.try_acquire(10) && other.try_acquire(10));
        limit.close();
        limit.release(1);
        assert!(!acking.try_acquire(10) && other.try_acquire(10));
        outbox.close();
        outbox.release(window_cost(10) * 3);
        assert!(!other.try_acquire(10) && !outbox.try_acquire_overdrawn(10));
    }
}
