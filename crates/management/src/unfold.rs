//! A body that is made step by step, as its reader takes it.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_server::Source;

/// A source whose pieces `step` makes: of a state it makes a piece and the next state, or nothing when that was all.
pub(crate) fn unfold<S, F>(state: S, step: fn(S) -> F) -> Box<dyn Source>
where
    S: Send + 'static,
    F: Future<Output = Option<(Bytes, S)>> + Send + 'static,
{
    Box::new(Unfold { next: Box::pin(step(state)), step })
}

/// A step that is under way.
struct Unfold<S, F> {
    next: Pin<Box<F>>,
    step: fn(S) -> F,
}

impl<S: Send, F: Future<Output = Option<(Bytes, S)>> + Send> Source for Unfold<S, F> {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let next = std::task::ready!(self.next.as_mut().poll(cx));
        Poll::Ready(next.map(|(bytes, state)| {
            self.next = Box::pin((self.step)(state));
            bytes
        }))
    }
}
