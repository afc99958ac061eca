//! A broker that does nothing, to see what a load generator can do at most: whatever is asked for is there, what is
//! published is discarded, and who consumes is sent the same message over and over. Threads and blocking sockets; there are no
//! confirms.

use crate::arguments::Arguments;
use crate::json::Object;
use crate::wire::{FRAME_BODY, FRAME_HEADER, FRAME_LEN_MAX, FRAME_METHOD, Frame, FrameReader, Payload, put_frame};
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

/// What one write to a consumer carries, about.
const WRITE_LEN: usize = 128 * 1024;
const START_OK: (u16, u16) = (10, 11);
const OPEN: (u16, u16) = (10, 40);
const CLOSE: (u16, u16) = (10, 50);
const QUEUE_DECLARE: (u16, u16) = (50, 10);
const CONSUME: (u16, u16) = (60, 20);

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
        for stream in listener.incoming() {
            let (stream, size) = (stream?, self.size);
            // A client that goes away without a word has done so before.
            thread::spawn(move || serve(stream, size));
        }
        Ok(Object::new())
    }
}

fn serve(mut stream: TcpStream, size: usize) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut header = [0; 8];
    stream.read_exact(&mut header)?;
    let start = Payload::method(10, 10).u8(0).u8(9).long(&[]).long(b"PLAIN").long(b"en_US");
    send(&mut stream, 0, &start)?;
    let mut frames = FrameReader::new();
    loop {
        while let Some(frame) = frames.take() {
            let Some(method) = frame.method() else { continue };
            let channel = frame.channel;
            if let Some(answer) = answer(&frame, method) {
                send(&mut stream, channel, &answer)?;
            }
            match method {
                CLOSE => return Ok(()),
                CONSUME => {
                    let (stream, tag) = (stream.try_clone()?, consumer_tag(&frame));
                    thread::spawn(move || feed(stream, channel, &tag, size));
                }
                _ => {}
            }
        }
        frames.fill(&mut stream)?;
    }
}

/// What a client waits for; nothing for a publish, an ack and the like.
fn answer(frame: &Frame<'_>, (class, method): (u16, u16)) -> Option<Payload> {
    let ok = Payload::method(class, method + 1);
    Some(match (class, method) {
        START_OK => Payload::method(10, 30).u16(2047).u32(FRAME_LEN_MAX).u16(0),
        OPEN => ok.short(""),
        (20, 10) => ok.long(&[]),
        QUEUE_DECLARE => ok.short(&text(frame.payload, 6)).u32(0).u32(0),
        // queue.purge and queue.delete count messages.
        (50, 30 | 40) => ok.u32(0),
        CONSUME => ok.short(&consumer_tag(frame)),
        CLOSE | (20, 40) | (40, 10 | 20) | (50, 20 | 50) | (60, 10) | (85, 10) => ok,
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
