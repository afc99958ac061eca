//! Batches of lines that wait to be posted, and when that may be tried.
//!
//! ```text
//!  push ─► waiting ─► next ─► (posted) ─┬─ Delivered ─► the next one
//!            │                 ▲        ├─ Refused ───► lost: it would be refused again
//!            │                 └────────┴─ Failed       not before a while, which grows; given up when answered so too often
//!            └─► the oldest is lost when there is no room
//! ```
//!
//! One batch is on its way at a time. As long as all goes well no more is to be made than the next few (`wants_more`): a slow receiver gets fewer
//! rounds, not later ones. When the receiver fails, batches gather, small ones in one, up to a bound. No clock, no socket.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;

use super::limits::{
    AHEAD_COUNT, ANSWER_COUNT_MAX, BACKOFF_MAX_MS, BACKOFF_MIN_MS, BATCH_LEN_MAX, BATCH_LINE_COUNT_MAX,
    RETRY_AFTER_MAX, WAITING_LEN_MAX,
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
pub(super) enum Fate {
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

/// What is to be done now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Next {
    /// Post this, and say what has come of it.
    Post(Bytes),
    /// Nothing before this time, in milliseconds of the caller's clock.
    NotBefore(u64),
    /// Nothing.
    Nothing,
}

/// What an attempt has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Settled {
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
    first: Option<First>,
    waiting: VecDeque<Batch>,
    /// Bytes of all of them.
    len: usize,
    /// Attempts that have failed in a row.
    failure_count: u32,
    not_before_ms: u64,
}

/// The batch whose turn it is.
#[derive(Debug)]
struct First {
    text: Bytes,
    line_count: u64,
    ends_round: bool,
    is_on_its_way: bool,
    /// How often the receiver has answered that it cannot take it.
    answer_count: u32,
}

impl Outbox {
    /// There is more to post. How many lines were lost for it.
    pub(super) fn push(&mut self, batch: Batch) -> u64 {
        self.len += batch.text.len();
        match self.waiting.back_mut() {
            Some(last) if has_room(last, &batch) => {
                last.text.push_str(&batch.text);
                last.line_count += batch.line_count;
                last.ends_round |= batch.ends_round;
            }
            _ => self.waiting.push_back(batch),
        }
        let mut lost = 0;
        while self.len > WAITING_LEN_MAX
            && let Some(line_count) = self.drop_oldest()
        {
            lost += line_count;
        }
        lost
    }

    /// Whether another batch should be made now.
    pub(super) fn wants_more(&self) -> bool {
        self.failure_count > 0 || self.waiting.len() < AHEAD_COUNT
    }

    /// What is to be done now.
    pub(super) fn next(&mut self, now_ms: u64) -> Next {
        if self.first.is_none() {
            self.first = self.waiting.pop_front().map(First::of);
        }
        let Some(first) = &mut self.first else { return Next::Nothing };
        assert!(!first.is_on_its_way, "one at a time");
        if now_ms < self.not_before_ms {
            return Next::NotBefore(self.not_before_ms);
        }
        first.is_on_its_way = true;
        Next::Post(first.text.clone())
    }

    /// What has come of what was to be posted. `jitter` is any number from 0 to 1: it keeps brokers that failed together from coming back
    /// together.
    pub(super) fn settle(&mut self, fate: Fate, now_ms: u64, jitter: f64) -> Settled {
        let mut first = self.first.take().expect("only what was posted has come to something");
        assert!(first.is_on_its_way, "only what was posted has come to something");
        first.is_on_its_way = false;
        if let Fate::Failed { is_answered, retry_after } = fate {
            let wait_ms = retry_after.map_or(0, |wait| wait.min(RETRY_AFTER_MAX).as_millis() as u64);
            self.not_before_ms = now_ms.saturating_add(wait_ms.max(backoff_ms(self.failure_count, jitter)));
            self.failure_count = self.failure_count.saturating_add(1);
            first.answer_count += u32::from(is_answered);
            if first.answer_count < ANSWER_COUNT_MAX {
                self.first = Some(first);
                return Settled::default();
            }
        } else {
            // Whoever takes or refuses is there.
            self.failure_count = 0;
            self.not_before_ms = 0;
        }
        self.len -= first.text.len();
        let settled = Settled { ends_round: first.ends_round, ..Settled::default() };
        match fate {
            Fate::Delivered => Settled { delivered: first.line_count, ..settled },
            _ => Settled { lost: first.line_count, ..settled },
        }
    }

    /// What has failed before may be tried at once.
    pub(super) fn try_at_once(&mut self) {
        self.not_before_ms = 0;
    }

    /// Lines that wait, those on their way included.
    pub(super) fn line_count(&self) -> u64 {
        let first = self.first.as_ref().map_or(0, |first| first.line_count);
        first + self.waiting.iter().map(|batch| batch.line_count).sum::<u64>()
    }

    /// Drops the oldest batch that is not on its way; how many lines it had.
    fn drop_oldest(&mut self) -> Option<u64> {
        let (len, line_count) = match self.first.take_if(|first| !first.is_on_its_way) {
            Some(first) => (first.text.len(), first.line_count),
            None => self.waiting.pop_front().map(|batch| (batch.text.len(), batch.line_count))?,
        };
        self.len -= len;
        Some(line_count)
    }
}

impl First {
    fn of(batch: Batch) -> First {
        First {
            text: batch.text.into(),
            line_count: batch.line_count,
            ends_round: batch.ends_round,
            is_on_its_way: false,
            answer_count: 0,
        }
    }
}

/// Whether two batches may be one.
fn has_room(last: &Batch, batch: &Batch) -> bool {
    last.line_count + batch.line_count <= BATCH_LINE_COUNT_MAX && last.text.len() + batch.text.len() <= BATCH_LEN_MAX
}

/// Half of it is left to chance.
fn backoff_ms(failure_count: u32, jitter: f64) -> u64 {
    let whole_ms = BACKOFF_MIN_MS.saturating_mul(1 << failure_count.min(16)).min(BACKOFF_MAX_MS);
    (whole_ms as f64 * (0.5 + 0.5 * jitter.clamp(0.0, 1.0))) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAILED: Fate = Fate::Failed { is_answered: false, retry_after: None };
    const ANSWERED: Fate = Fate::Failed { is_answered: true, retry_after: None };

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
            Next::Post(text) => String::from_utf8(text.to_vec()).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    #[track_caller]
    fn first_letters(outbox: &mut Outbox) -> String {
        let mut letters = String::new();
        while let Next::Post(text) = outbox.next(u64::MAX) {
            letters.push(char::from(text[0]));
            outbox.settle(Fate::Delivered, u64::MAX, 0.0);
        }
        letters
    }

    #[test]
    fn what_was_pushed_is_posted_in_its_order() {
        let mut outbox = Outbox::default();
        assert_eq!(outbox.next(0), Next::Nothing);
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
        outbox.settle(Fate::Delivered, 0, 0.0);
        assert_eq!(post(&mut outbox, 0), "b\nc\n", "what is on its way stays as it is");
        let settled = outbox.settle(Fate::Delivered, 0, 0.0);
        assert_eq!(settled, Settled { delivered: 2, lost: 0, ends_round: true });
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
        assert!(matches!(outbox.next(1_000_000), Next::Post(_)));
        outbox.settle(Fate::Delivered, 1_000_000, 0.0);
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
            let Next::NotBefore(at_ms) = outbox.next(now_ms) else { panic!("it is left alone") };
            waits.push(at_ms - now_ms);
            now_ms = at_ms;
        }
        assert_eq!(waits, [500, 1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000, 60_000]);
        assert_eq!(post(&mut outbox, now_ms), "a\n");
        assert_eq!(outbox.settle(Fate::Delivered, now_ms, 1.0).delivered, 1);
        outbox.push(batch("b\n"));
        assert_eq!(post(&mut outbox, now_ms), "b\n", "who takes it again is asked at once");
        outbox.settle(FAILED, now_ms, 0.0);
        assert_eq!(outbox.next(now_ms), Next::NotBefore(now_ms + 250), "half of it is left to chance");
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
            outbox.settle(Fate::Failed { is_answered: true, retry_after }, 0, 1.0);
            assert_eq!(outbox.next(0), Next::NotBefore(waits_ms), "{asked_s} s");
        }
    }

    #[test]
    fn what_is_refused_is_lost_at_once() {
        let mut outbox = Outbox::default();
        outbox.push(Batch { ends_round: true, ..batch("a\n") });
        post(&mut outbox, 0);
        let settled = outbox.settle(Fate::Refused, 0, 0.0);
        assert_eq!(settled, Settled { delivered: 0, lost: 1, ends_round: true });
        assert_eq!(outbox.next(0), Next::Nothing);
    }

    #[test]
    fn what_a_receiver_cannot_take_however_often_is_given_up() {
        let mut outbox = Outbox::default();
        outbox.push(full('a'));
        outbox.push(full('b'));
        for number in 1..=2 * ANSWER_COUNT_MAX {
            outbox.try_at_once();
            assert!(post(&mut outbox, 0).starts_with('a'));
            let fate = if number % 2 == 0 { ANSWERED } else { FAILED };
            let lost = if number == 2 * ANSWER_COUNT_MAX { BATCH_LINE_COUNT_MAX } else { 0 };
            assert_eq!(outbox.settle(fate, 0, 0.0).lost, lost, "only answers count");
        }
        assert_eq!(first_letters(&mut outbox), "b");
    }
}
