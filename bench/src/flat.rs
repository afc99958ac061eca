//! Flatness: many persistent messages into one durable queue, then all of them out again. For every step (a million, if
//! not told otherwise) the rate and the broker's anonymous memory, so that anything that grows with the backlog shows.
//! The messages are numbered; the drain checks that they come back in order, none missing.

use crate::arguments::{Arguments, Broker};
use crate::json::{self, Object};
use crate::process;
use crate::publish::{self, Publish, STAMP_LEN};
use crate::unconfirmed::Unconfirmed;
use crate::wire::{self, BASIC_ACK, BASIC_DELIVER, BASIC_NACK, Connection, FRAME_BODY};
use std::io::{self, Write};
use std::time::{Duration, Instant};

/// Memory is looked at this often; the step's largest is reported.
const SAMPLE_EVERY: Duration = Duration::from_millis(50);

/// One run against one broker.
pub(crate) struct Flat {
    broker: Broker,
    body_len: usize,
    count: u64,
    step: u64,
    window: u64,
    prefetch: u16,
}

/// One step of the fill or the drain.
struct Step {
    messages: u64,
    wall_s: f64,
    cpu_s: f64,
    rss_anon_bytes_max: u64,
}

/// Cuts a phase into steps as messages go by.
struct Steps<'a> {
    pids: &'a [u32],
    step: u64,
    done: Vec<Step>,
    messages: u64,
    since: Instant,
    since_cpu_s: f64,
    sampled_at: Instant,
    rss_anon_bytes_max: u64,
}

impl Flat {
    pub(crate) fn parse(arguments: &Arguments) -> Result<Flat, String> {
        let flat = Flat {
            broker: arguments.broker()?,
            body_len: arguments.get("size", 1024)?,
            count: arguments.get("count", 10_000_000)?,
            step: arguments.get("step", 1_000_000)?,
            window: arguments.get("window", 1000)?,
            prefetch: arguments.get("prefetch", 2000)?,
        };
        if flat.body_len < STAMP_LEN || flat.window == 0 || flat.step == 0 {
            return Err(format!("--size: at least {STAMP_LEN}; --window and --step: at least 1"));
        }
        Ok(flat)
    }

    pub(crate) fn run(&self) -> io::Result<Object> {
        Connection::open(&self.broker)?.declare_afresh(&self.broker)?;
        let idle_bytes = process::rss_anon_bytes(&self.broker.pids)?;
        let fill = self.fill()?;
        let drain = self.drain()?;
        Connection::open(&self.broker)?.delete(&self.broker)?;
        let growth_bytes = fill.last().map_or(0, |step| step.rss_anon_bytes_max as i64)
            - fill.get(1).map_or(0, |step| step.rss_anon_bytes_max as i64);
        let max_bytes = fill.iter().chain(&drain).map(|step| step.rss_anon_bytes_max).max();
        Ok(Object::new()
            .field("messages", self.count)
            .number("rss_anon_idle_mib", mib(idle_bytes as f64))
            .number("rss_anon_max_mib", mib(max_bytes.unwrap_or(0) as f64))
            .number("rss_anon_growth_mib", mib(growth_bytes as f64))
            .number("fill_rate_spread", rate_spread(&fill))
            .number("drain_rate_spread", rate_spread(&drain))
            .field("fill", json::array(fill.iter().map(Step::report)))
            .field("drain", json::array(drain.iter().map(Step::report))))
    }

    fn fill(&self) -> io::Result<Vec<Step>> {
        let mut connection = Connection::open(&self.broker)?;
        connection.select_confirms()?;
        let publish = Publish::encode(&self.broker.queue, self.body_len, true);
        let mut unconfirmed = Unconfirmed::new();
        let mut steps = Steps::start(&self.broker.pids, self.step)?;
        let mut out = Vec::new();
        let mut sent = 0;
        while unconfirmed.settled_count() < self.count {
            let confirmed_before = unconfirmed.settled_count();
            let until = (confirmed_before + self.window).min(self.count);
            out.clear();
            while sent < until {
                publish.put_stamped(sent, &mut out);
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
            steps.advance(unconfirmed.settled_count() - confirmed_before)?;
        }
        Ok(steps.done)
    }

    fn drain(&self) -> io::Result<Vec<Step>> {
        let mut connection = Connection::open(&self.broker)?;
        let mut steps = Steps::start(&self.broker.pids, self.step)?;
        connection.consume(&self.broker, self.prefetch)?;
        let mut out = Vec::new();
        let mut received = 0;
        loop {
            let received_before = received;
            let mut last_tag = 0;
            while let Some(frame) = connection.frames.take() {
                if frame.kind == FRAME_BODY {
                    let number = publish::stamp_of(frame.payload);
                    if number != Some(received) {
                        return Err(io::Error::other(format!("message {number:?} came where {received} was due")));
                    }
                    received += 1;
                } else if frame.method() == Some(BASIC_DELIVER) {
                    last_tag = frame.delivery_tag().ok_or_else(|| io::Error::other("torn basic.deliver"))?;
                } else if let Some(refusal) = frame.refusal() {
                    return Err(refusal);
                }
            }
            if last_tag > 0 && self.prefetch > 0 {
                out.clear();
                wire::put_ack(&mut out, last_tag, true);
                connection.stream.write_all(&out)?;
            }
            steps.advance(received - received_before)?;
            if received == self.count {
                return Ok(steps.done);
            }
            connection.frames.fill(&mut connection.stream)?;
        }
    }
}

impl<'a> Steps<'a> {
    fn start(pids: &'a [u32], step: u64) -> io::Result<Steps<'a>> {
        let now = Instant::now();
        Ok(Steps {
            pids,
            step,
            done: Vec::new(),
            messages: 0,
            since: now,
            since_cpu_s: process::cpu_s(pids)?,
            sampled_at: now,
            rss_anon_bytes_max: process::rss_anon_bytes(pids)?,
        })
    }

    /// Counts messages; a step ends with the batch that completes it.
    fn advance(&mut self, messages: u64) -> io::Result<()> {
        self.messages += messages;
        if self.messages < self.step && self.sampled_at.elapsed() < SAMPLE_EVERY {
            return Ok(());
        }
        self.sampled_at = Instant::now();
        self.rss_anon_bytes_max = self.rss_anon_bytes_max.max(process::rss_anon_bytes(self.pids)?);
        if self.messages < self.step {
            return Ok(());
        }
        let (now, cpu_s) = (Instant::now(), process::cpu_s(self.pids)?);
        self.done.push(Step {
            messages: self.messages,
            wall_s: (now - self.since).as_secs_f64(),
            cpu_s: cpu_s - self.since_cpu_s,
            rss_anon_bytes_max: self.rss_anon_bytes_max,
        });
        self.messages = 0;
        self.since = now;
        self.since_cpu_s = cpu_s;
        self.rss_anon_bytes_max = process::rss_anon_bytes(self.pids)?;
        Ok(())
    }
}

impl Step {
    fn rate_per_s(&self) -> f64 {
        self.messages as f64 / self.wall_s
    }

    fn report(&self) -> Object {
        Object::new()
            .field("messages", self.messages)
            .number("messages_per_s", self.rate_per_s())
            .number("messages_per_cpu_s", self.messages as f64 / self.cpu_s)
            .number("rss_anon_max_mib", mib(self.rss_anon_bytes_max as f64))
    }
}

/// Fastest by slowest step, the first left out.
fn rate_spread(steps: &[Step]) -> f64 {
    let rates = steps.iter().skip(1).map(Step::rate_per_s);
    let (slowest, fastest) = rates.fold((f64::INFINITY, 0.0_f64), |(low, high), rate| (low.min(rate), high.max(rate)));
    if fastest > 0.0 { fastest / slowest } else { 1.0 }
}

fn mib(bytes: f64) -> f64 {
    bytes / (1024.0 * 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(wall_s: f64) -> Step {
        Step { messages: 100, wall_s, cpu_s: 1.0, rss_anon_bytes_max: 0 }
    }

    #[test]
    fn the_spread_leaves_the_first_step_out() {
        assert_eq!(rate_spread(&[step(9.0), step(1.0), step(2.0)]), 2.0);
        assert_eq!(rate_spread(&[step(9.0)]), 1.0);
    }

    #[test]
    fn steps_end_with_the_batch_that_completes_them() {
        let pids = [std::process::id()];
        let mut steps = Steps::start(&pids, 10).unwrap();
        for _ in 0..7 {
            steps.advance(4).unwrap();
        }
        assert_eq!(steps.done.iter().map(|step| step.messages).collect::<Vec<_>>(), [12, 12]);
    }
}
