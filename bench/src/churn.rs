//! A connection for each message: open, publish one, close, and the same again. Each client waits for every answer, as
//! programs do that live only for a request.

use crate::arguments::{Arguments, Broker};
use crate::json::Object;
use crate::publish::Publish;
use crate::wire::{BASIC_ACK, Connection};
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// One run against one broker.
pub(crate) struct Churn {
    broker: Broker,
    clients: usize,
    body_len: usize,
    has_confirms: bool,
    measure: Duration,
}

impl Churn {
    pub(crate) fn parse(arguments: &Arguments) -> Result<Churn, String> {
        Ok(Churn {
            broker: arguments.broker()?,
            clients: arguments.get("clients", 20)?,
            body_len: arguments.get("size", 100)?,
            has_confirms: arguments.get("window", 0)? > 0,
            measure: arguments.seconds("measure-s", 5.0)?,
        })
    }

    /// Publishes to a queue that is there already.
    pub(crate) fn run(&self) -> io::Result<Object> {
        let (started_at, is_over) = (Instant::now(), AtomicBool::new(false));
        let sent = thread::scope(|scope| {
            let clients: Vec<_> = (0..self.clients).map(|_| scope.spawn(|| self.repeat(&is_over))).collect();
            thread::sleep(self.measure);
            is_over.store(true, Ordering::Relaxed);
            clients.into_iter().map(|client| client.join().expect("threads here do not panic")).sum::<io::Result<u64>>()
        })?;
        let wall_s = started_at.elapsed().as_secs_f64();
        Ok(Object::new().field("sent", sent).number("messages_per_s", sent as f64 / wall_s).number("wall_s", wall_s))
    }

    fn repeat(&self, is_over: &AtomicBool) -> io::Result<u64> {
        let publish = Publish::encode(&self.broker.queue, self.body_len, false);
        let mut sent = 0;
        while !is_over.load(Ordering::Relaxed) {
            let mut connection = Connection::open(&self.broker)?;
            if self.has_confirms {
                connection.select_confirms()?;
            }
            connection.stream.write_all(publish.bytes())?;
            if self.has_confirms {
                connection.expect(BASIC_ACK)?;
            }
            connection.close()?;
            sent += 1;
        }
        Ok(sent)
    }
}
