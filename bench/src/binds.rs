//! Binds: many durable queues declared and bound to a topic exchange, from one connection that waits for each answer; what
//! that takes in time and memory, and whether routing by a literal key minds how many bindings there are.

use crate::arguments::{Arguments, Broker};
use crate::json::Object;
use crate::process;
use crate::publish::Publish;
use crate::unconfirmed::Unconfirmed;
use crate::wire::{BASIC_ACK, BASIC_NACK, CHANNEL, Connection, Payload};
use std::io::{self, Write};
use std::time::Instant;

const EXCHANGE: &str = "amq.topic";
/// Keys that messages are published with, however many more are bound.
const KEY_COUNT: u64 = 1000;
/// Times that `publishes` are sent, and purged.
const ROUND_COUNT: u32 = 8;
const BODY_LEN: usize = 16;
const WINDOW: u64 = 1000;

/// One run against one broker.
pub(crate) struct Binds {
    broker: Broker,
    count: u64,
    publishes: u64,
    /// Leaves the queues behind.
    is_kept: bool,
}

impl Binds {
    pub(crate) fn parse(arguments: &Arguments) -> Result<Binds, String> {
        let binds = Binds {
            broker: arguments.broker()?,
            count: arguments.get("count", 100_000)?,
            publishes: arguments.get("publishes", 500_000)?,
            is_kept: arguments.get("keep", false)?,
        };
        if binds.count < KEY_COUNT {
            return Err(format!("--count: at least {KEY_COUNT}"));
        }
        Ok(binds)
    }

    pub(crate) fn run(&self) -> io::Result<Object> {
        let mut connection = Connection::open(&self.broker)?;
        connection.select_confirms()?;
        let idle_bytes = process::rss_anon_bytes(&self.broker.pids)?;
        let wall_s = declare(&mut connection, 0..self.count)?;
        let full_bytes = process::rss_anon_bytes(&self.broker.pids)?;
        let mut unconfirmed = Unconfirmed::new();
        let mut publish_us = 0.0;
        for _ in 0..ROUND_COUNT {
            // A checkpoint walks through all queues. With no backlog to speak of there is none, and what is measured is the way of a
            // message.
            publish_us += self.publish(&mut connection, &mut unconfirmed)? / f64::from(ROUND_COUNT);
            purge(&mut connection)?;
        }
        if !self.is_kept {
            for number in 0..self.count {
                let name = name_of(number);
                connection.call(CHANNEL, &Payload::method(50, 40).u16(0).short(&name).u8(0), (50, 41))?;
            }
        }
        let growth_bytes = full_bytes as f64 - idle_bytes as f64;
        Ok(Object::new()
            .field("queues", self.count)
            .number("declare_and_bind_s", wall_s)
            .number("declare_and_bind_per_s", self.count as f64 / wall_s)
            .number("rss_anon_idle_mib", idle_bytes as f64 / MIB)
            .number("rss_anon_mib", full_bytes as f64 / MIB)
            .number("bytes_per_queue", growth_bytes / self.count as f64)
            .number("publish_cpu_us", publish_us))
    }

    /// Publishes under the first keys, and says what a message costs the broker, in microseconds of CPU.
    fn publish(&self, connection: &mut Connection, unconfirmed: &mut Unconfirmed) -> io::Result<f64> {
        let publishes: Vec<_> =
            (0..KEY_COUNT).map(|number| Publish::encode_for(EXCHANGE, &name_of(number), BODY_LEN, false)).collect();
        let before_s = process::cpu_s(&self.broker.pids)?;
        let start = unconfirmed.settled_count();
        let (mut sent, mut out) = (0, Vec::new());
        while unconfirmed.settled_count() - start < self.publishes {
            out.clear();
            let until = (unconfirmed.settled_count() - start + WINDOW).min(self.publishes);
            while sent < until {
                out.extend_from_slice(publishes[(sent % KEY_COUNT) as usize].bytes());
                sent += 1;
            }
            connection.stream.write_all(&out)?;
            connection.frames.fill(&mut connection.stream)?;
            while let Some(frame) = connection.frames.take() {
                match frame.method() {
                    Some(BASIC_ACK) => {
                        let (tag, multiple) = frame.confirm().ok_or_else(|| io::Error::other("torn basic.ack"))?;
                        unconfirmed.confirm(tag, multiple, |_| ());
                    }
                    Some(BASIC_NACK) => return Err(io::Error::other("the broker refused a message (basic.nack)")),
                    _ => frame.refusal().map_or(Ok(()), Err)?,
                }
            }
        }
        Ok((process::cpu_s(&self.broker.pids)? - before_s) / self.publishes as f64 * 1e6)
    }
}

const MIB: f64 = 1_048_576.0;

fn name_of(number: u64) -> String {
    format!("binds.{number}")
}

/// Declares and binds these queues, one after the other, and says how many seconds that took.
fn declare(connection: &mut Connection, numbers: std::ops::Range<u64>) -> io::Result<f64> {
    const DURABLE: u8 = 0b10;
    let start = Instant::now();
    for number in numbers {
        let name = name_of(number);
        let declare = Payload::method(50, 10).u16(0).short(&name).u8(DURABLE).long(&[]);
        connection.call(CHANNEL, &declare, (50, 11))?;
        let bind = Payload::method(50, 20).u16(0).short(&name).short(EXCHANGE).short(&name).u8(0).long(&[]);
        connection.call(CHANNEL, &bind, (50, 21))?;
    }
    Ok(start.elapsed().as_secs_f64())
}

fn purge(connection: &mut Connection) -> io::Result<()> {
    for number in 0..KEY_COUNT {
        connection.call(CHANNEL, &Payload::method(50, 30).u16(0).short(&name_of(number)).u8(0), (50, 31))?;
    }
    Ok(())
}
