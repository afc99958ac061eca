//! One publisher: what it has to send, and what it waits for.

use amqp::{channel, tx};
use amqp_client::{Connection, Unconfirmed};

use super::serve::OUTPUT_LEN;
use crate::engine::clock::now_ns;
use crate::engine::incident::PublisherEnd;
use crate::engine::message::Sender;
use crate::engine::recorder::Recorder;
use crate::plan::{Distribution, Due, Next};

/// Messages of one publisher before it is the next one's turn.
const BURST: u32 = 64;

/// A message whose confirm has not come.
#[derive(Clone, Copy, Debug)]
pub(super) struct InFlight {
    position: u64,
    due: u64,
    sent: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Publishes.
    Open,
    /// Waits for the last confirms of its channel, to close it.
    Leaving,
    /// Waits for close-ok or open-ok.
    Changing,
    /// Has nothing more to publish.
    Done,
}

/// One publisher.
#[derive(Debug)]
pub(super) struct Publisher {
    pub(super) number: u32,
    pub(super) channel: u16,
    pub(super) phase: Phase,
    pub(super) due: Due,
    pub(super) sender: Sender,
    /// The position of the next message in its sequence.
    pub(super) position: u64,
    pub(super) unconfirmed: Unconfirmed<InFlight>,
    pub(super) window: Option<u32>,
    /// It waits until its window opens.
    pub(super) is_full: bool,
    pub(super) tx_size: u32,
    pub(super) tx_count: u32,
    pub(super) think_time: Option<Distribution>,
    /// Messages that were due before are not its own: it did not exist yet.
    pub(super) starts_at: u64,
    pub(super) not_before: u64,
    pub(super) left: u64,
    pub(super) on_channel: u32,
    pub(super) messages_per_channel: Option<u32>,
    pub(super) end: PublisherEnd,
}

/// When a publisher wants to be asked again.
pub(super) enum Again {
    At(u64),
    /// When its window opens, or its channel.
    Later,
    Never,
}

impl Publisher {
    /// When it wants to publish next; `None` when it is done.
    pub(super) fn next_at(&self, start: u64) -> Option<u64> {
        if self.left == 0 || self.phase == Phase::Done {
            return None;
        }
        match self.due.peek() {
            Next::At(at) => Some((start + at).max(self.not_before)),
            Next::NowUntil(_) => Some(self.not_before),
            Next::Never => None,
        }
    }

    /// Publishes what is due, as far as window and output let it.
    pub(super) fn publish_due(
        &mut self,
        connection: &mut Connection,
        recorder: &mut Recorder,
        start: u64,
        on_connection: &mut u64,
    ) -> Again {
        for _ in 0..BURST {
            if self.phase != Phase::Open {
                return Again::Later;
            }
            if self.messages_per_channel.is_some_and(|most| self.on_channel >= most) {
                self.commit_rest(connection);
                self.phase = Phase::Leaving;
                self.leave_channel(connection);
                return Again::Later;
            }
            let now = now_ns();
            let next = if self.left == 0 { Next::Never } else { self.due.peek() };
            let (due, is_scheduled) = match next {
                Next::Never => {
                    self.stop(connection);
                    return Again::Never;
                }
                Next::At(at) if start + at < self.starts_at => {
                    self.due.advance();
                    continue;
                }
                Next::At(at) => (start + at, true),
                Next::NowUntil(Some(end)) if now >= start + end => {
                    self.due.leave_unlimited();
                    continue;
                }
                Next::NowUntil(_) => (now, false),
            };
            let earliest = due.max(self.not_before);
            if earliest > now {
                return Again::At(earliest);
            }
            if self.window.is_some_and(|window| self.unconfirmed.len() >= window as usize) {
                self.is_full = true;
                return Again::Later;
            }
            if *on_connection == 0 || connection.output_len() >= OUTPUT_LEN {
                return Again::At(now);
            }
            let body_len = self.sender.send(connection, self.channel, self.position, due, now, now - start);
            recorder.published(body_len, due, now, is_scheduled);
            if self.window.is_some() {
                self.unconfirmed.push(InFlight { position: self.position, due, sent: now });
            } else if self.tx_size > 0 {
                self.tx_count += 1;
                if self.tx_count == self.tx_size {
                    connection.send(self.channel, &tx::Commit);
                    self.end.expected += u64::from(self.tx_size);
                    self.tx_count = 0;
                }
            } else {
                self.end.expected += 1;
            }
            self.position += 1;
            self.left -= 1;
            self.on_channel += 1;
            *on_connection -= 1;
            self.due.advance();
            if let Some(think_time) = &self.think_time {
                self.not_before = now + (self.sender.draw(think_time) * 1e9) as u64;
            }
        }
        Again::At(now_ns())
    }

    /// Nothing more to publish. What an open transaction holds is committed.
    pub(super) fn stop(&mut self, connection: &mut Connection) {
        self.commit_rest(connection);
        self.phase = Phase::Done;
    }

    /// Commits what an open transaction holds, before its channel or connection closes.
    pub(super) fn commit_rest(&mut self, connection: &mut Connection) {
        if self.tx_count > 0 {
            connection.send(self.channel, &tx::Commit);
            self.end.expected += u64::from(std::mem::take(&mut self.tx_count));
        }
    }

    /// When the message was sent that waits longest for its confirm.
    pub(super) fn waits_since(&self) -> Option<u64> {
        self.unconfirmed.oldest().map(|message| message.sent)
    }

    /// Closes the channel once nothing on it waits for a confirm.
    pub(super) fn leave_channel(&mut self, connection: &mut Connection) {
        if self.phase == Phase::Leaving && self.unconfirmed.is_empty() {
            let reply_code = amqp::ReplyCode::Success.code();
            connection.send(self.channel, &channel::Close { reply_code, reply_text: b"Goodbye", ..Default::default() });
            self.phase = Phase::Changing;
        }
    }

    pub(super) fn settle(&mut self, tag: u64, is_multiple: bool, is_ack: bool, recorder: &mut Recorder) {
        let now = now_ns();
        let end = &mut self.end;
        self.unconfirmed.settle(tag, is_multiple, |message| {
            if is_ack {
                end.expected += 1;
                recorder.confirmed(message.due, message.sent, now);
            } else {
                end.doubt(message.position);
                recorder.counts.nacked += 1;
            }
        });
        if self.window.is_some_and(|window| self.unconfirmed.len() < window as usize) {
            self.is_full = false;
        }
    }

    /// The connection is lost, and with it what was not answered.
    pub(super) fn lose_connection(&mut self) {
        if self.window.is_some() {
            let unconfirmed = std::mem::take(&mut self.unconfirmed);
            unconfirmed.into_rest().for_each(|message| self.end.doubt(message.position));
        } else {
            self.end.is_unknown = true;
        }
        self.tx_count = 0;
        self.is_full = false;
        self.on_channel = 0;
        if self.phase != Phase::Done {
            self.phase = Phase::Open;
        }
    }

    pub(super) fn into_end(mut self) -> PublisherEnd {
        debug_assert_eq!(self.end.publisher, self.number);
        let unconfirmed = std::mem::take(&mut self.unconfirmed);
        unconfirmed.into_rest().for_each(|message| self.end.doubt(message.position));
        self.end
    }
}
