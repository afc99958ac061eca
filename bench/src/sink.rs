//! A broker that can do nothing, as fast as it goes, for measuring load generators and proxies: any client that logs in is let in,
//! whatever is
//! published is discarded, and who consumes is sent the same message over and over. Publishes are confirmed, all that one read
//! has brought by one confirm. Every queue is as long as messages have come in all, so that `bench count` tells it. Threads and
//! blocking sockets.

use crate::arguments::Arguments;
use crate::json::Object;
use crate::wire::{FRAME_BODY, FRAME_HEADER, FRAME_LEN_MAX, FRAME_METHOD, Frame, FrameReader, Payload, put_frame};
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::mem;
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// What one write to a consumer carries, about.
const WRITE_LEN: usize = 128 * 1024;
const START_OK: (u16, u16) = (10, 11);
const OPEN: (u16, u16) = (10, 40);
const CLOSE: (u16, u16) = (10, 50);
const CHANNEL_OPEN: (u16, u16) = (20, 10);
const QUEUE_DECLARE: (u16, u16) = (50, 10);
const CONSUME: (u16, u16) = (60, 20);
const PUBLISH: (u16, u16) = (60, 40);
const CONFIRM_SELECT: (u16, u16) = (85, 10);

pub(crate) struct Sink {
    port: u16,
    size: usize,
}

impl Sink {
    pub(crate) fn parse(arguments: &Arguments) -> Result<Sink, String> {
        Ok(Sink { port: arguments.required("port")?, size: arguments.get("size", 1024)? })
    }

    /// Serves until it is killed.
    pub(crate) fn run(&self) -> io::Result<Object> {
        let listener = TcpListener::bind(("127.0.0.1", self.port))?;
        let total = Arc::new(AtomicU64::new(0));
        for stream in listener.incoming() {
            let (stream, size, total) = (stream?, self.size, total.clone());
            // A client that goes away without a word has done so before.
            thread::spawn(move || serve(stream, size, &total));
        }
        Ok(Object::new())
    }
}

/// What came over a channel.
#[derive(Default)]
struct Published {
    /// Of the message that is coming, in bytes.
    missing: u64,
    count: u64,
    has_confirms: bool,
    confirmed: u64,
}

impl Published {
    /// Whether this was the last of a message.
    fn take(&mut self, frame: &Frame<'_>) -> bool {
        match frame.kind {
            FRAME_HEADER => self.missing = body_len(frame),
            _ => self.missing = self.missing.saturating_sub(frame.payload.len() as u64),
        }
        self.count += u64::from(self.missing == 0);
        self.missing == 0
    }
}

fn serve(mut stream: TcpStream, size: usize, total: &AtomicU64) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut header = [0; 8];
    stream.read_exact(&mut header)?;
    let start = Payload::method(10, 10).u8(0).u8(9).long(&[]).long(b"PLAIN").long(b"en_US");
    send(&mut stream, 0, &start)?;
    let mut frames = FrameReader::new();
    let mut channels = BTreeMap::<u16, Published>::new();
    let mut came = 0;
    loop {
        while let Some(frame) = frames.take() {
            let channel = frame.channel;
            let Some(method) = frame.method() else {
                if matches!(frame.kind, FRAME_HEADER | FRAME_BODY) {
                    came += u64::from(channels.entry(channel).or_default().take(&frame));
                }
                continue;
            };
            if method == PUBLISH {
                continue;
            }
            // Who is answered may ask how many have come, or leave.
            total.fetch_add(mem::take(&mut came), Ordering::Relaxed);
            if let Some(answer) = answer(&frame, method, total) {
                send(&mut stream, channel, &answer)?;
            }
            match method {
                CLOSE => return Ok(()),
                CHANNEL_OPEN => drop(channels.insert(channel, Published::default())),
                CONFIRM_SELECT => channels.entry(channel).or_default().has_confirms = true,
                CONSUME => {
                    let (stream, tag) = (stream.try_clone()?, consumer_tag(&frame));
                    thread::spawn(move || feed(stream, channel, &tag, size));
                }
                _ => {}
            }
        }
        total.fetch_add(mem::take(&mut came), Ordering::Relaxed);
        confirm(&mut stream, &mut channels)?;
        frames.fill(&mut stream)?;
    }
}

/// Says for each channel how far it has come, if there is news.
fn confirm(stream: &mut TcpStream, channels: &mut BTreeMap<u16, Published>) -> io::Result<()> {
    let mut out = Vec::new();
    for (channel, published) in channels {
        if published.has_confirms && published.confirmed < published.count {
            published.confirmed = published.count;
            const MULTIPLE: u8 = 1;
            Payload::method(60, 80).u64(published.count).u8(MULTIPLE).put(FRAME_METHOD, *channel, &mut out);
        }
    }
    stream.write_all(&out)
}

/// The length of the body that a header announces.
fn body_len(header: &Frame<'_>) -> u64 {
    header.payload.get(4..12).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_be_bytes)
}

/// What a client waits for; nothing for a publish, an ack and the like.
fn answer(frame: &Frame<'_>, (class, method): (u16, u16), total: &AtomicU64) -> Option<Payload> {
    let ok = Payload::method(class, method + 1);
    Some(match (class, method) {
        START_OK => Payload::method(10, 30).u16(2047).u32(FRAME_LEN_MAX).u16(0),
        OPEN => ok.short(""),
        CHANNEL_OPEN => ok.long(&[]),
        QUEUE_DECLARE => ok.short(&text(frame.payload, 6)).u32(total.load(Ordering::Relaxed) as u32).u32(0),
        // queue.purge and queue.delete count messages.
        (50, 30 | 40) => ok.u32(0),
        CONSUME => ok.short(&consumer_tag(frame)),
        CLOSE | CONFIRM_SELECT | (20, 40) | (40, 10 | 20) | (50, 20 | 50) | (60, 10) => ok,
        _ => return None,
    })
}

/// The consumer tag that basic.consume asks for, or one for who asks for none.
fn consumer_tag(consume: &Frame<'_>) -> String {
    let queue = text(consume.payload, 6);
    let tag = text(consume.payload, 7 + queue.len());
    if tag.is_empty() { "sink".to_owned() } else { tag }
}

/// The short string at a place of a method.
fn text(payload: &[u8], at: usize) -> String {
    let len = usize::from(payload.get(at).copied().unwrap_or(0));
    String::from_utf8_lossy(payload.get(at + 1..at + 1 + len).unwrap_or_default()).into_owned()
}

fn send(stream: &mut TcpStream, channel: u16, payload: &Payload) -> io::Result<()> {
    let mut out = Vec::new();
    payload.put(FRAME_METHOD, channel, &mut out);
    stream.write_all(&out)
}

/// Sends a consumer the same message as fast as it takes it.
fn feed(mut stream: TcpStream, channel: u16, tag: &str, size: usize) -> io::Result<()> {
    let mut message = Vec::new();
    let deliver = Payload::method(60, 60).short(tag).u64(1).u8(0).short("").short("q");
    deliver.put(FRAME_METHOD, channel, &mut message);
    Payload::method(60, 0).u64(size as u64).u16(0).put(FRAME_HEADER, channel, &mut message);
    put_frame(&mut message, FRAME_BODY, channel, &vec![0; size]);
    let batch = message.repeat((WRITE_LEN / message.len()).max(1));
    loop {
        stream.write_all(&batch)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::publish::Publish;

    #[test]
    fn a_message_counts_when_its_last_byte_has_come() {
        for (len, frames) in [(0, 1), (20, 2)] {
            let mut stream = Publish::encode("q", len, false).bytes().to_vec();
            // Without the method.
            let method_len = usize::from(stream[6]) + 8;
            stream.drain(..method_len);
            let mut published = Published::default();
            let mut at = 0;
            let ends: Vec<bool> = std::iter::from_fn(|| {
                let payload_len = usize::from(*stream.get(at + 6)?);
                let frame = Frame { kind: stream[at], channel: 1, payload: &stream[at + 7..at + 7 + payload_len] };
                at += payload_len + 8;
                Some(published.take(&frame))
            })
            .collect();
            assert_eq!((ends.len(), ends.last(), published.count), (frames, Some(&true), 1));
        }
    }
}
