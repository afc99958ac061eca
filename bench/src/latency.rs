//! Latency at a fixed rate. The schedule does not wait for the broker (open loop): message number n is due at n/rate
//! seconds, and its latency counts from then, however late it was really sent. So a broker that stalls is charged for
//! every message that it held up, not only for those that happened to be sent.
//!
//! Each publisher has a thread that sends and one that takes its confirms, each consumer has one: a connection that the
//! broker stops reading delays its own messages and no others. A run in which a message or a confirm stays away has
//! no percentiles; it fails.

use crate::arguments::{Arguments, Broker};
use crate::consume::consume;
use crate::histogram::Histogram;
use crate::json::Object;
use crate::process;
use crate::publish::{Publish, STAMP_LEN};
use crate::unconfirmed::Unconfirmed;
use crate::wire::{BASIC_ACK, BASIC_NACK, Connection, Payload};
use std::io::{self, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How long the last messages may take to arrive after the last was due.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);
const CHECK_EVERY: Duration = Duration::from_millis(20);

/// One run against one broker.
pub(crate) struct Latency {
    broker: Broker,
    rate_per_s: f64,
    body_len: usize,
    publishers: usize,
    consumers: usize,
    is_persistent: bool,
    /// All go to a queue that holds none, and from there to the one that is consumed.
    has_dead_letters: bool,
    prefetch: u16,
    warm_up: Duration,
    measure: Duration,
}

/// What all threads share: when the schedule began, and how far everything has got.
struct Clock {
    start: Instant,
    warm_up_ns: u64,
    delivered: AtomicU64,
    confirmed: AtomicU64,
    is_over: AtomicBool,
}

impl Clock {
    fn start(warm_up: Duration) -> Clock {
        Clock {
            start: Instant::now(),
            warm_up_ns: warm_up.as_nanos() as u64,
            delivered: AtomicU64::new(0),
            confirmed: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
        }
    }

    fn now_ns(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }

    fn record(&self, histogram: &mut Histogram, due_ns: u64, now_ns: u64) {
        if due_ns >= self.warm_up_ns {
            histogram.record(now_ns.saturating_sub(due_ns));
        }
    }
}

type Recorder = JoinHandle<io::Result<Histogram>>;

impl Latency {
    pub(crate) fn parse(arguments: &Arguments) -> Result<Latency, String> {
        let latency = Latency {
            broker: arguments.broker()?,
            rate_per_s: arguments.required("rate")?,
            body_len: arguments.get("size", 1024)?,
            publishers: arguments.get("publishers", 1)?,
            consumers: arguments.get("consumers", 1)?,
            is_persistent: arguments.get("persistent", false)?,
            has_dead_letters: arguments.get("dead-letters", false)?,
            prefetch: arguments.get("prefetch", 0)?,
            warm_up: arguments.seconds("warm-up-s", 2.0)?,
            measure: arguments.seconds("measure-s", 8.0)?,
        };
        if latency.body_len < STAMP_LEN {
            return Err(format!("--size: at least {STAMP_LEN}"));
        }
        if latency.publishers == 0 || latency.rate_per_s <= 0.0 {
            return Err("--publishers and --rate: more than nothing".to_owned());
        }
        Ok(latency)
    }

    pub(crate) fn run(&self) -> io::Result<Object> {
        Connection::open(&self.broker)?.declare_afresh(&self.broker)?;
        let published_to = self.declare_published_to()?;
        let consuming = (0..self.consumers)
            .map(|_| {
                let mut connection = Connection::open(&self.broker)?;
                connection.consume(&self.broker, self.prefetch)?;
                Ok(connection)
            })
            .collect::<io::Result<Vec<_>>>()?;
        let publishing = (0..self.publishers)
            .map(|_| {
                let mut connection = Connection::open(&self.broker)?;
                connection.select_confirms()?;
                Ok(connection)
            })
            .collect::<io::Result<Vec<_>>>()?;
        let mut streams = Vec::new();
        for connection in consuming.iter().chain(&publishing) {
            streams.push(connection.stream.try_clone()?);
        }
        let writing = publishing.iter().map(|each| each.stream.try_clone()).collect::<io::Result<Vec<_>>>()?;
        let cpu_before_s = process::cpu_s(&self.broker.pids)?;
        let machine_cpu_before_s = process::machine_cpu_s()?;
        let clock = Arc::new(Clock::start(self.warm_up));
        let has_acks = self.prefetch > 0;
        let mut recorders: Vec<Recorder> = Vec::new();
        for connection in consuming {
            let clock = clock.clone();
            let consume = move || {
                until_over(&clock, |histogram| {
                    consume(connection, has_acks, &clock.delivered, |due_ns| {
                        clock.record(histogram, due_ns, clock.now_ns());
                    })
                })
            };
            recorders.push(thread::spawn(consume));
        }
        for (number, connection) in publishing.into_iter().enumerate() {
            let (clock, schedule) = (clock.clone(), self.schedule(number));
            let confirm = move || until_over(&clock, |histogram| confirm(connection, &schedule, &clock, histogram));
            recorders.push(thread::spawn(confirm));
        }
        let mut senders: Vec<JoinHandle<io::Result<()>>> = Vec::new();
        for (number, stream) in writing.into_iter().enumerate() {
            let (clock, schedule) = (clock.clone(), self.schedule(number));
            let publish = Publish::encode(&published_to.queue, self.body_len, self.is_persistent);
            senders.push(thread::spawn(move || send(stream, &publish, &schedule, &clock)));
        }

        self.wait(&clock, &senders, &recorders);
        let wall_s = clock.start.elapsed().as_secs_f64();
        let cpu_s = process::cpu_s(&self.broker.pids)? - cpu_before_s;
        let machine_cpu_s = process::machine_cpu_s()? - machine_cpu_before_s;
        clock.is_over.store(true, Ordering::Relaxed);
        for stream in &streams {
            let _ = stream.shutdown(Shutdown::Both);
        }
        let mut histograms = Vec::new();
        for recorder in recorders {
            histograms.push(recorder.join().expect("threads here do not panic")?);
        }
        let delivered = clock.delivered.load(Ordering::Relaxed);
        let confirmed = clock.confirmed.load(Ordering::Relaxed);
        self.check_whole(delivered, confirmed)?;
        for sender in senders {
            sender.join().expect("threads here do not panic")?;
        }
        let (deliver, confirm) = histograms.split_at(self.consumers);
        Connection::open(&self.broker)?.delete(&self.broker)?;
        Connection::open(&self.broker)?.delete(&published_to)?;
        Ok(Object::new()
            .number("rate_per_s", self.rate_per_s)
            .field("sent", self.count())
            .field("delivered", delivered)
            .field("confirmed", confirmed)
            .field("deliver", percentiles(deliver))
            .field("confirm", percentiles(confirm))
            .number("cpu_us_per_message", cpu_s * 1e6 / self.count() as f64)
            .number("broker_cpu_s", cpu_s)
            .number("machine_cpu_s", machine_cpu_s)
            .number("wall_s", wall_s))
    }

    /// Where messages are published to.
    fn declare_published_to(&self) -> io::Result<Broker> {
        if !self.has_dead_letters {
            return Ok(self.broker.clone());
        }
        let limited = Broker { queue: format!("{}-limited", self.broker.queue), ..self.broker.clone() };
        let arguments = Payload::empty().short("x-max-length").u8(b'I').u32(0);
        let arguments = arguments.short("x-dead-letter-exchange").u8(b'S').long(b"");
        let arguments = arguments.short("x-dead-letter-routing-key").u8(b'S').long(self.broker.queue.as_bytes());
        let mut connection = Connection::open(&self.broker)?;
        connection.delete(&limited)?;
        connection.declare(&limited, arguments)?;
        Ok(limited)
    }

    /// All messages of the run.
    fn count(&self) -> u64 {
        ((self.warm_up + self.measure).as_secs_f64() * self.rate_per_s) as u64
    }

    fn schedule(&self, number: usize) -> Schedule {
        Schedule {
            rate_per_s: self.rate_per_s,
            publishers: self.publishers as u64,
            number: number as u64,
            count: self.count(),
        }
    }

    /// What is missing would be the slowest of all: percentiles of the rest would be too good.
    fn check_whole(&self, delivered: u64, confirmed: u64) -> io::Result<()> {
        let sent = self.count();
        let is_whole = confirmed == sent && (delivered == sent || self.consumers == 0);
        if is_whole {
            return Ok(());
        }
        let waited_s = DRAIN_TIMEOUT.as_secs();
        Err(io::Error::other(format!(
            "of {sent} messages {delivered} were delivered and {confirmed} confirmed within {waited_s} s of the last"
        )))
    }

    /// Waits until all has come, but not on when a thread has failed or the time is up.
    fn wait(&self, clock: &Clock, senders: &[JoinHandle<io::Result<()>>], recorders: &[Recorder]) {
        let until = clock.start + self.warm_up + self.measure + DRAIN_TIMEOUT;
        while Instant::now() < until && !recorders.iter().any(JoinHandle::is_finished) {
            let delivered = clock.delivered.load(Ordering::Relaxed);
            let confirmed = clock.confirmed.load(Ordering::Relaxed);
            let is_sent = senders.iter().all(JoinHandle::is_finished);
            if is_sent && confirmed >= self.count() && (delivered >= self.count() || self.consumers == 0) {
                return;
            }
            thread::sleep(CHECK_EVERY);
        }
    }
}

/// Which messages one publisher sends: its first is `number`, then every `publishers`th below `count`.
struct Schedule {
    rate_per_s: f64,
    publishers: u64,
    number: u64,
    count: u64,
}

impl Schedule {
    /// When the publish with this confirm tag is due; none is after the last.
    fn due_ns(&self, tag: u64) -> Option<u64> {
        let number = (tag - 1) * self.publishers + self.number;
        (number < self.count).then(|| due_ns(number, self.rate_per_s))
    }
}

fn due_ns(number: u64, rate_per_s: f64) -> u64 {
    (number as f64 * 1e9 / rate_per_s) as u64
}

/// A thread that ends because its socket was shut down at the end of the run has done well.
fn until_over(clock: &Clock, run: impl FnOnce(&mut Histogram) -> io::Result<()>) -> io::Result<Histogram> {
    let mut histogram = Histogram::new();
    match run(&mut histogram) {
        Err(error) if !clock.is_over.load(Ordering::Relaxed) => Err(error),
        _ => Ok(histogram),
    }
}

/// Sends every message when it is due, or as soon after as it can.
fn send(mut stream: TcpStream, publish: &Publish, schedule: &Schedule, clock: &Clock) -> io::Result<()> {
    let mut out = Vec::new();
    for due_ns in (1..).map_while(|tag| schedule.due_ns(tag)) {
        let ahead_ns = due_ns.saturating_sub(clock.now_ns());
        if ahead_ns > 0 {
            thread::sleep(Duration::from_nanos(ahead_ns));
        }
        out.clear();
        publish.put_stamped(due_ns, &mut out);
        stream.write_all(&out)?;
    }
    Ok(())
}

fn confirm(
    mut connection: Connection,
    schedule: &Schedule,
    clock: &Clock,
    histogram: &mut Histogram,
) -> io::Result<()> {
    let mut unconfirmed = Unconfirmed::new();
    loop {
        let now_ns = clock.now_ns();
        let before = unconfirmed.settled_count();
        while let Some(frame) = connection.frames.take() {
            match frame.method() {
                Some(BASIC_ACK) => {
                    let (tag, multiple) = frame.confirm().ok_or_else(|| io::Error::other("torn basic.ack"))?;
                    unconfirmed.confirm(tag, multiple, |tag| {
                        if let Some(due_ns) = schedule.due_ns(tag) {
                            clock.record(histogram, due_ns, now_ns);
                        }
                    });
                }
                Some(BASIC_NACK) => return Err(io::Error::other("the broker refused a message (basic.nack)")),
                _ => frame.refusal().map_or(Ok(()), Err)?,
            }
        }
        clock.confirmed.fetch_add(unconfirmed.settled_count() - before, Ordering::Relaxed);
        connection.frames.fill(&mut connection.stream)?;
    }
}

fn percentiles(histograms: &[Histogram]) -> Object {
    let mut histogram = Histogram::new();
    histograms.iter().for_each(|each| histogram.merge(each));
    histogram.percentiles()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn publishers_take_turns_in_the_schedule() {
        let second = Schedule { rate_per_s: 1000.0, publishers: 5, number: 1, count: 11 };
        assert_eq!((1..=3).map(|tag| second.due_ns(tag)).collect::<Vec<_>>(), [Some(1_000_000), Some(6_000_000), None]);
        let first = Schedule { number: 0, ..second };
        assert_eq!(first.due_ns(3), Some(10_000_000));
    }

    #[test]
    fn what_was_due_in_the_warm_up_is_not_counted() {
        let clock = Clock::start(Duration::from_nanos(100));
        let mut histogram = Histogram::new();
        clock.record(&mut histogram, 99, 150);
        clock.record(&mut histogram, 100, 150);
        assert_eq!((histogram.count(), histogram.max()), (1, 50));
    }

    #[test]
    fn a_run_that_misses_a_message_or_a_confirm_fails() {
        let words = ["--port", "1", "--pid", "1", "--rate", "100", "--measure-s", "8"].map(str::to_owned);
        let latency = Latency::parse(&Arguments::parse(words.into_iter()).unwrap()).unwrap();
        assert!(latency.check_whole(1000, 1000).is_ok());
        assert!(latency.check_whole(999, 1000).is_err());
        assert!(latency.check_whole(1000, 999).is_err());
        assert!(Latency { consumers: 0, ..latency }.check_whole(0, 1000).is_ok());
    }
}
