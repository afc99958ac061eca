//! Calls whose own work is over and which are answered later: a publish by its confirm, a method whose answer waits for the journal.
//!
//! Such a call has left the stack of its task, which works on for others meanwhile. It is followed on its own: what it waited for is
//! reported afterwards, one wait after the other, each with an end. It ends when this is dropped.

use std::borrow::Cow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use super::call::CallRecord;
use super::clock::{now_ns, ns_of};
use super::task::{Follower, Worker};
use super::wait::WaitReason;
use super::wall::FrameKind;

/// How many are followed at once.
pub const PENDING_ANSWER_COUNT_MAX: usize = 1_024;

/// How many of them may be the recorder's alone, so that sessions have their part.
const RECORDED_COUNT_MAX: usize = PENDING_ANSWER_COUNT_MAX / 2;

static COUNT: AtomicUsize = AtomicUsize::new(0);

/// A call that waits for its answer. Only with a session or the recorder is there one.
#[must_use = "the call ends when this is dropped"]
pub struct PendingAnswer {
    watched: Box<CallRecord>,
    /// Profiles that follow it.
    followers: Vec<Follower>,
    /// What it did and waited for is known until then.
    known_ns: u64,
}

impl PendingAnswer {
    /// Follows a call whose own work is over. Without a place for it, it ends with its work, with a remark about that; and where nothing
    /// asks.
    pub(super) fn follow(mut watched: Box<CallRecord>) -> Option<PendingAnswer> {
        let max = match (watched.is_wanted(), watched.is_recorded()) {
            (true, _) => PENDING_ANSWER_COUNT_MAX,
            (false, true) => RECORDED_COUNT_MAX,
            (false, false) => 0,
        };
        let place = |count: usize| (count < max).then_some(count + 1);
        if COUNT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, place).is_err() {
            watched.remark(&format!("the answer is not waited for: {PENDING_ANSWER_COUNT_MAX} others are"));
            watched.end();
            return None;
        }
        let known_ns = now_ns();
        let followers = watched.leave(known_ns);
        Some(PendingAnswer { watched, followers, known_ns })
    }

    /// From where its last wait ended, or its work, until then it waited for this.
    pub fn waited(&mut self, waited: &WaitReason, until: Instant) {
        let until_ns = ns_of(until);
        let meanwhile = if self.followers.is_empty() { Worker::default() } else { Worker::threads(waited.threads) };
        self.note_wait(waited.kind.frame(), waited.name, &meanwhile, until_ns);
    }

    /// The same, while its own task did something for it and for others.
    pub fn waited_for_own_task(&mut self, name: &'static str, until: Instant) {
        let trail = self.watched.trail().clone();
        let meanwhile = Worker::task(trail, self.watched.point_name());
        self.note_wait(FrameKind::Task, name, &meanwhile, ns_of(until));
    }

    /// Says what it was answered.
    pub fn returns(&mut self, result: impl FnOnce() -> String) {
        self.watched.returns(result);
    }

    fn note_wait(&mut self, kind: FrameKind, name: &'static str, meanwhile: &Worker, until_ns: u64) {
        let start_ns = self.known_ns;
        if until_ns <= start_ns {
            return;
        }
        self.known_ns = until_ns;
        if self.followers.is_empty() {
            return;
        }
        let began_ns = now_ns();
        let calls = meanwhile.calls_within(start_ns, until_ns);
        for follower in &mut self.followers {
            follower.note_wait(kind, Cow::Borrowed(name), (start_ns, until_ns), &calls);
        }
        let cost_ns = now_ns().saturating_sub(began_ns);
        self.followers.iter().for_each(|follower| follower.note_cost(cost_ns));
    }
}

impl Drop for PendingAnswer {
    fn drop(&mut self) {
        COUNT.fetch_sub(1, Ordering::Relaxed);
        let end_ns = now_ns();
        self.followers.drain(..).for_each(|follower| follower.end(end_ns));
        self.watched.answered(end_ns);
    }
}

impl std::fmt::Debug for PendingAnswer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("PendingAnswer").field(&self.watched.point_name()).finish()
    }
}
