//! Fetching messages one by one: basic.get, its answer, basic.ack, for each message of a queue that was filled before. The result is
//! CPU time of the broker a message, from the first get to the last.

use crate::arguments::{Arguments, Broker};
use crate::histogram::Histogram;
use crate::json::Object;
use crate::process;
use crate::publish::Publish;
use crate::unconfirmed::Unconfirmed;
use crate::wire::{self, BASIC_ACK, CHANNEL, Connection, FRAME_HEADER, FRAME_METHOD, Payload};
use std::io::{self, Write};
use std::time::Instant;

const GET_OK: (u16, u16) = (60, 71);
const GET_EMPTY: (u16, u16) = (60, 72);
/// Publishes of one write while the queue is filled.
const FILL_COUNT: u64 = 100;

/// One run against one broker.
pub(crate) struct Gets {
    broker: Broker,
    body_len: usize,
    count: u64,
    is_persistent: bool,
}

impl Gets {
    pub(crate) fn parse(arguments: &Arguments) -> Result<Gets, String> {
        Ok(Gets {
            broker: arguments.broker()?,
            body_len: arguments.get("size", 1024)?,
            count: arguments.get("count", 30_000)?,
            is_persistent: arguments.get("persistent", false)?,
        })
    }

    pub(crate) fn run(&self) -> io::Result<Object> {
        let mut connection = Connection::open(&self.broker)?;
        connection.declare_afresh(&self.broker)?;
        self.fill()?;
        let get = Payload::method(60, 70).u16(0).short(&self.broker.queue).u8(0);
        let (from, cpu_before_s) = (Instant::now(), process::cpu_s(&self.broker.pids)?);
        let mut histogram = Histogram::new();
        let mut out = Vec::new();
        for _ in 0..self.count {
            let asked_at = Instant::now();
            out.clear();
            get.put(FRAME_METHOD, CHANNEL, &mut out);
            connection.stream.write_all(&out)?;
            let tag = fetched(&mut connection)?;
            histogram.record(asked_at.elapsed().as_nanos() as u64);
            out.clear();
            wire::put_ack(&mut out, tag, false);
            connection.stream.write_all(&out)?;
        }
        let (wall_s, cpu_s) = (from.elapsed().as_secs_f64(), process::cpu_s(&self.broker.pids)? - cpu_before_s);
        connection.delete(&self.broker)?;
        Ok(Object::new()
            .number("messages_per_s", self.count as f64 / wall_s)
            .number("cpu_us_per_message", cpu_s * 1e6 / self.count as f64)
            .number("broker_cpu_s", cpu_s)
            .number("wall_s", wall_s)
            .field("get", histogram.percentiles()))
    }

    fn fill(&self) -> io::Result<()> {
        let mut connection = Connection::open(&self.broker)?;
        connection.select_confirms()?;
        let publish = Publish::encode(&self.broker.queue, self.body_len, self.is_persistent);
        let mut unconfirmed = Unconfirmed::new();
        let mut sent = 0;
        while sent < self.count {
            let count = FILL_COUNT.min(self.count - sent);
            connection.stream.write_all(&publish.repeated(count as usize))?;
            sent += count;
            while unconfirmed.settled_count() < sent {
                while let Some(frame) = connection.frames.take() {
                    match frame.method() {
                        Some(BASIC_ACK) => {
                            let (tag, multiple) = frame.confirm().ok_or_else(|| io::Error::other("torn basic.ack"))?;
                            unconfirmed.confirm(tag, multiple, |_| ());
                        }
                        _ => frame.refusal().map_or(Ok(()), Err)?,
                    }
                }
                if unconfirmed.settled_count() < sent {
                    connection.frames.fill(&mut connection.stream)?;
                }
            }
        }
        Ok(())
    }
}

/// The delivery tag of the message that comes, once all of it is here.
fn fetched(connection: &mut Connection) -> io::Result<u64> {
    let mut tag = None;
    let mut missing_len = None;
    loop {
        while let Some(frame) = connection.frames.take() {
            match (frame.method(), frame.kind) {
                (Some(GET_OK), _) => tag = frame.payload.get(4..12).and_then(|bytes| bytes.try_into().ok()),
                (Some(GET_EMPTY), _) => return Err(io::Error::other("the queue is empty before its time")),
                (Some(_), _) => frame.refusal().map_or(Ok(()), Err)?,
                (None, FRAME_HEADER) => {
                    missing_len =
                        frame.payload.get(4..12).and_then(|bytes| bytes.try_into().ok()).map(u64::from_be_bytes)
                }
                (None, _) => missing_len = missing_len.map(|len| len.saturating_sub(frame.payload.len() as u64)),
            }
            if let (Some(tag), Some(0)) = (tag, missing_len) {
                return Ok(u64::from_be_bytes(tag));
            }
        }
        connection.frames.fill(&mut connection.stream)?;
    }
}
