//! A stream of which something has been read already, with that in front again.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// See the module.
#[derive(Debug)]
pub struct Replay<S> {
    received: Vec<u8>,
    replayed: usize,
    stream: S,
}

impl<S> Replay<S> {
    /// `received` was read of `stream`.
    pub fn new(received: Vec<u8>, stream: S) -> Self {
        Self { received, replayed: 0, stream }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Replay<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.received.is_empty() {
            return Pin::new(&mut self.stream).poll_read(cx, buffer);
        }
        let rest = &self.received[self.replayed..];
        let len = rest.len().min(buffer.remaining());
        buffer.put_slice(&rest[..len]);
        self.replayed += len;
        if self.replayed == self.received.len() {
            self.received = Vec::new();
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Replay<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    #[tokio::test]
    async fn what_was_read_comes_first_and_once() {
        let (mut client, mut server) = tokio::io::duplex(100);
        client.write_all(b"GET /x").await.unwrap();
        let mut received = vec![0; 4];
        server.read_exact(&mut received).await.unwrap();
        let mut replay = Replay::new(received, server);
        let mut bytes = [0; 3];
        replay.read_exact(&mut bytes).await.unwrap();
        assert_eq!(&bytes, b"GET");
        replay.read_exact(&mut bytes).await.unwrap();
        assert_eq!(&bytes, b" /x");
        client.shutdown().await.unwrap();
        assert_eq!(replay.read(&mut bytes).await.unwrap(), 0);
        replay.write_all(b"answer").await.unwrap();
        drop(replay);
        let mut answer = Vec::new();
        client.read_to_end(&mut answer).await.unwrap();
        assert_eq!(answer, b"answer");
    }
}
