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
    /// Leaves the queue and its messages behind, for a look at what a full broker does.
    is_fill_only: bool,
}

/// One step of the fill or the drain.
struct Step {
    messages: u64,
    wall_s: f64,
    cpu_s: f64,
    rss_anon_bytes_max: u64,
}

/// Cuts a phase into steps as messages go by. Invariant: the steps' messages and `messages` add up to `total`.
struct Steps<'a> {
    pids: &'a [u32],
    step: u64,
    done: Vec<Step>,
    /// All messages of the phase so far.
    total: u64,
    /// Those of the step under way.
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
            is_fill_only: arguments.get("fill-only", false)?,
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
        let mut drain = Vec::new();
        if !self.is_fill_only {
            drain = self.drain()?;
            Connection::open(&self.broker)?.delete(&self.broker)?;
        }
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
        steps.end()
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
                return steps.end();
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
            total: 0,
            messages: 0,
            since: now,
            since_cpu_s: process::cpu_s(pids)?,
            sampled_at: now,
            rss_anon_bytes_max: process::rss_anon_bytes(pids)?,
        })
    }

    /// Counts messages; a step ends with the batch that reaches the next multiple of its length.
    fn advance(&mut self, messages: u64) -> io::Result<()> {
        let is_complete = (self.total + messages) / self.step > self.total / self.step;
        self.total += messages;
        self.messages += messages;
        if !is_complete && self.sampled_at.elapsed() < SAMPLE_EVERY {
            return Ok(());
        }
        self.sample()?;
        if is_complete { self.push() } else { Ok(()) }
    }

    /// The steps, the last of which may be shorter.
    fn end(mut self) -> io::Result<Vec<Step>> {
        if self.messages > 0 {
            self.sample()?;
            self.push()?;
        }
        assert_eq!(self.done.iter().map(|step| step.messages).sum::<u64>(), self.total, "a message is in no step");
        Ok(self.done)
    }

    fn sample(&mut self) -> io::Result<()> {
        self.sampled_at = Instant::now();
        self.rss_anon_bytes_max = self.rss_anon_bytes_max.max(process::rss_anon_bytes(self.pids)?);
        Ok(())
    }

    fn push(&mut self) -> io::Result<()> {
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

    #[track_caller]
    fn check_steps(step: u64, batches: &[u64], steps: &[u64]) {
        let pids = [std::process::id()];
        let mut cut = Steps::start(&pids, step).unwrap();
        for batch in batches {
            cut.advance(*batch).unwrap();
        }
        assert_eq!(cut.end().unwrap().iter().map(|step| step.messages).collect::<Vec<_>>(), steps);
    }

    #[test]
    fn steps_end_with_the_batch_that_completes_them_and_add_up() {
        check_steps(10, &[4, 4, 4, 4, 4], &[12, 8]);
        check_steps(10, &[4, 4, 4, 4, 4, 4, 4], &[12, 8, 8]);
        check_steps(10, &[9, 0, 2, 19], &[11, 19]);
        check_steps(10, &[0], &[]);
    }
}
