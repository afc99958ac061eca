//! A file that is given to a peer.

use crc32c::crc32c_append;
use tokio::sync::mpsc;

use crate::wire::{FILE_PIECE_LEN_MAX, FileFrame, OutgoingFrame};

/// The fetching peer has left, or no longer wants the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the peer no longer wants the file")]
pub struct FileAbandoned;

/// Gives a peer a file, from a thread that reads it: none of a runtime, nor that of the links, since it waits for the peer.
///
/// Dropped before its end, it says that the file cannot be read.
#[derive(Debug)]
pub struct FileAnswer {
    to: mpsc::Sender<Reply>,
    checksum: u32,
}

#[derive(Debug)]
pub(super) struct Reply {
    pub(super) frame: OutgoingFrame,
    pub(super) is_last: bool,
}

impl FileAnswer {
    /// One whose parts go there.
    pub(super) fn new(to: mpsc::Sender<Reply>) -> Self {
        FileAnswer { to, checksum: 0 }
    }

    /// It is there, and so long, with what comes before the offset that was asked for.
    ///
    /// # Errors
    ///
    /// It is no longer wanted.
    pub fn begin(&mut self, len: u64) -> Result<(), FileAbandoned> {
        self.send(&FileFrame::Begins { len })
    }

    /// What follows, from the offset on, however much. Waits while the peer is behind.
    ///
    /// # Errors
    ///
    /// It is no longer wanted.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), FileAbandoned> {
        self.checksum = crc32c_append(self.checksum, bytes);
        bytes.chunks(FILE_PIECE_LEN_MAX).try_for_each(|piece| self.send(&FileFrame::Piece(piece)))
    }

    /// That was all of it.
    pub fn end(self) {
        let checksum = self.checksum;
        self.finish(&FileFrame::End { checksum });
    }

    /// It has been deleted.
    pub fn missing(self) {
        self.finish(&FileFrame::Missing);
    }

    fn finish(self, frame: &FileFrame<'_>) {
        let reply = Reply { frame: frame.encode(), is_last: true };
        // Without a wait if there is room, so that also the thread of the links may say at once that it has nothing.
        if let Err(mpsc::error::TrySendError::Full(reply)) = self.to.try_send(reply) {
            let _ = self.to.blocking_send(reply);
        }
    }

    fn send(&mut self, frame: &FileFrame<'_>) -> Result<(), FileAbandoned> {
        self.to.blocking_send(Reply { frame: frame.encode(), is_last: false }).map_err(|_| FileAbandoned)
    }
}
