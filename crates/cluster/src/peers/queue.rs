//! What waits to be written on one connection. Pushed to from any thread; a push wakes the connection's task and nothing else.

use std::collections::VecDeque;
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;

use crate::wire::OutgoingFrame;

/// Why nothing was sent: the caller may report to its engine that the peer is unreachable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// There is no such peer.
    #[error("there is no such peer")]
    UnknownPeer,
    /// There is no connection to it.
    #[error("the peer is not connected")]
    NotConnected,
    /// It takes less than it is sent.
    #[error("too much waits for the peer")]
    Full,
}

/// A bounded queue of frames.
#[derive(Debug)]
pub(super) struct LaneQueue {
    count_max: usize,
    len_max: u64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    is_open: bool,
    frames: VecDeque<OutgoingFrame>,
    len: u64,
    waker: Option<Waker>,
}

impl LaneQueue {
    /// A closed one.
    pub(super) fn new(count_max: usize, len_max: u64) -> Self {
        LaneQueue { count_max, len_max, state: Mutex::default() }
    }

    /// An open one for what is bounded elsewhere.
    pub(super) fn open_unbounded() -> Self {
        let queue = LaneQueue::new(usize::MAX, u64::MAX);
        queue.open();
        queue
    }

    pub(super) fn open(&self) {
        self.state.lock().is_open = true;
    }

    /// What waited is dropped.
    pub(super) fn close(&self) {
        let frames = {
            let mut state = self.state.lock();
            (state.is_open, state.len) = (false, 0);
            std::mem::take(&mut state.frames)
        };
        drop(frames);
    }

    /// One frame is always taken, however long.
    pub(super) fn push(&self, frame: OutgoingFrame) -> Result<(), SendError> {
        let waker = {
            let mut state = self.state.lock();
            if !state.is_open {
                return Err(SendError::NotConnected);
            }
            let len = state.len + frame.wire_len();
            if !state.frames.is_empty() && (state.frames.len() >= self.count_max || len > self.len_max) {
                return Err(SendError::Full);
            }
            state.len = len;
            state.frames.push_back(frame);
            state.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
        Ok(())
    }

    /// The next frame; without one, the task is woken when there is.
    pub(super) fn poll_pop(&self, cx: &mut Context<'_>) -> Poll<OutgoingFrame> {
        let mut state = self.state.lock();
        match state.frames.pop_front() {
            Some(frame) => {
                state.len -= frame.wire_len();
                Poll::Ready(frame)
            }
            None => {
                state.waker = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Lane;

    fn frame(len: usize) -> OutgoingFrame {
        OutgoingFrame::of(Lane::Commits, |to| to.resize(to.len() + len, 0))
    }

    #[test]
    fn a_queue_is_bounded_by_count_and_by_bytes_but_takes_one_frame_always() {
        let queue = LaneQueue::new(3, 100);
        assert_eq!(queue.push(frame(1)), Err(SendError::NotConnected));
        queue.open();
        assert_eq!(queue.push(frame(1000)), Ok(()));
        assert_eq!(queue.push(frame(1)), Err(SendError::Full));
        let mut cx = Context::from_waker(Waker::noop());
        assert!(queue.poll_pop(&mut cx).is_ready());
        assert!(queue.poll_pop(&mut cx).is_pending());
        // Of 12 bytes more each.
        assert_eq!([(); 3].map(|()| queue.push(frame(12))), [Ok(()); 3]);
        assert_eq!(queue.push(frame(1)), Err(SendError::Full));
        queue.close();
        queue.open();
        assert_eq!([88, 1].map(|len| queue.push(frame(len))), [Ok(()), Err(SendError::Full)]);
    }
}
