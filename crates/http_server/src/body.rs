//! Bodies of answers, the long ones made while they are sent: the next piece when the socket has taken the one before it.

use std::fmt;
use std::future::Future as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

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

/// Makes an answer that goes on for as long as something happens. It is asked for a piece when the socket has taken the one before it.
pub trait Source: Send {
    /// The next piece, when there is one. None: that was all.
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>>;
}

/// The body of a response. A long one is made while it is sent.
pub struct AnswerBody(BodyState);

/// An answer that ends where a defect of ours was met. Who reads it learns that it is not whole.
#[derive(Debug)]
pub struct BrokenBody;

impl fmt::Display for BrokenBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an answer could not be made")
    }
}

impl std::error::Error for BrokenBody {}

enum BodyState {
    Whole(Bytes),
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
        AnswerBody(if bytes.is_empty() { BodyState::End } else { BodyState::Whole(bytes) })
    }

    /// Makes the first piece at once: what fits into one has a known length then. Panics are counted in `panics`.
    pub fn of(pieces: Box<dyn Pieces>, panics: &Arc<Counter>) -> Result<AnswerBody, BrokenBody> {
        let mut rest = LongBody { pieces, panics: panics.clone() };
        Ok(match rest.next_piece()? {
            (bytes, false) => AnswerBody::whole(bytes),
            (first, true) => AnswerBody(BodyState::Pieces { first, rest, has_yielded: false }),
        })
    }

    /// One that goes on.
    #[must_use]
    pub fn live(source: Box<dyn Source>) -> AnswerBody {
        AnswerBody(BodyState::Source(source))
    }

    /// Its length, if it is known.
    #[must_use]
    pub fn known_len(&self) -> Option<usize> {
        match &self.0 {
            BodyState::Whole(bytes) => Some(bytes.len()),
            BodyState::Pieces { .. } | BodyState::Source(_) | BodyState::BrokenBody(_) => None,
            BodyState::End => Some(0),
        }
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
        loop {
            let bytes = match std::mem::replace(&mut self.0, BodyState::End) {
                BodyState::Whole(bytes) => bytes,
                BodyState::Pieces { first, rest, has_yielded: false } => {
                    self.0 = BodyState::Pieces { first, rest, has_yielded: true };
                    if yields(cx) {
                        return Poll::Pending;
                    }
                    continue;
                }
                BodyState::Pieces { first, mut rest, .. } => {
                    self.0 = match rest.next_piece() {
                        Ok((next, true)) => BodyState::Pieces { first: next, rest, has_yielded: false },
                        Ok((next, false)) => AnswerBody::whole(next).0,
                        Err(broken) => BodyState::BrokenBody(broken),
                    };
                    first
                }
                BodyState::Source(mut source) => {
                    let next = source.poll_next(cx);
                    if !matches!(next, Poll::Ready(None)) {
                        self.0 = BodyState::Source(source);
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

    fn is_end_stream(&self) -> bool {
        matches!(self.0, BodyState::End)
    }

    fn size_hint(&self) -> SizeHint {
        self.known_len().map_or_else(SizeHint::default, |len| SizeHint::with_exact(len as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::BodyExt as _;

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
