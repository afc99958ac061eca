//! A connection on which one side speaks after the other.

use net::Stream;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::limits::WRITE_LEN;
use super::statistics::LaneCounters;
use crate::wire::{FrameReader, FrameWriter, Lane, OutgoingFrame};

/// Frames over a stream, read and written in turns.
#[derive(Debug)]
pub(super) struct FrameStream {
    stream: Stream,
    reader: FrameReader,
}

impl FrameStream {
    pub(super) fn new(stream: Stream, lane: Lane) -> Self {
        FrameStream { stream, reader: FrameReader::new(lane) }
    }

    /// The next body; none where the connection ends between frames.
    pub(super) async fn next<T>(
        &mut self,
        counters: &LaneCounters,
        read: impl FnOnce(&[u8]) -> T,
    ) -> Result<Option<T>, String> {
        loop {
            if let Some(body) = self.reader.take().map_err(|error| format!("it sends {error}"))? {
                counters.frames_received.add(1);
                return Ok(Some(read(body)));
            }
            let count = self.stream.read(self.reader.space()).await.map_err(|error| error.to_string())?;
            if count == 0 {
                let is_whole = self.reader.is_between_frames();
                return if is_whole { Ok(None) } else { Err("it closed the connection within a frame".to_owned()) };
            }
            self.reader.fill(count);
            counters.bytes_received.add(count as u64);
        }
    }

    pub(super) async fn send(&mut self, frame: &OutgoingFrame, counters: &LaneCounters) -> Result<(), String> {
        send(&mut self.stream, frame, counters).await
    }
}

/// Writes one frame.
pub(super) async fn send(stream: &mut Stream, frame: &OutgoingFrame, counters: &LaneCounters) -> Result<(), String> {
    let mut writer = FrameWriter::default();
    let mut output = Vec::new();
    loop {
        output.clear();
        let is_whole = writer.write(frame, &mut output, WRITE_LEN);
        stream.write_all(&output).await.map_err(|error| error.to_string())?;
        counters.bytes_sent.add(output.len() as u64);
        if is_whole {
            break;
        }
    }
    counters.frames_sent.add(1);
    stream.flush().await.map_err(|error| error.to_string())
}

/// Reads one frame and not a byte more: what follows is not for us.
pub(super) async fn read_one<T>(
    stream: &mut Stream,
    lane: Lane,
    counters: &LaneCounters,
    read: impl FnOnce(&[u8]) -> T,
) -> Result<T, String> {
    let mut reader = FrameReader::new(lane);
    loop {
        let lacking = reader.lacking();
        let space = reader.space();
        let len = space.len().min(lacking);
        let count = stream.read(&mut space[..len]).await.map_err(|error| error.to_string())?;
        if count == 0 {
            return Err("it closed the connection within a frame".to_owned());
        }
        reader.fill(count);
        counters.bytes_received.add(count as u64);
        if let Some(body) = reader.take().map_err(|error| format!("it sends {error}"))? {
            counters.frames_received.add(1);
            return Ok(read(body));
        }
    }
}
