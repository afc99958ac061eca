//! How an answer is sent to its reader: long lists are made while they are sent, so most of their time comes after their handler.

use std::sync::Arc;
use std::time::{Duration, Instant};

use http_server::{Spent, Watcher};
use observe::prometheus::{AnswerTimes, AnswerWay};
use telemetry::trace::{PendingAnswer, WaitKind, WaitReason};

use crate::slow_requests::SlowRequests;

const MAKING: WaitReason = WaitReason { kind: WaitKind::Task, name: "a piece of the answer to be made", threads: &[] };
const TURN: WaitReason = WaitReason { kind: WaitKind::Task, name: "its turn", threads: &[] };
const READER: WaitReason = WaitReason { kind: WaitKind::Socket, name: "the reader of the answer", threads: &[] };

/// Statistics of the answers that were sent.
#[derive(Debug, Clone, Default)]
pub(crate) struct AnswersSent {
    /// The slowest of late.
    pub(crate) slow: Arc<SlowRequests>,
    /// All, by request.
    pub(crate) times: Arc<AnswerTimes>,
}

/// A request.
pub(crate) struct Sent {
    /// The name of its point.
    pub(crate) point: &'static str,
    /// As it was asked for, without the query.
    pub(crate) path: Box<str>,
    pub(crate) status: u16,
    pub(crate) began: Instant,
    /// It takes as long as was asked for, so it is not slow.
    pub(crate) is_as_long_as_asked: bool,
}

/// A request whose answer is on its way. When this is dropped, the answer has ended, or its reader has left: then it is counted, noted if
/// it is among the slowest, and the call of a session that watches it returns.
pub(crate) struct Sending {
    kept: AnswersSent,
    request: Sent,
    /// Until when the time is accounted for.
    until: Instant,
    way: AnswerWay,
    /// None: no session watches it.
    call: Option<PendingAnswer>,
}

impl Sending {
    /// Of a request that has been handled.
    pub(crate) fn new(kept: AnswersSent, request: Sent, call: Option<PendingAnswer>) -> Sending {
        Sending { kept, until: request.began, request, way: AnswerWay::default(), call }
    }
}

impl Watcher for Sending {
    fn spent(&mut self, on: Spent, until: Instant) {
        let time = until.saturating_duration_since(self.until);
        self.until = self.until.max(until);
        let (sum, waited) = match on {
            Spent::Making => (&mut self.way.making, &MAKING),
            Spent::Turn => (&mut self.way.turn, &TURN),
            Spent::Reader => (&mut self.way.reader, &READER),
        };
        *sum += time;
        // Until the first piece it is the call's own work.
        if self.way.len > 0
            && let Some(call) = &mut self.call
        {
            call.waited(waited, until);
        }
    }

    fn sent(&mut self, len: usize, is_last: bool) {
        if self.way.len == 0 {
            self.way.first_byte = self.until.saturating_duration_since(self.request.began);
        }
        self.way.len += len as u64;
        self.way.is_whole = is_last;
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        if self.way.len == 0 {
            // It has no body.
            self.spent(Spent::Making, Instant::now());
            (self.way.first_byte, self.way.is_whole) = (self.way.making, true);
        }
        let (way, until) = (self.way, self.until);
        let Sent { point, status, began, is_as_long_as_asked, .. } = self.request;
        if let Some(call) = &mut self.call {
            call.returns(|| shown(status, &way));
        }
        self.kept.times.add(point.trim_start_matches("http::"), &way);
        if !is_as_long_as_asked {
            let path = std::mem::take(&mut self.request.path);
            self.kept.slow.note((began, until), point, way, || (path, status));
        }
    }
}

/// `200, 74000000 bytes; first byte after …`, and `204` where there is no body.
fn shown(status: u16, way: &AnswerWay) -> String {
    let AnswerWay { len, first_byte, making, turn, reader, is_whole } = way;
    if *len == 0 {
        return status.to_string();
    }
    let ms = |time: &Duration| time.as_secs_f64() * 1e3;
    let whole = if *is_whole { "" } else { ", broken off" };
    format!(
        "{status}, {len} bytes{whole}; first byte after {:.2} ms, made in {:.2} ms, {:.2} ms for its turn, {:.2} ms for its reader",
        ms(first_byte),
        ms(making),
        ms(turn),
        ms(reader)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_shown_with_what_its_time_was_spent_on() {
        let ms = Duration::from_millis;
        let way =
            AnswerWay { len: 70, first_byte: ms(1), making: ms(2), turn: ms(3), reader: ms(400), is_whole: false };
        let expected = "200, 70 bytes, broken off; first byte after 1.00 ms, made in 2.00 ms, 3.00 ms for its turn, \
                        400.00 ms for its reader";
        assert_eq!(shown(200, &way), expected);
        assert_eq!(shown(204, &AnswerWay { len: 0, ..way }), "204");
    }
}
