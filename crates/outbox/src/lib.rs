//! What waits to be sent to one receiver that may fail, and when that may be tried: webhooks of alerts, servers that take statistics.
//!
//! ```text
//!  push ─► waiting ─► next ─► (sent) ─┬─ settle ─► the next one
//!                      ▲              │
//!                      └── not before ◄─ retry      a receiver that fails is left alone for a while, twice as long each time
//! ```
//!
//! One thing is on its way at a time, so the order holds; as long as it is, it is neither removed nor replaced. What is folded or
//! dropped when too much waits, and what is counted, is decided by the owner. No clock, no socket, no randomness: these come in as
//! arguments.

use std::collections::VecDeque;

/// How long to wait after the first failure, in milliseconds; twice as long after each further one.
pub(crate) const BACKOFF_MIN_MS: u64 = 500;
/// The longest such wait.
pub const BACKOFF_MAX_MS: u64 = 60_000;

const _: () = assert!(BACKOFF_MIN_MS < BACKOFF_MAX_MS);

/// What is to be done now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NextStep<T> {
    /// Send this, and say what has come of it.
    Send(T),
    /// Nothing before this time, in milliseconds of the caller's clock.
    NotBefore(u64),
    /// Nothing.
    Nothing,
}

impl<T> NextStep<T> {
    /// The same with another thing to send.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> NextStep<U> {
        match self {
            NextStep::Send(item) => NextStep::Send(change(item)),
            NextStep::NotBefore(at_ms) => NextStep::NotBefore(at_ms),
            NextStep::Nothing => NextStep::Nothing,
        }
    }
}

/// Things for one receiver, the oldest first.
#[derive(Debug)]
pub struct Outbox<T> {
    waiting: VecDeque<T>,
    /// The first one is on its way.
    is_sending: bool,
    /// Attempts that have failed in a row.
    failure_count: u32,
    not_before_ms: u64,
}

impl<T> Default for Outbox<T> {
    fn default() -> Self {
        Outbox { waiting: VecDeque::new(), is_sending: false, failure_count: 0, not_before_ms: 0 }
    }
}

impl<T> Outbox<T> {
    /// There is something to send.
    pub fn push(&mut self, item: T) {
        self.waiting.push_back(item);
    }

    /// What is to be done now. What it gives to be sent is on its way from then on.
    pub fn next(&mut self, now_ms: u64) -> NextStep<&mut T> {
        if self.is_sending {
            return NextStep::Nothing;
        }
        let Some(first) = self.waiting.front_mut() else { return NextStep::Nothing };
        if now_ms < self.not_before_ms {
            return NextStep::NotBefore(self.not_before_ms);
        }
        self.is_sending = true;
        NextStep::Send(first)
    }

    /// The receiver has answered what was sent to it, for good: it leaves.
    pub fn settle(&mut self) -> T {
        self.end_attempt();
        self.forget_failures();
        self.waiting.pop_front().expect("what is on its way is the first")
    }

    /// The attempt has failed: nothing is sent for a while, of at least `wait_min_ms`. `jitter` is any number from 0 to 1: it keeps
    /// many that failed together from coming back together.
    pub fn retry(&mut self, wait_min_ms: u64, now_ms: u64, jitter: f64) -> &mut T {
        self.end_attempt();
        let wait_ms = backoff_ms(self.failure_count, jitter).max(wait_min_ms);
        self.not_before_ms = now_ms.saturating_add(wait_ms);
        self.failure_count = self.failure_count.saturating_add(1);
        self.waiting.front_mut().expect("what is on its way is the first")
    }

    fn end_attempt(&mut self) {
        assert!(std::mem::take(&mut self.is_sending), "only what was sent has come to something");
    }

    /// What has failed before may be tried at once.
    pub fn try_at_once(&mut self) {
        self.not_before_ms = 0;
    }

    /// The receiver is another one from now on: what it did before does not count.
    pub fn forget_failures(&mut self) {
        self.failure_count = 0;
        self.not_before_ms = 0;
    }

    /// Whether the last attempt failed.
    #[must_use]
    pub fn is_failing(&self) -> bool {
        self.failure_count > 0
    }

    /// How many wait, the one on its way included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Whether nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The place of the first that is not on its way.
    #[must_use]
    pub fn start(&self) -> usize {
        usize::from(self.is_sending)
    }

    /// All, the one on its way included.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.waiting.iter()
    }

    /// The last one, unless it is on its way.
    pub fn last_mut(&mut self) -> Option<&mut T> {
        if self.waiting.len() > self.start() { self.waiting.back_mut() } else { None }
    }

    /// Takes out the one at this place; none where there is none, or it is on its way.
    pub fn remove(&mut self, place: usize) -> Option<T> {
        if place < self.start() {
            return None;
        }
        self.waiting.remove(place)
    }

    /// Takes out all but these. Nothing may be on its way.
    pub fn retain(&mut self, keeps: impl FnMut(&T) -> bool) {
        assert!(!self.is_sending, "what is on its way stays");
        self.waiting.retain(keeps);
    }
}

impl<T> std::ops::Index<usize> for Outbox<T> {
    type Output = T;

    fn index(&self, place: usize) -> &T {
        &self.waiting[place]
    }
}

impl<T> std::ops::IndexMut<usize> for Outbox<T> {
    fn index_mut(&mut self, place: usize) -> &mut T {
        assert!(place >= self.start(), "what is on its way stays as it is");
        &mut self.waiting[place]
    }
}

/// Half of it is left to chance.
fn backoff_ms(failure_count: u32, jitter: f64) -> u64 {
    let whole_ms = BACKOFF_MIN_MS.saturating_mul(1 << failure_count.min(16)).min(BACKOFF_MAX_MS);
    (whole_ms as f64 * (0.5 + 0.5 * jitter.clamp(0.0, 1.0))) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(items: &[u8]) -> Outbox<u8> {
        let mut outbox = Outbox::default();
        items.iter().for_each(|item| outbox.push(*item));
        outbox
    }

    #[test]
    fn one_is_on_its_way_at_a_time() {
        let mut outbox = of(&[1, 2]);
        assert_eq!(outbox.next(0), NextStep::Send(&mut 1));
        assert_eq!(outbox.next(0), NextStep::Nothing);
        assert_eq!(outbox.settle(), 1);
        assert_eq!(outbox.next(0), NextStep::Send(&mut 2));
    }

    #[test]
    fn a_failure_delays_and_an_answer_ends_that() {
        let mut outbox = of(&[1, 2]);
        let (mut now_ms, mut waits) = (0, Vec::new());
        for _ in 0..9 {
            assert_eq!(outbox.next(now_ms), NextStep::Send(&mut 1));
            assert_eq!(outbox.retry(0, now_ms, 1.0), &mut 1);
            let NextStep::NotBefore(until_ms) = outbox.next(now_ms) else { panic!("it is left alone") };
            waits.push(until_ms - now_ms);
            now_ms = until_ms;
        }
        assert_eq!(waits, [500, 1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]);
        assert_eq!(outbox.next(now_ms), NextStep::Send(&mut 1));
        outbox.settle();
        assert_eq!(outbox.next(now_ms), NextStep::Send(&mut 2));
        outbox.retry(2_000, now_ms, 0.0);
        assert_eq!(outbox.next(now_ms), NextStep::NotBefore(now_ms + 2_000), "the receiver asked for it");
        outbox.try_at_once();
        assert_eq!(outbox.next(now_ms), NextStep::Send(&mut 2));
    }

    #[test]
    fn what_is_on_its_way_stays() {
        let mut outbox = of(&[1]);
        let _ = outbox.next(0);
        assert_eq!((outbox.start(), outbox.remove(0)), (1, None));
        assert_eq!(outbox.last_mut(), None);
        outbox.push(2);
        assert_eq!(outbox.last_mut(), Some(&mut 2));
        assert_eq!(outbox.remove(1), Some(2));
        outbox.retry(0, 0, 0.0);
        assert_eq!((outbox.remove(0), outbox.len()), (Some(1), 0));
    }
}
