//! Messages as bytes.
//!
//!  | len u32, big-endian | JSON … |   len counts the JSON

use std::io;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// The longest message before its sender is known.
pub(crate) const GREETING_LEN_MAX: u32 = 64 * 1024;
/// The longest message: a command with its files, or an interval of a great many publishers.
pub(crate) const MESSAGE_LEN_MAX: u32 = 256 * 1024 * 1024;

/// Why there is no message.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WireError {
    /// The other side has closed the connection, between two messages.
    #[error("the connection was closed")]
    Closed,
    /// The connection is no longer of use.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A message is longer than messages are.
    #[error("a message of {len} bytes is too long; the maximum is {len_max}")]
    TooLong { len: usize, len_max: u32 },
    /// These bytes are no message.
    #[error("invalid message: {0}")]
    Malformed(serde_json::Error),
}

/// Reads one message. When it is dropped before that, what it has read is lost.
pub(crate) async fn read<T: DeserializeOwned>(
    stream: &mut (impl AsyncRead + Unpin),
    len_max: u32,
) -> Result<T, WireError> {
    let mut head = [0; 4];
    if stream.read(&mut head[..1]).await? == 0 {
        return Err(WireError::Closed);
    }
    stream.read_exact(&mut head[1..]).await?;
    let len = u32::from_be_bytes(head);
    if len > len_max {
        return Err(WireError::TooLong { len: len as usize, len_max });
    }
    // Memory grows with what comes, not with what was announced.
    let mut body = Vec::new();
    if stream.take(len.into()).read_to_end(&mut body).await? < len as usize {
        return Err(WireError::Io(io::ErrorKind::UnexpectedEof.into()));
    }
    serde_json::from_slice(&body).map_err(WireError::Malformed)
}

/// Writes one message.
pub(crate) async fn write<T: Serialize>(stream: &mut (impl AsyncWrite + Unpin), message: &T) -> Result<(), WireError> {
    let mut bytes = vec![0; 4];
    serde_json::to_writer(&mut bytes, message).map_err(WireError::Malformed)?;
    let len = bytes.len() - 4;
    match u32::try_from(len) {
        Ok(len) if len <= MESSAGE_LEN_MAX => bytes[..4].copy_from_slice(&len.to_be_bytes()),
        _ => return Err(WireError::TooLong { len, len_max: MESSAGE_LEN_MAX }),
    }
    stream.write_all(&bytes).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::message::{FromAgent, ToAgent};
    use super::*;

    fn block_on<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
    }

    fn read_all<T: DeserializeOwned>(mut bytes: &[u8], len_max: u32) -> Result<T, WireError> {
        block_on(read(&mut bytes, len_max))
    }

    #[test]
    fn message_comes_out_as_it_went_in() {
        let mut bytes = Vec::new();
        block_on(write(&mut bytes, &FromAgent::Pong { now_ns: u64::MAX })).unwrap();
        let message: FromAgent = read_all(&bytes, GREETING_LEN_MAX).unwrap();
        assert!(matches!(message, FromAgent::Pong { now_ns: u64::MAX }));
        assert!(matches!(read_all::<FromAgent>(&[], 10), Err(WireError::Closed)));
        assert!(matches!(read_all::<FromAgent>(&bytes[..bytes.len() - 1], 100), Err(WireError::Io(_))));
    }

    #[test]
    fn message_that_is_announced_too_long_is_not_read() {
        let bytes = [0xff, 0xff, 0xff, 0xff];
        let error = read_all::<ToAgent>(&bytes, GREETING_LEN_MAX).unwrap_err();
        assert_eq!(error.to_string(), "a message of 4294967295 bytes is too long; the maximum is 65536");
    }

    proptest! {
        #[test]
        fn bytes_of_any_kind_are_an_error_at_worst(mut body in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = read_all::<ToAgent>(&body, 1 << 20);
            let mut bytes = (body.len() as u32).to_be_bytes().to_vec();
            bytes.append(&mut body);
            let _ = read_all::<ToAgent>(&bytes, 1 << 20);
            let _ = read_all::<FromAgent>(&bytes, 1 << 20);
        }
    }
}
