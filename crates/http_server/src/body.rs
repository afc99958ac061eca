//! Bodies of answers, the long ones made while they are sent: the next piece when the socket has taken the one before it.

use std::fmt;
use std::future::Future as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use telemetry::Counter;

/// Bytes of a piece of a long answer. A piece is made when the one before it has been taken by the socket.
pub const PIECE_LEN: usize = 32 << 10;
/// Objects that are looked at for one piece: many of them may come to nothing.
pub const PIECE_OBJECT_COUNT: usize = 1024;

/// Makes a long answer piece by piece.
pub trait Pieces: Send {
    /// Appends the next piece, of about [`PIECE_LEN`] bytes, or of none if it is long in coming. False: that was the last one.
    fn write_next(&mut self, out: &mut Vec<u8>) -> bool;
}

/// Makes an answer that lasts for as long as something happens. It is asked for a piece when the socket has taken the one before it.
pub trait Source: Send {
    /// The next piece, when there is one. None: that was all.
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>>;
}

/// What the time of an answer is spent on, while it is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spent {
    /// The next piece is made.
    Making,
    /// Other tasks are let go first.
    Turn,
    /// The socket has not taken the last piece: its reader is slow, or the way to it.
    Reader,
}

/// Sees how an answer is sent to its reader. It is dropped when the answer has ended, or its reader has closed the connection.
pub trait Watcher: Send {
    /// From where the last time ended until then it was spent on this.
    fn spent(&mut self, on: Spent, until: Instant);
    /// So many bytes are with the connection; whether these were the last.
    fn sent(&mut self, len: usize, is_last: bool);
}

/// The body of a response. A long one is made while it is sent.
pub struct AnswerBody {
    state: BodyState,
    watcher: Option<Box<dyn Watcher>>,
    /// What time is spent on between two polls.
    spent: Spent,
}

/// An answer that ends where a defect of ours was met. Its reader learns that it is not whole.
#[derive(Debug)]
pub struct BrokenBody;

impl fmt::Display for BrokenBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("generating a response failed")
    }
}

impl std::error::Error for BrokenBody {}

enum BodyState {
    Bytes(Bytes),
    Pieces {
        first: Bytes,
        rest: LongBody,
        /// Whether others have been let go first since the last piece was made.
        has_yielded: bool,
    },
    Source(Box<dyn Source>),
    BrokenBody(BrokenBody),
    End,
}

impl AnswerBody {
    /// One that is there.
    #[must_use]
    pub fn whole(bytes: Bytes) -> AnswerBody {
        AnswerBody::in_state(BodyState::whole(bytes))
    }

    fn in_state(state: BodyState) -> AnswerBody {
        AnswerBody { state, watcher: None, spent: Spent::Making }
    }

    /// The same, which the watcher sees on its way. An endless one is not watched: it takes as long as its reader wants.
    #[must_use]
    pub fn watched(self, watcher: Box<dyn Watcher>) -> AnswerBody {
        let is_live = matches!(self.state, BodyState::Source(_));
        AnswerBody { watcher: Some(watcher).filter(|_| !is_live), ..self }
    }

    /// Makes the first piece at once: what fits into one has a known length then. Panics are counted in `panics`.
    pub fn of(pieces: Box<dyn Pieces>, panics: &Arc<Counter>) -> Result<AnswerBody, BrokenBody> {
        let mut rest = LongBody { pieces, panics: panics.clone() };
        Ok(match rest.next_piece()? {
            (bytes, false) => AnswerBody::whole(bytes),
            (first, true) => AnswerBody::in_state(BodyState::Pieces { first, rest, has_yielded: false }),
        })
    }

    /// An endless one.
    #[must_use]
    pub fn live(source: Box<dyn Source>) -> AnswerBody {
        AnswerBody::in_state(BodyState::Source(source))
    }

    /// Its length, if it is known.
    #[must_use]
    pub fn known_len(&self) -> Option<usize> {
        match &self.state {
            BodyState::Bytes(bytes) => Some(bytes.len()),
            BodyState::Pieces { .. } | BodyState::Source(_) | BodyState::BrokenBody(_) => None,
            BodyState::End => Some(0),
        }
    }
}

impl BodyState {
    fn whole(bytes: Bytes) -> BodyState {
        if bytes.is_empty() { BodyState::End } else { BodyState::Bytes(bytes) }
    }
}

/// A long answer that is being made.
struct LongBody {
    pieces: Box<dyn Pieces>,
    panics: Arc<Counter>,
}

impl LongBody {
    /// The next piece, and whether there are more.
    fn next_piece(&mut self) -> Result<(Bytes, bool), BrokenBody> {
        // A little more than a piece: the last object begins before its end.
        let mut out = Vec::with_capacity(PIECE_LEN + PIECE_LEN / 8);
        let has_more = catch_unwind(AssertUnwindSafe(|| self.pieces.write_next(&mut out))).map_err(|_| {
            // The panic's own text is in the log already.
            self.panics.add(1);
            tracing::error!("a panic ended an answer");
            BrokenBody
        })?;
        Ok((Bytes::from(out), has_more))
    }
}

/// Lets all tasks that are ready go first: a socket that takes all at once would be served until its list is at its end. False: no task
/// is there to come back to this.
fn yields(cx: &mut Context<'_>) -> bool {
    // Wakes this task when all others, and the sockets, have been looked at.
    std::pin::pin!(tokio::task::yield_now()).poll(cx).is_pending()
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = BrokenBody;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BrokenBody>>> {
        let spent = self.spent;
        if let Some(watcher) = &mut self.watcher {
            watcher.spent(spent, Instant::now());
        }
        let polled = self.poll_state(cx);
        self.spent = if polled.is_pending() { Spent::Turn } else { Spent::Reader };
        let is_last = matches!(self.state, BodyState::End);
        if let Some(watcher) = &mut self.watcher {
            watcher.spent(Spent::Making, Instant::now());
            if let Poll::Ready(Some(Ok(frame))) = &polled {
                watcher.sent(frame.data_ref().map_or(0, Bytes::len), is_last);
            }
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.state, BodyState::End)
    }

    fn size_hint(&self) -> SizeHint {
        self.known_len().map_or_else(SizeHint::default, |len| SizeHint::with_exact(len as u64))
    }
}

impl AnswerBody {
    fn poll_state(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BrokenBody>>> {
        loop {
            let bytes = match std::mem::replace(&mut self.state, BodyState::End) {
                BodyState::Bytes(bytes) => bytes,
                BodyState::Pieces { first, rest, has_yielded: false } => {
                    self.state = BodyState::Pieces { first, rest, has_yielded: true };
                    if yields(cx) {
                        return Poll::Pending;
                    }
                    continue;
                }
                BodyState::Pieces { first, mut rest, .. } => {
                    self.state = match rest.next_piece() {
                        Ok((next, true)) => BodyState::Pieces { first: next, rest, has_yielded: false },
                        Ok((next, false)) => BodyState::whole(next),
                        Err(broken) => BodyState::BrokenBody(broken),
                    };
                    first
                }
                BodyState::Source(mut source) => {
                    let next = source.poll_next(cx);
                    if !matches!(next, Poll::Ready(None)) {
                        self.state = BodyState::Source(source);
                    }
                    match std::task::ready!(next) {
                        Some(bytes) => bytes,
                        None => return Poll::Ready(None),
                    }
                }
                BodyState::BrokenBody(broken) => return Poll::Ready(Some(Err(broken))),
                BodyState::End => return Poll::Ready(None),
            };
            if !bytes.is_empty() {
                return Poll::Ready(Some(Ok(Frame::data(bytes))));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::BodyExt as _;

    /// Remembers what it sees.
    #[derive(Clone, Default)]
    struct Notes(Arc<std::sync::Mutex<Vec<String>>>);

    impl Watcher for Notes {
        fn spent(&mut self, on: Spent, _: Instant) {
            self.0.lock().unwrap().push(format!("{on:?}"));
        }

        fn sent(&mut self, len: usize, is_last: bool) {
            self.0.lock().unwrap().push(format!("{len}{}", if is_last { ", the last" } else { "" }));
        }
    }

    /// So many pieces of a byte.
    struct Bites(usize);

    impl Pieces for Bites {
        fn write_next(&mut self, out: &mut Vec<u8>) -> bool {
            out.push(b'x');
            self.0 -= 1;
            self.0 > 0
        }
    }

    #[test]
    fn a_watcher_knows_what_time_is_spent_on() {
        let notes = Notes::default();
        let panics = Arc::new(Counter::default());
        let body = AnswerBody::of(Box::new(Bites(2)), &panics).ok().unwrap().watched(Box::new(notes.clone()));
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        assert_eq!(runtime.block_on(body.collect()).unwrap().to_bytes(), "xx");
        let seen = notes.0.lock().unwrap().join(" ");
        assert_eq!(seen, "Making Making Turn Making 1 Reader Making 1, the last Reader Making");
    }

    /// Pieces, the last of which is not to be had.
    struct Failing(usize);

    impl Pieces for Failing {
        fn write_next(&mut self, out: &mut Vec<u8>) -> bool {
            self.0 = self.0.checked_sub(1).expect("a defect");
            out.extend_from_slice(b"piece");
            true
        }
    }

    fn pieces_until_broken(count: usize) -> (Option<Vec<u8>>, u64) {
        let panics = Arc::new(Counter::default());
        let Ok(mut body) = AnswerBody::of(Box::new(Failing(count)), &panics) else { return (None, panics.get()) };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let mut read = Vec::new();
        let end = runtime.block_on(async {
            loop {
                match body.frame().await {
                    Some(Ok(frame)) => read.extend_from_slice(&frame.into_data().unwrap()),
                    end => return end.map(|frame| frame.is_err()),
                }
            }
        });
        assert_eq!(end, Some(true), "the reader is told that it is not whole");
        (Some(read), panics.get())
    }

    #[test]
    fn a_panic_ends_an_answer_and_is_counted() {
        assert_eq!(pieces_until_broken(0), (None, 1));
        assert_eq!(pieces_until_broken(2), (Some(b"piecepiece".to_vec()), 1));
    }
}
