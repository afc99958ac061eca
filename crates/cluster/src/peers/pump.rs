//! One connection's two directions at once: frames from a queue out, frames in to their receivers.

use std::future::poll_fn;
use std::task::{Context, Poll};

use net::Stream;
use tokio::io::ReadBuf;

use super::limits::{TURN_LEN, WRITE_LEN};
use super::queue::LaneQueue;
use super::statistics::LaneCounters;
use crate::wire::{FrameReader, FrameWriter, Lane, OutgoingFrame};

/// What drives a connection.
pub(super) struct Pump<'a> {
    stream: &'a mut Stream,
    queue: &'a LaneQueue,
    counters: &'a LaneCounters,
    reader: FrameReader,
    writer: FrameWriter,
    /// What is being copied to `output`.
    frame: Option<OutgoingFrame>,
    /// Bytes of it from `written` on are not written.
    output: Vec<u8>,
    written: usize,
}

/// What is done with the bodies that come.
pub(super) trait Receive {
    /// Takes one. An error ends the connection, and says why.
    fn frame(&mut self, body: &[u8]) -> Result<(), String>;

    /// Whether there may be more. When that becomes true again, the queue is woken.
    fn is_willing(&self) -> bool {
        true
    }
}

impl<'a> Pump<'a> {
    pub(super) fn new(stream: &'a mut Stream, lane: Lane, queue: &'a LaneQueue, counters: &'a LaneCounters) -> Self {
        Pump {
            stream,
            queue,
            counters,
            reader: FrameReader::new(lane),
            writer: FrameWriter::default(),
            frame: None,
            output: Vec::new(),
            written: 0,
        }
    }

    /// Until the connection ends: why it did.
    pub(super) async fn run(mut self, receiver: &mut impl Receive) -> String {
        poll_fn(|cx| {
            if let Poll::Ready(reason) = self.poll_write(cx) {
                return Poll::Ready(reason);
            }
            self.poll_read(cx, receiver)
        })
        .await
    }

    fn poll_write(&mut self, cx: &mut Context<'_>) -> Poll<String> {
        loop {
            if self.written == self.output.len() {
                self.gather(cx);
                if self.output.is_empty() {
                    return match self.stream.poll_flush(cx) {
                        Poll::Ready(Err(error)) => Poll::Ready(error.to_string()),
                        _ => Poll::Pending,
                    };
                }
            }
            match self.stream.poll_write(cx, &self.output[self.written..]) {
                Poll::Ready(Ok(0)) => return Poll::Ready("the connection takes nothing more".to_owned()),
                Poll::Ready(Ok(count)) => {
                    self.written += count;
                    self.counters.bytes_sent.add(count as u64);
                }
                Poll::Ready(Err(error)) => return Poll::Ready(error.to_string()),
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    /// Fills the output with what waits. Without anything, the queue wakes this task when there is.
    fn gather(&mut self, cx: &mut Context<'_>) {
        self.output.clear();
        self.written = 0;
        while self.output.len() < WRITE_LEN {
            if self.frame.is_none() {
                let Poll::Ready(frame) = self.queue.poll_pop(cx) else { return };
                self.frame = Some(frame);
            }
            if let Some(frame) = &self.frame
                && self.writer.write(frame, &mut self.output, WRITE_LEN)
            {
                self.frame = None;
                self.counters.frames_sent.add(1);
            }
        }
    }

    fn poll_read(&mut self, cx: &mut Context<'_>, receiver: &mut impl Receive) -> Poll<String> {
        let mut left = TURN_LEN;
        loop {
            while receiver.is_willing() {
                match self.reader.take() {
                    Ok(Some(body)) => {
                        self.counters.frames_received.add(1);
                        if let Err(reason) = receiver.frame(body) {
                            return Poll::Ready(reason);
                        }
                    }
                    Ok(None) => break,
                    Err(error) => return Poll::Ready(format!("it sends {error}")),
                }
            }
            if !receiver.is_willing() {
                return Poll::Pending;
            }
            if left == 0 {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            let mut room = ReadBuf::new(self.reader.space());
            match self.stream.poll_read(cx, &mut room) {
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(error)) => return Poll::Ready(error.to_string()),
                Poll::Pending => return Poll::Pending,
            }
            let count = room.filled().len();
            if count == 0 {
                let is_whole = self.reader.is_between_frames();
                let place = if is_whole { "" } else { ", in the middle of a frame" };
                return Poll::Ready(format!("it closed the connection{place}"));
            }
            self.reader.fill(count);
            self.counters.bytes_received.add(count as u64);
            left = left.saturating_sub(count);
        }
    }
}

/// For connections on which nothing comes this way.
pub(super) struct Silence;

impl Receive for Silence {
    fn frame(&mut self, _body: &[u8]) -> Result<(), String> {
        Err("it speaks where it only listens".to_owned())
    }
}
