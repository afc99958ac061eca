//! A consumer that reads the stamps of what it is sent.

use crate::publish;
use crate::wire::{self, BASIC_DELIVER, Connection, FRAME_BODY};
use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};

/// Takes deliveries until the connection ends, and acknowledges each if `has_acks`. Tells `arrived` the stamp of each message, and counts
/// them in `delivered`.
pub(crate) fn consume(
    mut connection: Connection,
    has_acks: bool,
    delivered: &AtomicU64,
    mut arrived: impl FnMut(u64),
) -> io::Result<()> {
    let mut out = Vec::new();
    loop {
        let mut count = 0;
        out.clear();
        while let Some(frame) = connection.frames.take() {
            if frame.kind == FRAME_BODY {
                arrived(publish::stamp_of(frame.payload).ok_or_else(|| io::Error::other("a body is too short"))?);
                count += 1;
            } else if frame.method() == Some(BASIC_DELIVER) && has_acks {
                let tag = frame.delivery_tag().ok_or_else(|| io::Error::other("torn basic.deliver"))?;
                wire::put_ack(&mut out, tag, false);
            } else if let Some(refusal) = frame.refusal() {
                return Err(refusal);
            }
        }
        if !out.is_empty() {
            connection.stream.write_all(&out)?;
        }
        delivered.fetch_add(count, Ordering::Relaxed);
        connection.frames.fill(&mut connection.stream)?;
    }
}
