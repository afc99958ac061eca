//! One consumer: where it reads from, what waits in its line, what it has not settled yet.

use std::collections::VecDeque;

use amqp::tx;
use amqp_client::Connection;
use rustc_hash::FxHashMap;

use crate::plan::{Random, Settle};

/// A delivery that waits in line.
#[derive(Clone, Copy, Debug)]
pub(super) struct WaitingDelivery {
    pub(super) tag: u64,
    pub(super) body_len: usize,
    pub(super) sent: Option<u64>,
    pub(super) late_ns: u64,
    /// Publisher and number, if its sequence is followed.
    pub(super) position: Option<(u32, u32)>,
    pub(super) redelivered: bool,
    pub(super) queue: u16,
}

/// One consumer.
#[derive(Debug)]
pub(super) struct Consumer {
    pub(super) channel: u16,
    pub(super) queues: Vec<String>,
    pub(super) settle: Settle,
    pub(super) unsettled: u32,
    pub(super) tx_size: u32,
    pub(super) tx_count: u32,
    pub(super) left: u64,
    /// The last position that came from a publisher, by publisher and queue.
    pub(super) last: FxHashMap<(u32, u16), u64>,
    pub(super) line: VecDeque<WaitingDelivery>,
    pub(super) busy_until: u64,
    pub(super) gap_ns: Option<u64>,
    pub(super) random: Random,
    /// Asks with `basic.get`: when next, and from which of its queues.
    pub(super) get_at: u64,
    pub(super) get_queue: usize,
    pub(super) is_getting: bool,
    pub(super) is_started: bool,
    pub(super) starts_at: u64,
}

impl Consumer {
    /// A delivery has been dealt with.
    #[inline]
    pub(super) fn settle(&mut self, connection: &mut Connection, tag: u64) {
        let (every, requeue) = match self.settle {
            Settle::AutoAck => return,
            Settle::AckEvery(every) => (every.max(1), None),
            Settle::NackEvery { count, requeue } => (count.max(1), Some(requeue)),
        };
        self.unsettled += 1;
        // The last one takes the others with it.
        if self.unsettled < every && self.left > 0 {
            return;
        }
        let is_multiple = self.unsettled > 1;
        match requeue {
            None => connection.ack(self.channel, tag, is_multiple),
            Some(requeue) => connection.nack(self.channel, tag, is_multiple, requeue),
        }
        if self.tx_size > 0 {
            self.tx_count += self.unsettled;
            if self.tx_count >= self.tx_size || self.left == 0 {
                connection.send(self.channel, &tx::Commit);
                self.tx_count = 0;
            }
        }
        self.unsettled = 0;
    }

    /// What is begun is brought to its end: an open transaction.
    pub(super) fn settle_rest(&mut self, connection: &mut Connection) {
        if self.tx_count > 0 {
            connection.send(self.channel, &tx::Commit);
            self.tx_count = 0;
        }
    }
}
