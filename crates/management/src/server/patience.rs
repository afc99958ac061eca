//! A stream whose other side has to take what it is sent.
//!
//! Who reads nothing for so long while an answer waits loses the connection; so nobody holds one for long by
//! asking for a long list and not reading it.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper_util::rt::TokioIo;
use net::Stream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

/// The stream as hyper wants it.
pub(super) fn of(stream: Stream, timeout: Duration) -> TokioIo<Patience> {
    TokioIo::new(Patience { stream, timeout, waiting: None })
}

pub(super) struct Patience {
    stream: Stream,
    timeout: Duration,
    /// Since when a write has waited.
    waiting: Option<Pin<Box<Sleep>>>,
}

impl Patience {
    fn bound<T>(&mut self, result: Poll<io::Result<T>>, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        if result.is_ready() {
            self.waiting = None;
            return result;
        }
        let until = Instant::now() + self.timeout;
        let waiting = self.waiting.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(until)));
        match waiting.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl AsyncRead for Patience {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.stream.poll_read(cx, buffer)
    }
}

impl AsyncWrite for Patience {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let result = self.stream.poll_write(cx, bytes);
        self.bound(result, cx)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let result = self.stream.poll_flush(cx);
        self.bound(result, cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let result = self.stream.poll_shutdown(cx);
        self.bound(result, cx)
    }
}
