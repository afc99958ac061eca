//! How answers of the HTTP API went to their readers, by request.

use std::collections::BTreeMap;
use std::time::Duration;

use parking_lot::Mutex;
use telemetry::exposition::Value;

use super::metric::{Table, counter, nothing, some, write_each};

/// How one answer went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AnswerWay {
    /// Its body.
    pub len: u64,
    /// From the request until its first byte was with the connection.
    pub first_byte: Duration,
    /// For how long it was made, with what that waited for.
    pub making: Duration,
    /// For how long other tasks had their turn.
    pub turn: Duration,
    /// For how long its reader, or the way there, had not taken what was made.
    pub reader: Duration,
    /// Whether it was sent to its end.
    pub is_whole: bool,
}

impl AnswerWay {
    /// From the request until its last byte was with the connection.
    #[must_use]
    pub fn duration(&self) -> Duration {
        self.making + self.turn + self.reader
    }
}

/// The sums of all answers since the start, by request.
#[derive(Debug, Default)]
pub struct AnswerTimes(Mutex<BTreeMap<&'static str, Sums>>);

#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    count: u64,
    broken_count: u64,
    ways: AnswerWay,
}

impl AnswerTimes {
    /// An answer has ended. `request`: the method and the path with its parameters' names.
    pub fn add(&self, request: &'static str, way: &AnswerWay) {
        let mut all = self.0.lock();
        let sums = all.entry(request).or_default();
        sums.count += 1;
        sums.broken_count += u64::from(!way.is_whole);
        sums.ways.len += way.len;
        sums.ways.first_byte += way.first_byte;
        sums.ways.making += way.making;
        sums.ways.turn += way.turn;
        sums.ways.reader += way.reader;
    }

    pub(super) fn write(&self, out: &mut Vec<u8>, prefix: &'static str) {
        let all: Vec<(&'static str, Sums)> = self.0.lock().iter().map(|(request, sums)| (*request, *sums)).collect();
        if !all.is_empty() {
            write_each(out, &ANSWERS, prefix, &all);
        }
    }
}

static ANSWERS: Table<(&'static str, Sums)> = Table {
    metrics: &[
        counter("http_answers_total", "Responses of the HTTP API", |(_, sums)| some(sums.count), nothing),
        counter(
            "http_answers_broken_off_total",
            "Responses whose client disconnected before the end",
            |(_, sums)| some(sums.broken_count),
            nothing,
        ),
        counter("http_answer_bytes_total", "Bytes of response bodies", |(_, sums)| some(sums.ways.len), nothing),
        counter(
            "http_answer_first_byte_seconds_total",
            "Time from the request until the first byte was sent to the connection",
            |(_, sums)| seconds(sums.ways.first_byte),
            nothing,
        ),
        counter(
            "http_answer_making_seconds_total",
            "Time to generate responses, including waits",
            |(_, sums)| seconds(sums.ways.making),
            nothing,
        ),
        counter(
            "http_answer_turn_seconds_total",
            "Time in which responses waited for other tasks",
            |(_, sums)| seconds(sums.ways.turn),
            nothing,
        ),
        counter(
            "http_answer_reader_seconds_total",
            "Time in which responses waited for clients or the network",
            |(_, sums)| seconds(sums.ways.reader),
            nothing,
        ),
    ],
    labels: |(request, _), labels| labels.put("request", request),
};

fn seconds(time: Duration) -> Option<Value> {
    some(Value::Real(time.as_secs_f64()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_summed_by_request() {
        let ms = Duration::from_millis;
        let way = AnswerWay { len: 10, first_byte: ms(2), making: ms(3), turn: ms(4), reader: ms(500), is_whole: true };
        assert_eq!(way.duration(), ms(507));
        let times = AnswerTimes::default();
        times.add("GET /api/queues", &way);
        times.add("GET /api/queues", &AnswerWay { is_whole: false, ..way });
        let mut out = Vec::new();
        times.write(&mut out, "warren_");
        let text = String::from_utf8(out).unwrap();
        for line in [
            "warren_http_answers_total{request=\"GET /api/queues\"} 2",
            "warren_http_answers_broken_off_total{request=\"GET /api/queues\"} 1",
            "warren_http_answer_bytes_total{request=\"GET /api/queues\"} 20",
            "warren_http_answer_reader_seconds_total{request=\"GET /api/queues\"} 1",
        ] {
            assert!(text.lines().any(|found| found.starts_with(line)), "{line}: {text}");
        }
    }
}
