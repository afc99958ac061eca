//! What a message costs that comes alone: each publisher waits for the answer to its last message before it sends the next, as
//! programs do that have one thing to say and want to know that it was kept.
//!
//! The answer is the confirm of one publish, or tx.commit-ok of a transaction of some. Answers are timed from the write that they are to,
//! and so are deliveries. The result is CPU time of the broker a message.

use crate::arguments::{Arguments, Broker};
use crate::consume::consume;
use crate::histogram::Histogram;
use crate::json::Object;
use crate::process;
use crate::publish::{Publish, STAMP_LEN};
use crate::wire::{BASIC_ACK, CHANNEL, Connection, FRAME_METHOD, Payload};
use std::io::{self, Write};
use std::net::Shutdown;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

const TX_SELECT_OK: (u16, u16) = (90, 11);
const TX_COMMIT_OK: (u16, u16) = (90, 21);

/// One run against one broker.
pub(crate) struct Lone {
    broker: Broker,
    body_len: usize,
    publishers: usize,
    consumers: usize,
    is_persistent: bool,
    prefetch: u16,
    /// What a publisher waits for.
    answer: Answer,
    /// Headers of 100 bytes that each message has.
    header_count: usize,
    warm_up: Duration,
    measure: Duration,
}

/// What a publisher waits for before it goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    /// The confirm of each message.
    Confirm,
    /// tx.commit-ok, of a transaction of so many.
    CommitOk(u64),
    /// Nothing: only TCP holds it back.
    None,
}

impl Answer {
    fn parse(arguments: &Arguments) -> Result<Answer, String> {
        match (arguments.get("tx-len", 0)?, arguments.get("unanswered", false)?) {
            (0, false) => Ok(Answer::Confirm),
            (0, true) => Ok(Answer::None),
            (count, false) => Ok(Answer::CommitOk(count)),
            (_, true) => Err("--tx-len and --unanswered: one of them".to_owned()),
        }
    }

    /// Messages that are written together.
    fn count(self) -> u64 {
        if let Answer::CommitOk(count) = self { count } else { 1 }
    }
}

struct Clock {
    start: Instant,
    /// What begins before is not counted.
    measured_from_ns: u64,
    /// Messages that have been answered, and that have reached a consumer.
    answered: AtomicU64,
    delivered: AtomicU64,
    is_over: AtomicBool,
}

impl Clock {
    fn now_ns(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }

    fn sleep_until(&self, ns: u64) {
        thread::sleep(Duration::from_nanos(ns.saturating_sub(self.now_ns())));
    }

    fn record(&self, histogram: &mut Histogram, from_ns: u64) {
        if from_ns >= self.measured_from_ns {
            histogram.record(self.now_ns().saturating_sub(from_ns));
        }
    }
}

type Recorder = JoinHandle<io::Result<Histogram>>;

impl Lone {
    pub(crate) fn parse(arguments: &Arguments) -> Result<Lone, String> {
        let lone = Lone {
            broker: arguments.broker()?,
            body_len: arguments.get("size", 1024)?,
            publishers: arguments.get("publishers", 1)?,
            consumers: arguments.get("consumers", 1)?,
            is_persistent: arguments.get("persistent", false)?,
            prefetch: arguments.get("prefetch", 0)?,
            answer: Answer::parse(arguments)?,
            header_count: arguments.get("headers", 0)?,
            warm_up: arguments.seconds("warm-up-s", 1.0)?,
            measure: arguments.seconds("measure-s", 4.0)?,
        };
        if lone.body_len < STAMP_LEN {
            return Err(format!("--size: at least {STAMP_LEN}"));
        }
        Ok(lone)
    }

    pub(crate) fn run(&self) -> io::Result<Object> {
        Connection::open(&self.broker)?.declare_afresh(&self.broker)?;
        let clock = Arc::new(Clock {
            start: Instant::now(),
            measured_from_ns: self.warm_up.as_nanos() as u64,
            answered: AtomicU64::new(0),
            delivered: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
        });
        let (mut streams, mut consuming, mut publishing) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..self.consumers {
            let mut connection = Connection::open(&self.broker)?;
            connection.consume(&self.broker, self.prefetch)?;
            streams.push(connection.stream.try_clone()?);
            let (clock, has_acks) = (clock.clone(), self.prefetch > 0);
            consuming.push(thread::spawn(move || {
                until_over(&clock, |found| {
                    consume(connection, has_acks, &clock.delivered, |from_ns| clock.record(found, from_ns))
                })
            }));
        }
        for _ in 0..self.publishers {
            let mut connection = Connection::open(&self.broker)?;
            match self.answer {
                Answer::Confirm => connection.select_confirms()?,
                Answer::CommitOk(_) => drop(connection.call(CHANNEL, &Payload::method(90, 10), TX_SELECT_OK)?),
                Answer::None => {}
            }
            streams.push(connection.stream.try_clone()?);
            let (queue, header_count) = (&self.broker.queue, self.header_count);
            let publish = Publish::encode_with_headers("", queue, self.body_len, self.is_persistent, header_count);
            let (clock, answer) = (clock.clone(), self.answer);
            publishing.push(thread::spawn(move || {
                until_over(&clock, |found| publish_each(connection, &publish, answer, &clock, found))
            }));
        }
        clock.sleep_until(clock.measured_from_ns);
        let (from, cpu_before_s) = (Instant::now(), process::cpu_s(&self.broker.pids)?);
        let machine_cpu_before_s = process::machine_cpu_s()?;
        let answered_before = clock.answered.load(Ordering::Relaxed);
        clock.sleep_until((self.warm_up + self.measure).as_nanos() as u64);
        let count = clock.answered.load(Ordering::Relaxed) - answered_before;
        let (wall_s, cpu_s) = (from.elapsed().as_secs_f64(), process::cpu_s(&self.broker.pids)? - cpu_before_s);
        let machine_cpu_s = process::machine_cpu_s()? - machine_cpu_before_s;
        let backlog = clock.answered.load(Ordering::Relaxed).saturating_sub(clock.delivered.load(Ordering::Relaxed));
        clock.is_over.store(true, Ordering::Relaxed);
        for stream in &streams {
            let _ = stream.shutdown(Shutdown::Both);
        }
        let (answers, deliveries) = (joined(publishing)?, joined(consuming)?);
        if count == 0 {
            return Err(io::Error::other("no message was answered"));
        }
        Connection::open(&self.broker)?.delete(&self.broker)?;
        Ok(Object::new()
            .number("messages_per_s", count as f64 / wall_s)
            .number("cpu_us_per_message", cpu_s * 1e6 / count as f64)
            .number("broker_cpu_s", cpu_s)
            .number("machine_cpu_s", machine_cpu_s)
            .number("wall_s", wall_s)
            .field("backlog", backlog)
            .field("confirm", answers.percentiles())
            .field("deliver", deliveries.percentiles()))
    }
}

/// A thread that ends because its socket was shut down at the end of the run has done well.
fn until_over(clock: &Clock, run: impl FnOnce(&mut Histogram) -> io::Result<()>) -> io::Result<Histogram> {
    let mut histogram = Histogram::new();
    match run(&mut histogram) {
        Err(error) if !clock.is_over.load(Ordering::Relaxed) => Err(error),
        _ => Ok(histogram),
    }
}

fn joined(recorders: Vec<Recorder>) -> io::Result<Histogram> {
    let mut all = Histogram::new();
    for recorder in recorders {
        all.merge(&recorder.join().expect("threads here do not panic")?);
    }
    Ok(all)
}

fn publish_each(
    mut connection: Connection,
    publish: &Publish,
    answer: Answer,
    clock: &Clock,
    histogram: &mut Histogram,
) -> io::Result<()> {
    let mut out = Vec::new();
    while !clock.is_over.load(Ordering::Relaxed) {
        let from_ns = clock.now_ns();
        out.clear();
        (0..answer.count()).for_each(|_| publish.put_stamped(from_ns, &mut out));
        if let Answer::CommitOk(_) = answer {
            Payload::method(90, 20).put(FRAME_METHOD, CHANNEL, &mut out);
        }
        connection.stream.write_all(&out)?;
        match answer {
            Answer::Confirm => drop(connection.expect(BASIC_ACK)?),
            Answer::CommitOk(_) => drop(connection.expect(TX_COMMIT_OK)?),
            Answer::None => {}
        }
        clock.record(histogram, from_ns);
        clock.answered.fetch_add(answer.count(), Ordering::Relaxed);
    }
    Ok(())
}
