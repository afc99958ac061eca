//! A live trace: what its viewer takes, until a limit or the viewer ends it.

use std::sync::Arc;

use broker::Broker;
use broker::tap::Sink;
use serde_json::json;
use telemetry::ReceivedAll;

use super::format::Format;
use super::record::Record;
use super::sink::TraceSink;

const NS_PER_S: u64 = 1_000_000_000;

/// When a live trace ends without being closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LiveLimits {
    /// More than this in a second end it; None: no matter how many.
    pub rate_max_per_s: Option<u64>,
    /// So many in all end it.
    pub count_max: u64,
}

impl Default for LiveLimits {
    fn default() -> Self {
        LiveLimits { rate_max_per_s: Some(10), count_max: 1_000 }
    }
}

impl LiveLimits {
    /// The most that can be asked for.
    pub const MAX: LiveLimits = LiveLimits { rate_max_per_s: Some(10_000), count_max: 1_000_000 };
}

/// A live trace. Dropped, it is over.
pub struct LiveTrace {
    broker: Arc<Broker>,
    sink: Arc<TraceSink>,
    gate: Gate,
    /// It was said that it has begun.
    has_begun: bool,
    has_ended: bool,
    missed_count: u64,
}

/// Counts what a viewer was given, towards its limits.
#[derive(Debug)]
struct Gate {
    limits: LiveLimits,
    count: u64,
    /// The beginning of the second that is counted, and what came in it.
    second: (u64, u64),
}

impl Gate {
    /// Whether another may pass that happened then; else why that is the end.
    fn pass(&mut self, at_ns: u64) -> Result<(), String> {
        if at_ns.saturating_sub(self.second.0) >= NS_PER_S {
            self.second = (at_ns, 0);
        }
        if let Some(rate) = self.limits.rate_max_per_s.filter(|rate| self.second.1 >= *rate) {
            return Err(format!("more than {rate} events a second matched"));
        }
        if self.count >= self.limits.count_max {
            return Err(self.full());
        }
        self.second.1 += 1;
        self.count += 1;
        Ok(())
    }

    fn is_full(&self) -> bool {
        self.count >= self.limits.count_max
    }

    fn full(&self) -> String {
        format!("{} events matched", self.limits.count_max)
    }
}

impl std::fmt::Debug for LiveTrace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LiveTrace").field("gate", &self.gate).finish_non_exhaustive()
    }
}

impl Drop for LiveTrace {
    fn drop(&mut self) {
        let sink: Arc<dyn Sink> = self.sink.clone();
        self.broker.taps().remove(&sink);
    }
}

impl LiveTrace {
    pub(super) fn begin(broker: Arc<Broker>, sink: Arc<TraceSink>, limits: LiveLimits) -> Self {
        broker.taps().add(sink.clone());
        let gate = Gate { limits, count: 0, second: (0, 0) };
        LiveTrace { broker, sink, gate, has_begun: false, has_ended: false, missed_count: 0 }
    }

    /// Lines of JSON, as soon as there is something to report. None: it has ended. Dropped before it is ready, it has lost nothing.
    pub async fn next(&mut self) -> Option<Vec<u8>> {
        if self.has_ended {
            return None;
        }
        if !std::mem::replace(&mut self.has_begun, true) {
            return Some(format!("{}\n", json!({"event": "begin"})).into_bytes());
        }
        loop {
            let received = self.sink.mailbox.next_all().await;
            let lines = self.lines(&received);
            if !lines.is_empty() {
                return Some(lines);
            }
        }
    }

    /// What has come, as lines.
    fn lines(&mut self, received: &ReceivedAll<Record>) -> Vec<u8> {
        let mut lines = Vec::new();
        if received.missed_count > 0 {
            self.missed_count += received.missed_count;
            Format::Events.write_missed(received.missed_count, &mut lines);
        }
        for record in received.items() {
            if let Err(reason) = self.gate.pass(record.at_ns) {
                self.write_end(&reason, &mut lines);
                return lines;
            }
            Format::Events.write(record, "", &mut lines);
        }
        if self.gate.is_full() {
            let reason = self.gate.full();
            self.write_end(&reason, &mut lines);
        }
        lines
    }

    /// Ends it early, for a reason; returns what is still to be written.
    #[must_use]
    pub fn end(mut self, reason: &str) -> Vec<u8> {
        let mut lines = Vec::new();
        if !self.has_ended {
            self.write_end(reason, &mut lines);
        }
        lines
    }

    fn write_end(&mut self, reason: &str, lines: &mut Vec<u8>) {
        self.has_ended = true;
        let cost_us = self.sink.cost().as_secs_f64() * 1e6;
        let end = json!({"event": "end", "reason": reason, "missed": self.missed_count, "cost_us": cost_us});
        lines.extend_from_slice(format!("{end}\n").as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gate(rate_max_per_s: u64, count_max: u64) -> Gate {
        let rate_max_per_s = Some(rate_max_per_s);
        Gate { limits: LiveLimits { rate_max_per_s, count_max }, count: 0, second: (0, 0) }
    }

    #[test]
    fn too_many_in_a_second_are_the_end() {
        let mut slow = gate(2, 100);
        for number in 0..50 {
            assert_eq!(slow.pass(number * NS_PER_S / 2), Ok(()), "{number}");
        }
        let mut fast = gate(2, 100);
        assert_eq!((fast.pass(1), fast.pass(2)), (Ok(()), Ok(())));
        assert_eq!(fast.pass(3), Err("more than 2 events a second matched".to_owned()));
    }

    #[test]
    fn so_many_in_all_are_the_end() {
        let mut gate = gate(100, 3);
        (0..3).for_each(|at| assert_eq!(gate.pass(at), Ok(())));
        assert!(gate.is_full());
        assert_eq!(gate.pass(3), Err("3 events matched".to_owned()));
    }
}
