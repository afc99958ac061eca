//! Files, asked for by the node that lacks them.
//!
//! ```text
//!  1 request     | group u32 | 1, checkpoint | index u64 | offset u64 |
//!                | group u32 | 2, segment    | id u32    | offset u64 |
//!  2 begins      | len u64, of the whole file |
//!  3 piece       | up to 256 KiB, from the offset on |
//!  4 end         | crc32c u32 of all pieces |
//!  5 missing     the file has been deleted
//!  6 broken      it is there, and cannot be read
//! ```
//!
//! One file after the other on a connection.

use consensus::{GroupId, Index};

use crate::wire::error::FrameError;
use crate::wire::frame::OutgoingFrame;
use crate::wire::lane::Lane;
use crate::wire::limits::FILE_PIECE_LEN_MAX;
use crate::wire::reader::Reader;

/// Which file of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FileName {
    /// The checkpoint of the manifest that has this index.
    Checkpoint {
        /// The manifest's.
        index: Index,
    },
    /// A segment.
    Segment {
        /// Its id.
        id: u32,
    },
}

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileRequest {
    /// Whose file.
    pub group: GroupId,
    /// Which.
    pub file: FileName,
    /// From where on: what came before an interruption need not come again.
    pub offset: u64,
}

/// A frame of the lane of files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileFrame<'a> {
    /// A file is asked for.
    Request(FileRequest),
    /// It is there.
    Begins {
        /// All its bytes, those before the offset, too.
        len: u64,
    },
    /// Its next bytes.
    Piece(&'a [u8]),
    /// That was all.
    End {
        /// CRC-32C of all pieces.
        checksum: u32,
    },
    /// It has been deleted.
    Missing,
    /// It cannot be read.
    Broken,
}

impl<'a> FileFrame<'a> {
    /// A frame.
    ///
    /// # Panics
    ///
    /// A piece is longer than `FILE_PIECE_LEN_MAX`.
    #[must_use]
    pub fn encode(&self) -> OutgoingFrame {
        OutgoingFrame::of(Lane::Files, |to| match self {
            FileFrame::Request(FileRequest { group, file, offset }) => {
                to.push(1);
                to.extend_from_slice(&group.0.to_le_bytes());
                match file {
                    FileName::Checkpoint { index } => {
                        to.push(1);
                        to.extend_from_slice(&index.0.to_le_bytes());
                    }
                    FileName::Segment { id } => {
                        to.push(2);
                        to.extend_from_slice(&id.to_le_bytes());
                    }
                }
                to.extend_from_slice(&offset.to_le_bytes());
            }
            FileFrame::Begins { len } => {
                to.push(2);
                to.extend_from_slice(&len.to_le_bytes());
            }
            FileFrame::Piece(bytes) => {
                assert!(bytes.len() <= FILE_PIECE_LEN_MAX, "a piece of {} bytes", bytes.len());
                to.push(3);
                to.extend_from_slice(bytes);
            }
            FileFrame::End { checksum } => {
                to.push(4);
                to.extend_from_slice(&checksum.to_le_bytes());
            }
            FileFrame::Missing => to.push(5),
            FileFrame::Broken => to.push(6),
        })
    }

    /// What a frame says.
    ///
    /// # Errors
    ///
    /// Nothing that a node sends on this lane.
    pub fn decode(body: &'a [u8]) -> Result<Self, FrameError> {
        let mut reader = Reader(body);
        let frame = match reader.u8()? {
            1 => {
                let group = GroupId(reader.u32()?);
                let file = match reader.u8()? {
                    1 => FileName::Checkpoint { index: Index(reader.u64()?) },
                    2 => FileName::Segment { id: reader.u32()? },
                    _ => return Err(FrameError::Impossible("file")),
                };
                FileFrame::Request(FileRequest { group, file, offset: reader.u64()? })
            }
            2 => FileFrame::Begins { len: reader.u64()? },
            3 => FileFrame::Piece(reader.rest()),
            4 => FileFrame::End { checksum: reader.u32()? },
            5 => FileFrame::Missing,
            6 => FileFrame::Broken,
            _ => return Err(FrameError::Impossible("frame of a file")),
        };
        reader.end()?;
        match frame {
            FileFrame::Piece(bytes) if bytes.len() > FILE_PIECE_LEN_MAX => Err(FrameError::Impossible("piece")),
            frame => Ok(frame),
        }
    }
}
