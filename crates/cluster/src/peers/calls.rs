//! Questions to peers, and answers to theirs.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

use parking_lot::Mutex;
use tokio::sync::{Semaphore, oneshot, watch};
use tokio::time::Instant;

use super::call_answer::CallAnswer;
use super::limits::CALLS_COUNT_MAX;
use super::peer::PeerState;
use super::pump::Receive;
use super::queue::LaneQueue;
use super::shared::Shared;
use crate::wire::{CallFrame, Identity, Lane};

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// There is no such peer.
    #[error("there is no such peer")]
    UnknownPeer,
    /// It took too long, the wait for a connection included. It may have been done.
    #[error("the peer did not answer in time")]
    TimedOut,
    /// The connection was lost. It may have been done.
    #[error("the connection to the peer was lost")]
    Lost,
    /// The peer gives none.
    #[error("the peer gives no answer")]
    NoAnswer,
    /// It was removed from the peers, or the links are closed.
    #[error("the link is closed")]
    Closed,
}

type CallResult = Result<Vec<u8>, CallError>;

/// A call that is under way. Await it, on any runtime, or [`wait`](Self::wait).
#[derive(Debug)]
pub struct PendingCall(oneshot::Receiver<CallResult>);

impl PendingCall {
    pub(super) fn new() -> (oneshot::Sender<CallResult>, Self) {
        let (tx, rx) = oneshot::channel();
        (tx, PendingCall(rx))
    }

    /// Waits for the answer. Not for threads of a runtime, nor for that of the links.
    ///
    /// # Errors
    ///
    /// There is none.
    pub fn wait(self) -> Result<Vec<u8>, CallError> {
        self.0.blocking_recv().unwrap_or(Err(CallError::Closed))
    }
}

impl Future for PendingCall {
    type Output = CallResult;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<CallResult> {
        let answered = ready!(Pin::new(&mut self.0).poll(cx));
        Poll::Ready(answered.unwrap_or(Err(CallError::Closed)))
    }
}

/// A peer's calls that wait, for a place, a connection or an answer.
#[derive(Debug)]
pub(super) struct Calls {
    places: Semaphore,
    connection: watch::Sender<Connection>,
    waiting: Mutex<Waiting>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Connection {
    Absent,
    Present,
    /// For good.
    Closed,
}

#[derive(Debug, Default)]
struct Waiting {
    last: u64,
    answers: HashMap<u64, oneshot::Sender<CallResult>>,
}

/// Forgets a call that is no longer waited for.
struct CallGuard<'a>(&'a Calls, u64);

impl Drop for CallGuard<'_> {
    fn drop(&mut self) {
        self.0.waiting.lock().answers.remove(&self.1);
    }
}

impl Calls {
    pub(super) fn new() -> Self {
        Calls {
            places: Semaphore::new(CALLS_COUNT_MAX),
            connection: watch::Sender::new(Connection::Absent),
            waiting: Mutex::default(),
        }
    }

    pub(super) fn connected(&self) {
        self.change(Connection::Present);
    }

    /// Those that were sent have no answer.
    pub(super) fn lost(&self) {
        self.change(Connection::Absent);
        let answers = std::mem::take(&mut self.waiting.lock().answers);
        drop(answers);
    }

    /// No call will be answered from now on.
    pub(super) fn close(&self) {
        self.change(Connection::Closed);
        self.lost();
    }

    fn change(&self, to: Connection) {
        self.connection.send_if_modified(|connection| {
            let is_changed = *connection != Connection::Closed;
            if is_changed {
                *connection = to;
            }
            is_changed
        });
    }

    fn begin(&self) -> (u64, oneshot::Receiver<CallResult>) {
        let (tx, rx) = oneshot::channel();
        let mut waiting = self.waiting.lock();
        waiting.last += 1;
        let number = waiting.last;
        waiting.answers.insert(number, tx);
        (number, rx)
    }

    fn answer(&self, number: u64, answer: CallResult) {
        // The caller may have stopped waiting.
        if let Some(tx) = self.waiting.lock().answers.remove(&number) {
            let _ = tx.send(answer);
        }
    }
}

/// Asks, as soon as there are a place and a connection.
pub(super) async fn call(peer: &PeerState, name: &str, payload: &[u8]) -> CallResult {
    let calls = &peer.calls;
    let _place = calls.places.acquire().await.map_err(|_| CallError::Closed)?;
    let mut state = calls.connection.subscribe();
    loop {
        let state = *state.wait_for(|state| *state != Connection::Absent).await.map_err(|_| CallError::Closed)?;
        if state == Connection::Closed {
            return Err(CallError::Closed);
        }
        let (number, answer) = calls.begin();
        let _guard = CallGuard(calls, number);
        let begun = Instant::now();
        if peer.queue(Lane::Calls).push(CallFrame::Call { number, name, payload }.encode()).is_err() {
            // It was lost a moment ago, and nothing was sent.
            tokio::task::yield_now().await;
            continue;
        }
        let answer = answer.await.map_err(|_| CallError::Lost)?;
        peer.counters.count_round_trip(begun.elapsed());
        return answer;
    }
}

/// What comes on a connection that this node calls on.
pub(super) struct AnswerReceiver<'a>(pub(super) &'a Calls);

impl Receive for AnswerReceiver<'_> {
    fn frame(&mut self, body: &[u8]) -> Result<(), String> {
        match CallFrame::decode(body) {
            Ok(CallFrame::Answer { number, payload }) => self.0.answer(number, Ok(payload.to_vec())),
            Ok(CallFrame::NoAnswer { number }) => self.0.answer(number, Err(CallError::NoAnswer)),
            Ok(CallFrame::Call { .. }) => return Err("it asks where it only answers".to_owned()),
            Err(error) => return Err(format!("it sends {error}")),
        }
        Ok(())
    }
}

/// What comes on a connection that a peer calls on.
pub(super) struct Questions<'a> {
    pub(super) shared: &'a Shared,
    pub(super) from: Identity,
    pub(super) queue: Arc<LaneQueue>,
    pub(super) unanswered: Arc<AtomicUsize>,
}

impl Receive for Questions<'_> {
    fn frame(&mut self, body: &[u8]) -> Result<(), String> {
        match CallFrame::decode(body) {
            Ok(CallFrame::Call { number, name, payload }) => {
                self.unanswered.fetch_add(1, Ordering::AcqRel);
                let (queue, unanswered) = (Arc::clone(&self.queue), Arc::clone(&self.unanswered));
                let answer = CallAnswer::new(number, queue, unanswered);
                self.shared.handle(|handler| handler.called(&self.from, name, payload, answer));
                Ok(())
            }
            Ok(_) => Err("it answers where it only asks".to_owned()),
            Err(error) => Err(format!("it sends {error}")),
        }
    }

    fn is_willing(&self) -> bool {
        self.unanswered.load(Ordering::Acquire) < CALLS_COUNT_MAX
    }
}
