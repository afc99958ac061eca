//! Carries the bytes of a connection to where it is served, and back.
//!
//! Each direction is read into a buffer of the thread and written at once. Only what the other side does not take is kept, and then
//! nothing more is read: so an idle connection holds no buffer, and a slow one a single read.

use std::cell::RefCell;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// How much one read may bring.
const READ_LEN: usize = 64 << 10;
/// Reads of one direction before other tasks of the thread are let in.
const TURN_COUNT: usize = 16;

thread_local! {
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Carries what comes on either side to the other one, until both have ended. `received` has been read of `client` already and is sent
/// first. The end of one direction is passed on, and the other stays open; an error ends both.
pub async fn splice<C, S>(mut client: C, received: Vec<u8>, mut server: S) -> io::Result<()>
where
    C: AsyncRead + AsyncWrite + Unpin,
    S: AsyncRead + AsyncWrite + Unpin,
{
    let (mut to_server, mut to_client) = (Direction::beginning_with(received), Direction::default());
    poll_fn(|cx| {
        let there = to_server.poll(cx, &mut client, &mut server)?;
        let back = to_client.poll(cx, &mut server, &mut client)?;
        if there.is_ready() && back.is_ready() { Poll::Ready(Ok(())) } else { Poll::Pending }
    })
    .await
}

/// One direction.
#[derive(Debug, Default)]
struct Direction {
    /// What was read and not taken.
    waiting: Vec<u8>,
    written: usize,
    /// Something was written that may not have left.
    is_unflushed: bool,
    progress: Progress,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Progress {
    #[default]
    Open,
    /// Nothing more comes: the end is to be passed on.
    Ended,
    /// It has been.
    ShutDown,
}

impl Direction {
    fn beginning_with(waiting: Vec<u8>) -> Self {
        Direction { waiting, ..Direction::default() }
    }

    fn poll(
        &mut self,
        cx: &mut Context<'_>,
        from: &mut (impl AsyncRead + Unpin),
        to: &mut (impl AsyncWrite + Unpin),
    ) -> Poll<io::Result<()>> {
        for _ in 0..TURN_COUNT {
            ready!(self.poll_write(cx, to))?;
            match self.progress {
                Progress::Open => ready!(self.poll_read(cx, from, to))?,
                Progress::Ended => {
                    ready!(Pin::new(&mut *to).poll_shutdown(cx))?;
                    self.progress = Progress::ShutDown;
                }
                Progress::ShutDown => return Poll::Ready(Ok(())),
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Writes all that waits.
    fn poll_write(&mut self, cx: &mut Context<'_>, to: &mut (impl AsyncWrite + Unpin)) -> Poll<io::Result<()>> {
        while self.written < self.waiting.len() {
            let len = ready!(Pin::new(&mut *to).poll_write(cx, &self.waiting[self.written..]))?;
            if len == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.written += len;
            self.is_unflushed = true;
        }
        (self.waiting, self.written) = (Vec::new(), 0);
        Poll::Ready(Ok(()))
    }

    /// Reads once, and writes that as far as it is taken. Where nothing comes, what was written leaves.
    fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        from: &mut (impl AsyncRead + Unpin),
        to: &mut (impl AsyncWrite + Unpin),
    ) -> Poll<io::Result<()>> {
        BUFFER.with_borrow_mut(|buffer| {
            buffer.resize(READ_LEN, 0);
            let mut read = ReadBuf::new(buffer);
            if Pin::new(from).poll_read(cx, &mut read)?.is_pending() {
                if self.is_unflushed {
                    self.is_unflushed = Pin::new(to).poll_flush(cx)?.is_pending();
                }
                return Poll::Pending;
            }
            let bytes = read.filled();
            if bytes.is_empty() {
                self.progress = Progress::Ended;
                return Poll::Ready(Ok(()));
            }
            let taken = match Pin::new(to).poll_write(cx, bytes)? {
                Poll::Ready(len) => len,
                Poll::Pending => 0,
            };
            self.is_unflushed |= taken > 0;
            self.waiting = bytes[taken..].to_vec();
            Poll::Ready(Ok(()))
        })
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};
    use tokio::task::JoinHandle;

    use super::*;

    /// A client's and a server's end, with a splice between.
    fn spliced(received: &[u8]) -> (DuplexStream, DuplexStream, JoinHandle<io::Result<()>>) {
        let ((client, near), (far, server)) = (duplex(1000), duplex(1000));
        let received = received.to_vec();
        (client, server, tokio::spawn(splice(near, received, far)))
    }

    #[tokio::test]
    async fn each_end_hears_what_the_other_says_in_order() {
        let (mut client, mut server, splicing) = spliced(b"what was read before, ");
        let sent: Vec<u8> = (0..200_000_u32).map(|number| (number % 251) as u8).collect();
        let mut whole = b"what was read before, ".to_vec();
        whole.extend(&sent);
        let expected = whole.len();
        let serving = tokio::spawn(async move {
            let mut heard = vec![0; expected];
            server.read_exact(&mut heard).await.unwrap();
            server.write_all(&heard).await.unwrap();
            (server, heard)
        });
        client.write_all(&sent).await.unwrap();
        let mut answered = vec![0; expected];
        client.read_exact(&mut answered).await.unwrap();
        let (server, heard) = serving.await.unwrap();
        assert!(heard == whole && answered == whole);
        drop((client, server));
        splicing.await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn the_end_of_one_direction_leaves_the_other_open() {
        let (mut client, mut server, splicing) = spliced(b"");
        client.write_all(b"question").await.unwrap();
        client.shutdown().await.unwrap();
        let mut heard = Vec::new();
        server.read_to_end(&mut heard).await.unwrap();
        assert_eq!(heard, b"question");
        assert!(!splicing.is_finished());
        server.write_all(b"answer").await.unwrap();
        server.shutdown().await.unwrap();
        heard.clear();
        client.read_to_end(&mut heard).await.unwrap();
        assert_eq!(heard, b"answer");
        splicing.await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn a_side_that_does_not_read_holds_up_the_other_one() {
        let (mut client, mut server, _splicing) = spliced(b"");
        let mut sent = 0_usize;
        let pause = std::time::Duration::from_millis(50);
        while let Ok(written) = tokio::time::timeout(pause, client.write(&[7; 500])).await {
            sent += written.unwrap();
            assert!(sent <= 3 * READ_LEN, "nothing holds the client up");
        }
        let mut heard = vec![0; sent];
        server.read_exact(&mut heard).await.unwrap();
        assert!(heard.iter().all(|byte| *byte == 7));
    }

    #[tokio::test]
    async fn a_side_that_is_gone_takes_the_other_with_it() {
        let (mut client, server, splicing) = spliced(b"");
        drop(server);
        client.write_all(b"x").await.unwrap();
        assert_eq!(splicing.await.unwrap().unwrap_err().kind(), io::ErrorKind::BrokenPipe);
        assert_eq!(client.read(&mut [0]).await.unwrap(), 0);
    }
}
