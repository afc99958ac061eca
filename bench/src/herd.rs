//! Very many clients that do next to nothing: how long until all have a connection and a channel when they come at once, and what
//! each costs the broker while it rests.

use crate::arguments::{Arguments, Broker};
use crate::json::Object;
use crate::process;
use crate::publish::Publish;
use crate::wire::{Connection, FrameReader, OPENING_STEPS};
use std::io::{self, Write};
use std::thread;
use std::time::{Duration, Instant};

const THREADS: usize = 8;
/// A broker's longest word to a client who opens a connection is its first, about itself.
const INPUT_LEN: usize = 8 * 1024;
/// A client who is not answered for so long fails the run.
const TIMEOUT: Duration = Duration::from_secs(60);

/// One run against one broker.
pub(crate) struct Herd {
    broker: Broker,
    clients: usize,
    hold: Duration,
}

impl Herd {
    pub(crate) fn parse(arguments: &Arguments) -> Result<Herd, String> {
        Ok(Herd {
            broker: arguments.broker()?,
            clients: arguments.get("clients", 10_000)?,
            hold: arguments.seconds("hold-s", 3.0)?,
        })
    }

    /// All come, rest, publish one message each to a queue that is there already, rest again; then all are gone in the same
    /// instant, and come back.
    pub(crate) fn run(&self) -> io::Result<Object> {
        let before_bytes = self.memory()?;
        let (herd, opened_s) = self.open()?;
        thread::sleep(self.hold);
        let open_bytes = self.memory()?;
        let herd = self.publish(herd)?;
        thread::sleep(self.hold);
        let published_bytes = self.memory()?;
        let fled_at = Instant::now();
        drop(herd);
        let (herd, _) = self.open()?;
        let reopened_s = fled_at.elapsed().as_secs_f64();
        // A connection that is open and does not work would be no merit.
        let herd = self.publish(herd)?;
        thread::sleep(self.hold);
        let again_bytes = self.memory()?;
        drop(herd);
        Ok(Object::new()
            .field("clients", self.clients)
            .field("sent", 2 * self.clients)
            .number("opened_s", opened_s)
            .number("reopened_s", reopened_s)
            .field("rss_before_bytes", before_bytes)
            .field("rss_open_bytes", open_bytes)
            .field("rss_published_bytes", published_bytes)
            .field("rss_again_bytes", again_bytes))
    }

    fn memory(&self) -> io::Result<u64> {
        process::rss_anon_bytes(&self.broker.pids)
    }

    /// Each step of a connection's beginning is taken by all clients before anyone takes the next, so that all are under way
    /// at the same time. Seconds until the last has its channel.
    fn open(&self) -> io::Result<(Vec<Connection>, f64)> {
        let started_at = Instant::now();
        let herd = thread::scope(|scope| {
            let parts: Vec<_> = (0..THREADS).map(|number| scope.spawn(move || self.open_part(number))).collect();
            let mut herd = Vec::with_capacity(self.clients);
            for part in parts {
                herd.append(&mut part.join().expect("threads here do not panic")?);
            }
            Ok::<_, io::Error>(herd)
        })?;
        Ok((herd, started_at.elapsed().as_secs_f64()))
    }

    fn open_part(&self, number: usize) -> io::Result<Vec<Connection>> {
        let mut part = Vec::new();
        for _ in (number..self.clients).step_by(THREADS) {
            let connection = Connection::dial(&self.broker, FrameReader::with_len(INPUT_LEN))?;
            connection.stream.set_read_timeout(Some(TIMEOUT))?;
            part.push(connection);
        }
        for step in 0..OPENING_STEPS {
            part.iter_mut().try_for_each(|connection| connection.open_step(step))?;
        }
        Ok(part)
    }

    fn publish(&self, mut herd: Vec<Connection>) -> io::Result<Vec<Connection>> {
        let publish = Publish::encode(&self.broker.queue, 16, false);
        herd.iter_mut().try_for_each(|connection| connection.stream.write_all(publish.bytes()))?;
        Ok(herd)
    }
}
