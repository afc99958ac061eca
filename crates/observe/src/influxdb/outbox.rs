//! Batches of lines that wait to be posted, and when that may be tried.
//!
//! ```text
//!  push ─► waiting ─► next ─► (posted) ─┬─ Delivered ─► the next one
//!            │                 ▲        ├─ Refused ───► lost: it would be refused again
//!            │                 └────────┴─ Failed       not before a while, which grows; given up when answered so too often
//!            └─► the oldest is lost when there is no room
//! ```
//!
//! One batch is on its way at a time. As long as all is well no more is to be made than the next few (`wants_more`): a slow receiver
//! gets fewer rounds, not later ones. When the receiver fails, batches gather, small ones in one, up to a bound. No clock, no socket.

use std::time::Duration;

use bytes::Bytes;

use super::limits::{
    AHEAD_COUNT, ANSWER_COUNT_MAX, BATCH_LEN_MAX, BATCH_LINE_COUNT_MAX, RETRY_AFTER_MAX, WAITING_LEN_MAX,
};

/// Lines that are written or posted together.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Batch {
    pub(crate) text: String,
    pub(crate) line_count: u64,
    /// Whether a round ends with it.
    pub(crate) ends_round: bool,
}

/// What an attempt has come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PostOutcome {
    /// The receiver has it.
    Delivered,
    /// The receiver will never take it.
    Refused,
    /// Perhaps later.
    Failed {
        /// Whether the receiver has said so itself.
        is_answered: bool,
        /// When it wants to be asked again.
        retry_after: Option<Duration>,
    },
}

/// What is to be done now: the text is to be posted.
pub(super) type NextStep = outbox::NextStep<Bytes>;

/// What an attempt has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct OutboxChange {
    /// Lines that have arrived.
    pub(super) delivered: u64,
    /// Lines that are lost.
    pub(super) lost: u64,
    /// Whether a round has come to its end.
    pub(super) ends_round: bool,
}

/// Batches for one receiver.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    waiting: outbox::Outbox<PendingBatch>,
    /// Bytes of all of them.
    len: usize,
}

#[derive(Debug)]
struct PendingBatch {
    batch: Batch,
    /// The batch's text, once it has been posted: nothing more is added.
    attempt: Option<Bytes>,
    /// How often the receiver has answered that it cannot take it.
    answer_count: u32,
}

impl Outbox {
    /// There is more to post. How many lines were lost for it.
    pub(super) fn push(&mut self, batch: Batch) -> u64 {
        self.len += batch.text.len();
        match self.waiting.last_mut() {
            Some(last) if last.has_room(&batch) => {
                last.batch.text.push_str(&batch.text);
                last.batch.line_count += batch.line_count;
                last.batch.ends_round |= batch.ends_round;
            }
            _ => self.waiting.push(PendingBatch { batch, attempt: None, answer_count: 0 }),
        }
        let mut lost = 0;
        while self.len > WAITING_LEN_MAX
            && let Some(oldest) = self.waiting.remove(self.waiting.start())
        {
            self.len -= oldest.len();
            lost += oldest.batch.line_count;
        }
        lost
    }

    /// Whether another batch should be made now.
    pub(super) fn wants_more(&self) -> bool {
        self.waiting.is_failing() || self.waiting.len() - self.waiting.start() < AHEAD_COUNT
    }

    /// What is to be done now.
    pub(super) fn next(&mut self, now_ms: u64) -> NextStep {
        self.waiting.next(now_ms).map(PendingBatch::seal)
    }

    /// What has come of what was to be posted. `jitter` is any number from 0 to 1: it keeps brokers that failed together from coming back
    /// together.
    pub(super) fn settle(&mut self, outcome: PostOutcome, now_ms: u64, jitter: f64) -> OutboxChange {
        let first = match outcome {
            PostOutcome::Failed { is_answered, retry_after } => {
                let wait_ms = retry_after.map_or(0, |wait| wait.min(RETRY_AFTER_MAX).as_millis() as u64);
                let first = self.waiting.retry(wait_ms, now_ms, jitter);
                first.answer_count += u32::from(is_answered);
                if first.answer_count < ANSWER_COUNT_MAX {
                    return OutboxChange::default();
                }
                self.waiting.remove(0).expect("it failed, and is the first")
            }
            PostOutcome::Delivered | PostOutcome::Refused => self.waiting.settle(),
        };
        self.len -= first.len();
        let Batch { line_count, ends_round, .. } = first.batch;
        match outcome {
            PostOutcome::Delivered => OutboxChange { delivered: line_count, lost: 0, ends_round },
            _ => OutboxChange { delivered: 0, lost: line_count, ends_round },
        }
    }

    /// What has failed before may be tried at once.
    pub(super) fn try_at_once(&mut self) {
        self.waiting.try_at_once();
    }

    /// Lines that wait, those on their way included.
    pub(super) fn line_count(&self) -> u64 {
        self.waiting.iter().map(|waiting| waiting.batch.line_count).sum()
    }
}

impl PendingBatch {
    fn len(&self) -> usize {
        self.attempt.as_ref().map_or(self.batch.text.len(), Bytes::len)
    }

    /// The text, to be posted, now or again.
    fn seal(&mut self) -> Bytes {
        self.attempt.get_or_insert_with(|| std::mem::take(&mut self.batch.text).into()).clone()
    }

    /// Whether another batch may be part of this one.
    fn has_room(&self, more: &Batch) -> bool {
        self.attempt.is_none()
            && self.batch.line_count + more.line_count <= BATCH_LINE_COUNT_MAX
            && self.batch.text.len() + more.text.len() <= BATCH_LEN_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAILED: PostOutcome = PostOutcome::Failed { is_answered: false, retry_after: None };
    const ANSWERED: PostOutcome = PostOutcome::Failed { is_answered: true, retry_after: None };

    fn batch(text: &str) -> Batch {
        Batch { text: text.to_owned(), line_count: 1, ends_round: false }
    }

    /// A batch that no other is put to.
    fn full(first: char) -> Batch {
        let mut text = first.to_string();
        text.push_str(&"x".repeat(BATCH_LEN_MAX - 1));
        Batch { text, line_count: BATCH_LINE_COUNT_MAX, ends_round: false }
    }

    #[track_caller]
    fn post(outbox: &mut Outbox, now_ms: u64) -> String {
        match outbox.next(now_ms) {
            NextStep::Send(text) => String::from_utf8(text.to_vec()).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    #[track_caller]
    fn first_letters(outbox: &mut Outbox) -> String {
        let mut letters = String::new();
        while let NextStep::Send(text) = outbox.next(u64::MAX) {
            letters.push(char::from(text[0]));
            outbox.settle(PostOutcome::Delivered, u64::MAX, 0.0);
        }
        letters
    }

    #[test]
    fn what_was_pushed_is_posted_in_its_order() {
        let mut outbox = Outbox::default();
        assert_eq!(outbox.next(0), NextStep::Nothing);
        for letter in ['a', 'b', 'c'] {
            assert_eq!(outbox.push(full(letter)), 0);
        }
        assert_eq!(outbox.line_count(), 3 * BATCH_LINE_COUNT_MAX);
        assert_eq!(first_letters(&mut outbox), "abc");
        assert_eq!((outbox.line_count(), outbox.len), (0, 0));
    }

    #[test]
    fn small_batches_that_wait_become_one() {
        let mut outbox = Outbox::default();
        outbox.push(batch("a\n"));
        assert_eq!(post(&mut outbox, 0), "a\n");
        outbox.push(batch("b\n"));
        outbox.push(Batch { ends_round: true, ..batch("c\n") });
        outbox.settle(PostOutcome::Delivered, 0, 0.0);
        assert_eq!(post(&mut outbox, 0), "b\nc\n", "what is on its way stays as it is");
        let change = outbox.settle(PostOutcome::Delivered, 0, 0.0);
        assert_eq!(change, OutboxChange { delivered: 2, lost: 0, ends_round: true });
        outbox.push(Batch { line_count: BATCH_LINE_COUNT_MAX, ..batch("d\n") });
        outbox.push(batch("e\n"));
        assert_eq!(first_letters(&mut outbox), "de", "no batch has more lines than it may");
    }

    #[test]
    fn no_more_is_made_than_the_next_few_unless_the_receiver_fails() {
        let mut outbox = Outbox::default();
        outbox.push(full('a'));
        assert_eq!(post(&mut outbox, 0).len(), BATCH_LEN_MAX);
        for letter in ['b', 'c'] {
            assert!(outbox.wants_more());
            outbox.push(full(letter));
        }
        assert!(!outbox.wants_more());
        outbox.settle(FAILED, 0, 0.0);
        assert!(outbox.wants_more(), "what happens meanwhile is kept");
        assert!(matches!(outbox.next(1_000_000), NextStep::Send(_)));
        outbox.settle(PostOutcome::Delivered, 1_000_000, 0.0);
        assert!(!outbox.wants_more());
    }

    #[test]
    fn the_oldest_are_lost_when_there_is_no_room() {
        let mut outbox = Outbox::default();
        let count = WAITING_LEN_MAX / BATCH_LEN_MAX;
        for letter in ('a'..).take(count) {
            assert_eq!(outbox.push(full(letter)), 0);
        }
        assert!(post(&mut outbox, 0).starts_with('a'));
        assert_eq!(outbox.push(full('y')), BATCH_LINE_COUNT_MAX, "b is lost, for a is on its way");
        outbox.settle(FAILED, 0, 0.0);
        assert_eq!(outbox.push(full('z')), BATCH_LINE_COUNT_MAX, "a is lost, for it is the oldest");
        assert_eq!(outbox.len, WAITING_LEN_MAX);
        assert_eq!(first_letters(&mut outbox), "cdefghyz");
    }

    #[test]
    fn a_receiver_that_fails_is_left_alone_for_longer_and_longer() {
        let mut outbox = Outbox::default();
        outbox.push(batch("a\n"));
        let (mut now_ms, mut waits) = (0, Vec::new());
        for _ in 0..10 {
            assert_eq!(post(&mut outbox, now_ms), "a\n", "it is tried again");
            outbox.settle(FAILED, now_ms, 1.0);
            let NextStep::NotBefore(at_ms) = outbox.next(now_ms) else { panic!("it is left alone") };
            waits.push(at_ms - now_ms);
            now_ms = at_ms;
        }
        assert_eq!(waits, [500, 1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000, 60_000]);
        assert_eq!(post(&mut outbox, now_ms), "a\n");
        assert_eq!(outbox.settle(PostOutcome::Delivered, now_ms, 1.0).delivered, 1);
        outbox.push(batch("b\n"));
        assert_eq!(post(&mut outbox, now_ms), "b\n", "who takes it again is asked at once");
        outbox.settle(FAILED, now_ms, 0.0);
        assert_eq!(outbox.next(now_ms), NextStep::NotBefore(now_ms + 250), "half of it is left to chance");
        outbox.try_at_once();
        assert_eq!(post(&mut outbox, now_ms), "b\n");
    }

    #[test]
    fn a_receiver_says_when_it_wants_to_be_asked_again() {
        for (asked_s, waits_ms) in [(7, 7000), (0, 500), (1_000_000, 3_600_000)] {
            let mut outbox = Outbox::default();
            outbox.push(batch("a\n"));
            post(&mut outbox, 0);
            let retry_after = Some(Duration::from_secs(asked_s));
            outbox.settle(PostOutcome::Failed { is_answered: true, retry_after }, 0, 1.0);
            assert_eq!(outbox.next(0), NextStep::NotBefore(waits_ms), "{asked_s} s");
        }
    }

    #[test]
    fn what_is_refused_is_lost_at_once() {
        let mut outbox = Outbox::default();
        outbox.push(Batch { ends_round: true, ..batch("a\n") });
        post(&mut outbox, 0);
        let change = outbox.settle(PostOutcome::Refused, 0, 0.0);
        assert_eq!(change, OutboxChange { delivered: 0, lost: 1, ends_round: true });
        assert_eq!(outbox.next(0), NextStep::Nothing);
    }

    #[test]
    fn what_a_receiver_cannot_take_however_often_is_given_up() {
        let mut outbox = Outbox::default();
        outbox.push(full('a'));
        outbox.push(full('b'));
        for number in 1..=2 * ANSWER_COUNT_MAX {
            outbox.try_at_once();
            assert!(post(&mut outbox, 0).starts_with('a'));
            let outcome = if number % 2 == 0 { ANSWERED } else { FAILED };
            let lost = if number == 2 * ANSWER_COUNT_MAX { BATCH_LINE_COUNT_MAX } else { 0 };
            assert_eq!(outbox.settle(outcome, 0, 0.0).lost, lost, "only answers count");
        }
        assert_eq!(first_letters(&mut outbox), "b");
    }
}
