//! Throughput: senders that write pre-encoded publishes, many a write, as fast as the broker reads them, and readers
//! that count deliveries and throw them away. The result is messages per CPU-second of the broker.
//!
//! With a window, a sender waits for confirms and keeps at most that many publishes unconfirmed.

use crate::arguments::{Arguments, Broker};
use crate::json::Object;
use crate::process;
use crate::publish::Publish;
use crate::unconfirmed::Unconfirmed;
use crate::wire::{
    self, BASIC_ACK, BASIC_DELIVER, BASIC_NACK, Connection, FRAME_HEADER, FRAME_METHOD, FRAME_OVERHEAD,
    FRAME_PREFIX_LEN,
};
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

const READ_LEN: usize = 256 * 1024;
/// How often failed threads are looked for.
const CHECK_EVERY: Duration = Duration::from_millis(100);

/// One run against one broker.
pub(crate) struct Blast {
    broker: Broker,
    body_len: usize,
    senders: usize,
    readers: usize,
    is_persistent: bool,
    window: usize,
    /// About this much goes out in one write, a publish at least.
    write_len: usize,
    prefetch: u16,
    warm_up: Duration,
    measure: Duration,
}

#[derive(Default)]
struct Counters {
    sent: AtomicU64,
    confirmed: AtomicU64,
    delivered: AtomicU64,
    is_over: AtomicBool,
}

/// The counters and the clocks at one instant.
struct Snapshot {
    at: Instant,
    cpu_s: f64,
    machine_cpu_s: f64,
    sent: u64,
    confirmed: u64,
    delivered: u64,
}

impl Blast {
    pub(crate) fn parse(arguments: &Arguments) -> Result<Blast, String> {
        Ok(Blast {
            broker: arguments.broker()?,
            body_len: arguments.get("size", 1024)?,
            senders: arguments.get("senders", 1)?,
            readers: arguments.get("readers", 1)?,
            is_persistent: arguments.get("persistent", false)?,
            window: arguments.get("window", 0)?,
            write_len: arguments.get("write-len", 64 * 1024)?,
            prefetch: arguments.get("prefetch", 0)?,
            warm_up: arguments.seconds("warm-up-s", 2.0)?,
            measure: arguments.seconds("measure-s", 5.0)?,
        })
    }

    pub(crate) fn run(&self) -> io::Result<Object> {
        let counters = Arc::new(Counters::default());
        let mut threads = Vec::new();
        let mut streams = Vec::new();
        Connection::open(&self.broker)?.declare_afresh(&self.broker)?;
        for _ in 0..self.readers {
            let mut connection = Connection::open(&self.broker)?;
            connection.consume(&self.broker, self.prefetch)?;
            streams.push(connection.stream.try_clone()?);
            let (counters, has_acks) = (counters.clone(), self.prefetch > 0);
            threads.push(thread::spawn(move || match has_acks {
                false => discard(connection, &counters),
                true => discard_with_acks(connection, &counters),
            }));
        }
        for _ in 0..self.senders {
            let mut connection = Connection::open(&self.broker)?;
            let publish = Publish::encode(&self.broker.queue, self.body_len, self.is_persistent);
            if self.window > 0 {
                connection.select_confirms()?;
            }
            streams.push(connection.stream.try_clone()?);
            let (counters, window) = (counters.clone(), self.window);
            let write_count = self.write_len.div_ceil(publish.bytes().len());
            threads.push(thread::spawn(move || match window {
                0 => send(connection, &publish, write_count, &counters),
                _ => send_in_window(connection, &publish, write_count, window, &counters),
            }));
        }
        wait(self.warm_up, &mut threads, || Ok(()))?;
        let start = self.snapshot(&counters)?;
        let mut rss_bytes_max = 0;
        wait(self.measure, &mut threads, || {
            rss_bytes_max = process::rss_bytes(&self.broker.pids)?.max(rss_bytes_max);
            Ok(())
        })?;
        let end = self.snapshot(&counters)?;
        stop(&counters, &streams, threads);
        Connection::open(&self.broker)?.delete(&self.broker)?;
        Ok(self.report(&start, &end).number("rss_max_mib", rss_bytes_max as f64 / f64::from(1 << 20)))
    }

    fn snapshot(&self, counters: &Counters) -> io::Result<Snapshot> {
        Ok(Snapshot {
            at: Instant::now(),
            cpu_s: process::cpu_s(&self.broker.pids)?,
            machine_cpu_s: process::machine_cpu_s()?,
            sent: counters.sent.load(Ordering::Relaxed),
            confirmed: counters.confirmed.load(Ordering::Relaxed),
            delivered: counters.delivered.load(Ordering::Relaxed),
        })
    }

    fn report(&self, start: &Snapshot, end: &Snapshot) -> Object {
        let wall_s = (end.at - start.at).as_secs_f64();
        let cpu_s = end.cpu_s - start.cpu_s;
        let delivered = end.delivered - start.delivered;
        let confirmed = end.confirmed - start.confirmed;
        // What has gone all the way that this run has: to a reader, or else to the confirm.
        let messages = if self.readers > 0 { delivered } else { confirmed };
        Object::new()
            .number("messages_per_cpu_s", messages as f64 / cpu_s)
            .number("messages_per_s", messages as f64 / wall_s)
            .number("broker_cpu_s", cpu_s)
            .number("machine_cpu_s", end.machine_cpu_s - start.machine_cpu_s)
            .number("wall_s", wall_s)
            .field("sent", end.sent - start.sent)
            .field("confirmed", confirmed)
            .field("delivered", delivered)
            .field("backlog", end.sent.saturating_sub(end.delivered))
    }
}

/// Sleeps, but not on when a thread has failed, and has a look `at_times`.
fn wait(
    duration: Duration,
    threads: &mut Vec<JoinHandle<io::Result<()>>>,
    mut at_times: impl FnMut() -> io::Result<()>,
) -> io::Result<()> {
    let until = Instant::now() + duration;
    loop {
        if let Some(at) = threads.iter().position(JoinHandle::is_finished) {
            let outcome = threads.swap_remove(at).join().expect("threads here do not panic");
            return outcome.and(Err(io::Error::other("a thread ended early")));
        }
        at_times()?;
        let Some(left) = until.checked_duration_since(Instant::now()) else { return Ok(()) };
        thread::sleep(left.min(CHECK_EVERY));
    }
}

/// Ends all threads by shutting their sockets down; what they say about that is of no interest.
fn stop(counters: &Counters, streams: &[TcpStream], threads: Vec<JoinHandle<io::Result<()>>>) {
    counters.is_over.store(true, Ordering::Relaxed);
    for stream in streams {
        let _ = stream.shutdown(Shutdown::Both);
    }
    for thread in threads {
        let _ = thread.join();
    }
}

fn send(mut connection: Connection, publish: &Publish, write_count: usize, counters: &Counters) -> io::Result<()> {
    let bytes = publish.repeated(write_count);
    while !counters.is_over.load(Ordering::Relaxed) {
        if let Err(error) = connection.stream.write_all(&bytes) {
            return Err(said_at_the_end(connection).unwrap_or(error));
        }
        counters.sent.fetch_add(write_count as u64, Ordering::Relaxed);
    }
    Ok(())
}

/// Why the broker closed a connection that was not being read.
fn said_at_the_end(mut connection: Connection) -> Option<io::Error> {
    loop {
        while let Some(frame) = connection.frames.take() {
            if let Some(refusal) = frame.refusal() {
                return Some(refusal);
            }
        }
        connection.frames.fill(&mut connection.stream).ok()?;
    }
}

fn send_in_window(
    mut connection: Connection,
    publish: &Publish,
    write_count: usize,
    window: usize,
    counters: &Counters,
) -> io::Result<()> {
    let bytes = publish.repeated(window);
    let write_len = write_count * publish.bytes().len();
    let mut sent = 0;
    let mut unconfirmed = Unconfirmed::new();
    while !counters.is_over.load(Ordering::Relaxed) {
        let confirmed_before = unconfirmed.settled_count();
        let free = window - (sent - confirmed_before) as usize;
        for chunk in bytes[..free * publish.bytes().len()].chunks(write_len) {
            connection.stream.write_all(chunk)?;
        }
        sent += free as u64;
        counters.sent.fetch_add(free as u64, Ordering::Relaxed);
        while unconfirmed.settled_count() == confirmed_before {
            connection.frames.fill(&mut connection.stream)?;
            while let Some(frame) = connection.frames.take() {
                match frame.method() {
                    Some(BASIC_ACK | BASIC_NACK) => {
                        let (tag, multiple) = frame.confirm().ok_or_else(|| io::Error::other("torn basic.ack"))?;
                        unconfirmed.confirm(tag, multiple, |_| ());
                    }
                    _ => frame.refusal().map_or(Ok(()), Err)?,
                }
            }
        }
        counters.confirmed.fetch_add(unconfirmed.settled_count() - confirmed_before, Ordering::Relaxed);
    }
    Ok(())
}

/// Counts deliveries without looking at more than the frames' prefixes.
fn discard(mut connection: Connection, counters: &Counters) -> io::Result<()> {
    let mut counter = FrameCounter::default();
    // What came together with consume-ok has been read already.
    let early = counter.count_headers(connection.frames.rest())?;
    counters.delivered.fetch_add(early, Ordering::Relaxed);
    let mut input = vec![0; READ_LEN];
    loop {
        let read_len = connection.stream.read(&mut input)?;
        if read_len == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the broker closed the socket of a reader"));
        }
        let headers = counter.count_headers(&input[..read_len])?;
        counters.delivered.fetch_add(headers, Ordering::Relaxed);
    }
}

/// Acknowledges all that one read has brought with one `multiple` ack.
fn discard_with_acks(mut connection: Connection, counters: &Counters) -> io::Result<()> {
    let mut out = Vec::new();
    loop {
        let (mut count, mut last_tag) = (0, 0);
        while let Some(frame) = connection.frames.take() {
            match frame.method() {
                Some(BASIC_DELIVER) => {
                    last_tag = frame.delivery_tag().ok_or_else(|| io::Error::other("torn basic.deliver"))?;
                    count += 1;
                }
                _ => frame.refusal().map_or(Ok(()), Err)?,
            }
        }
        if count > 0 {
            out.clear();
            wire::put_ack(&mut out, last_tag, true);
            connection.stream.write_all(&out)?;
            counters.delivered.fetch_add(count, Ordering::Relaxed);
        }
        connection.frames.fill(&mut connection.stream)?;
    }
}

/// Counts header frames, one a message, in a stream that arrives in pieces.
#[derive(Default)]
struct FrameCounter {
    /// The frame's bytes that are still to come, after its prefix.
    skip: usize,
    prefix: [u8; FRAME_PREFIX_LEN],
    prefix_len: usize,
}

impl FrameCounter {
    fn count_headers(&mut self, mut input: &[u8]) -> io::Result<u64> {
        let mut headers = 0;
        loop {
            if self.skip >= input.len() {
                self.skip -= input.len();
                return Ok(headers);
            }
            input = &input[self.skip..];
            self.skip = 0;
            let missing = FRAME_PREFIX_LEN - self.prefix_len;
            let Some((rest_of_prefix, rest)) = input.split_at_checked(missing) else {
                self.prefix[self.prefix_len..self.prefix_len + input.len()].copy_from_slice(input);
                self.prefix_len += input.len();
                return Ok(headers);
            };
            self.prefix[self.prefix_len..].copy_from_slice(rest_of_prefix);
            self.prefix_len = 0;
            let [kind, _, channel, a, b, c, d] = self.prefix;
            headers += u64::from(kind == FRAME_HEADER);
            if kind == FRAME_METHOD && channel == 0 {
                return Err(io::Error::other("the broker closes the connection of a reader"));
            }
            self.skip = u32::from_be_bytes([a, b, c, d]) as usize + FRAME_OVERHEAD - FRAME_PREFIX_LEN;
            input = rest;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_counted_however_the_stream_is_cut() {
        let stream = Publish::encode("q", 20, true).repeated(10);
        for step in 1..stream.len() {
            let mut counter = FrameCounter::default();
            let headers: u64 = stream.chunks(step).map(|piece| counter.count_headers(piece).unwrap()).sum();
            assert_eq!(headers, 10, "cut every {step} bytes");
        }
    }

    #[test]
    fn a_close_of_the_connection_is_an_error() {
        let mut close = Vec::new();
        wire::Payload::method(10, 50).u16(320).short("gone").u32(0).put(FRAME_METHOD, 0, &mut close);
        assert!(FrameCounter::default().count_headers(&close).is_err());
    }
}
