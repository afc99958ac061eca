//! As much of an AMQP 0-9-1 client as a load generator needs: one channel, blocking reads, frames handed out as they
//! lie in the input buffer.

use crate::arguments::Broker;
use std::io::{self, Read, Write};
use std::net::TcpStream;

pub(crate) const FRAME_METHOD: u8 = 1;
pub(crate) const FRAME_HEADER: u8 = 2;
pub(crate) const FRAME_BODY: u8 = 3;
pub(crate) const FRAME_END: u8 = 0xCE;
/// Kind, channel and length in front of a payload.
pub(crate) const FRAME_PREFIX_LEN: usize = 7;
/// The prefix and the frame end.
pub(crate) const FRAME_OVERHEAD: usize = 8;
pub(crate) const FRAME_LEN_MAX: u32 = 131_072;
/// The only channel in use.
pub(crate) const CHANNEL: u16 = 1;

pub(crate) const BASIC_ACK: (u16, u16) = (60, 80);
pub(crate) const BASIC_NACK: (u16, u16) = (60, 120);
pub(crate) const BASIC_DELIVER: (u16, u16) = (60, 60);
const CONNECTION_CLOSE: (u16, u16) = (10, 50);
const CHANNEL_CLOSE: (u16, u16) = (20, 40);

const INPUT_LEN: usize = 256 * 1024;
/// How often the broker is waited for until a connection and its channel are open.
pub(crate) const OPENING_STEPS: usize = 4;

/// A frame as it lies in the input buffer.
pub(crate) struct Frame<'a> {
    pub(crate) kind: u8,
    pub(crate) channel: u16,
    pub(crate) payload: &'a [u8],
}

impl Frame<'_> {
    /// Class and method, if it is a method.
    pub(crate) fn method(&self) -> Option<(u16, u16)> {
        if self.kind != FRAME_METHOD {
            return None;
        }
        Some((u16_at(self.payload, 0)?, u16_at(self.payload, 2)?))
    }

    /// Tag and `multiple` of basic.ack and basic.nack.
    pub(crate) fn confirm(&self) -> Option<(u64, bool)> {
        let tag = self.payload.get(4..12)?.try_into().ok()?;
        Some((u64::from_be_bytes(tag), self.payload.get(12)? & 1 != 0))
    }

    /// The delivery tag of basic.deliver.
    pub(crate) fn delivery_tag(&self) -> Option<u64> {
        let consumer_tag_len = usize::from(*self.payload.get(4)?);
        let tag = self.payload.get(5 + consumer_tag_len..)?.get(..8)?.try_into().ok()?;
        Some(u64::from_be_bytes(tag))
    }

    /// The server's words, if it closes the channel or the connection.
    pub(crate) fn refusal(&self) -> Option<io::Error> {
        let (what, from) = match self.method()? {
            CONNECTION_CLOSE => ("connection", 4),
            CHANNEL_CLOSE => ("channel", 4),
            _ => return None,
        };
        let code = u16_at(self.payload, from)?;
        let text_len = usize::from(*self.payload.get(from + 2)?);
        let text = self.payload.get(from + 3..from + 3 + text_len)?;
        Some(io::Error::other(format!("the broker closes the {what}: {code} {}", String::from_utf8_lossy(text))))
    }
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

/// Cuts a stream into frames without copying them.
pub(crate) struct FrameReader {
    input: Vec<u8>,
    start: usize,
    end: usize,
}

impl FrameReader {
    pub(crate) fn new() -> FrameReader {
        FrameReader::with_len(INPUT_LEN)
    }

    /// With this much room: for who has thousands, and expects no long frames.
    pub(crate) fn with_len(input_len: usize) -> FrameReader {
        FrameReader { input: vec![0; input_len], start: 0, end: 0 }
    }

    /// Waits for more bytes. Take all whole frames first.
    pub(crate) fn fill(&mut self, stream: &mut TcpStream) -> io::Result<()> {
        self.input.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.end == self.input.len() {
            return Err(io::Error::other("the broker sent a frame larger than was negotiated"));
        }
        let read_len = stream.read(&mut self.input[self.end..])?;
        if read_len == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the broker closed the socket"));
        }
        self.end += read_len;
        Ok(())
    }

    /// The bytes that are here and have not been taken.
    pub(crate) fn rest(&self) -> &[u8] {
        &self.input[self.start..self.end]
    }

    /// The next whole frame that is here already.
    pub(crate) fn take(&mut self) -> Option<Frame<'_>> {
        let input = &self.input[self.start..self.end];
        let prefix: &[u8; FRAME_PREFIX_LEN] = input.first_chunk()?;
        let payload_len = u32::from_be_bytes([prefix[3], prefix[4], prefix[5], prefix[6]]) as usize;
        let payload = input.get(FRAME_PREFIX_LEN..FRAME_PREFIX_LEN + payload_len)?;
        input.get(FRAME_PREFIX_LEN + payload_len)?;
        self.start += payload_len + FRAME_OVERHEAD;
        let channel = u16::from_be_bytes([prefix[1], prefix[2]]);
        Some(Frame { kind: prefix[0], channel, payload })
    }
}

/// The arguments of a method, encoded one after the other.
pub(crate) struct Payload(Vec<u8>);

impl Payload {
    /// What a table consists of, to begin with.
    pub(crate) fn empty() -> Payload {
        Payload(Vec::new())
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub(crate) fn method(class: u16, method: u16) -> Payload {
        Payload(Vec::new()).u16(class).u16(method)
    }

    pub(crate) fn u8(mut self, value: u8) -> Payload {
        self.0.push(value);
        self
    }

    pub(crate) fn u16(mut self, value: u16) -> Payload {
        self.0.extend(value.to_be_bytes());
        self
    }

    pub(crate) fn u32(mut self, value: u32) -> Payload {
        self.0.extend(value.to_be_bytes());
        self
    }

    pub(crate) fn u64(mut self, value: u64) -> Payload {
        self.0.extend(value.to_be_bytes());
        self
    }

    pub(crate) fn short(mut self, text: &str) -> Payload {
        let len = u8::try_from(text.len()).expect("names of this program are short");
        self.0.push(len);
        self.0.extend(text.as_bytes());
        self
    }

    pub(crate) fn long(mut self, bytes: &[u8]) -> Payload {
        self.0.extend((bytes.len() as u32).to_be_bytes());
        self.0.extend(bytes);
        self
    }

    /// Appends the whole frame.
    pub(crate) fn put(&self, kind: u8, channel: u16, out: &mut Vec<u8>) {
        put_frame(out, kind, channel, &self.0);
    }
}

pub(crate) fn put_frame(out: &mut Vec<u8>, kind: u8, channel: u16, payload: &[u8]) {
    out.push(kind);
    out.extend(channel.to_be_bytes());
    out.extend((payload.len() as u32).to_be_bytes());
    out.extend(payload);
    out.push(FRAME_END);
}

/// A connection with one open channel.
pub(crate) struct Connection {
    pub(crate) stream: TcpStream,
    pub(crate) frames: FrameReader,
}

impl Connection {
    /// Connects as guest and opens the channel; heartbeats are off.
    pub(crate) fn open(broker: &Broker) -> io::Result<Connection> {
        let mut connection = Connection::dial(broker, FrameReader::new())?;
        for step in 0..OPENING_STEPS {
            connection.open_step(step)?;
        }
        Ok(connection)
    }

    /// Connects and says the protocol's header. What is left to do is [`OPENING_STEPS`] steps.
    pub(crate) fn dial(broker: &Broker, frames: FrameReader) -> io::Result<Connection> {
        let stream = TcpStream::connect(broker.address)
            .map_err(|error| io::Error::new(error.kind(), format!("connecting to {}: {error}", broker.address)))?;
        stream.set_nodelay(true)?;
        let mut connection = Connection { stream, frames };
        connection.stream.write_all(b"AMQP\x00\x00\x09\x01")?;
        Ok(connection)
    }

    /// Waits for the broker's next word and answers it. Who opens many at once takes each step with all of them.
    pub(crate) fn open_step(&mut self, step: usize) -> io::Result<()> {
        match step {
            0 => {
                self.expect((10, 10))?;
                self.send(0, &Payload::method(10, 11).long(&[]).short("PLAIN").long(b"\0guest\0guest").short("en_US"))
            }
            1 => {
                let tune = self.expect((10, 30))?;
                let channel_max = u16_at(&tune, 4).ok_or_else(|| io::Error::other("connection.tune is too short"))?;
                self.send(0, &Payload::method(10, 31).u16(channel_max).u32(FRAME_LEN_MAX).u16(0))?;
                self.send(0, &Payload::method(10, 40).short("/").short("").u8(0))
            }
            2 => {
                self.expect((10, 41))?;
                self.send(CHANNEL, &Payload::method(20, 10).short(""))
            }
            _ => self.expect((20, 11)).map(drop),
        }
    }

    /// Takes leave, and waits for the answer.
    pub(crate) fn close(mut self) -> io::Result<()> {
        let close = Payload::method(10, 50).u16(200).short("").u16(0).u16(0);
        self.call(0, &close, (10, 51)).map(drop)
    }

    /// Declares the broker's queue, durable, deleting what was there.
    pub(crate) fn declare_afresh(&mut self, broker: &Broker) -> io::Result<()> {
        self.delete(broker)?;
        self.declare(broker, Payload::empty())
    }

    /// Declares the broker's queue, which is not there, with further arguments.
    pub(crate) fn declare(&mut self, broker: &Broker, mut arguments: Payload) -> io::Result<()> {
        if let Some(queue_type) = &broker.queue_type {
            arguments = arguments.short("x-queue-type").u8(b'S').long(queue_type.as_bytes());
        }
        const DURABLE: u8 = 0b10;
        let declare = Payload::method(50, 10).u16(0).short(&broker.queue).u8(DURABLE).long(arguments.bytes());
        self.call(CHANNEL, &declare, (50, 11)).map(drop)
    }

    /// How many messages of the broker's queue wait for a consumer.
    pub(crate) fn ready_count(&mut self, broker: &Broker) -> io::Result<u32> {
        const PASSIVE: u8 = 0b1;
        let declare = Payload::method(50, 10).u16(0).short(&broker.queue).u8(PASSIVE).long(&[]);
        let answer = self.call(CHANNEL, &declare, (50, 11))?;
        // Class, method and the queue's name, whose length is in front of it, come before it.
        let at = 4 + 1 + broker.queue.len();
        u32_at(&answer, at).ok_or_else(|| io::Error::other("queue.declare-ok is too short"))
    }

    pub(crate) fn delete(&mut self, broker: &Broker) -> io::Result<()> {
        self.call(CHANNEL, &Payload::method(50, 40).u16(0).short(&broker.queue).u8(0), (50, 41)).map(drop)
    }

    pub(crate) fn select_confirms(&mut self) -> io::Result<()> {
        self.call(CHANNEL, &Payload::method(85, 10).u8(0), (85, 11)).map(drop)
    }

    /// Consumes from the broker's queue: with acks and this prefetch, or with none when it is 0.
    pub(crate) fn consume(&mut self, broker: &Broker, prefetch: u16) -> io::Result<()> {
        if prefetch > 0 {
            self.call(CHANNEL, &Payload::method(60, 10).u32(0).u16(prefetch).u8(0), (60, 11))?;
        }
        const NO_ACK: u8 = 0b10;
        let flags = if prefetch == 0 { NO_ACK } else { 0 };
        let consume = Payload::method(60, 20).u16(0).short(&broker.queue).short("").u8(flags).long(&[]);
        self.call(CHANNEL, &consume, (60, 21)).map(drop)
    }

    fn send(&mut self, channel: u16, payload: &Payload) -> io::Result<()> {
        let mut out = Vec::new();
        payload.put(FRAME_METHOD, channel, &mut out);
        self.stream.write_all(&out)
    }

    pub(crate) fn call(&mut self, channel: u16, payload: &Payload, answer: (u16, u16)) -> io::Result<Vec<u8>> {
        self.send(channel, payload)?;
        self.expect(answer)
    }

    /// Reads on until this method comes.
    pub(crate) fn expect(&mut self, answer: (u16, u16)) -> io::Result<Vec<u8>> {
        loop {
            while let Some(frame) = self.frames.take() {
                if frame.method() == Some(answer) {
                    return Ok(frame.payload.to_vec());
                }
                if let Some(error) = frame.refusal() {
                    return Err(error);
                }
            }
            self.frames.fill(&mut self.stream)?;
        }
    }
}

/// basic.ack for a consumer, ready to send.
pub(crate) fn put_ack(out: &mut Vec<u8>, tag: u64, multiple: bool) {
    Payload::method(60, 80).u64(tag).u8(u8::from(multiple)).put(FRAME_METHOD, CHANNEL, out);
}
