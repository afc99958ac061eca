//! What programs read: one JSON object a line. `begin` first, then a `round` each, and `end` with what they came to. Times are in
//! milliseconds.

use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::stage::{Stage, Times};
use crate::statistics::{StageSummary, Statistics};
use crate::text::Subject;
use crate::verdict::Verdict;

/// The first line.
pub(crate) fn begin(subject: &Subject) -> String {
    let Subject { uri, peer, broker, queue, size } = subject;
    line(&json!({"event": "begin", "uri": uri, "peer": peer, "broker": broker, "queue": queue, "size": size}))
}

/// A round.
pub(crate) fn round(number: u64, outcome: &Result<Times, String>) -> String {
    let mut object = Map::from_iter([("event".to_owned(), json!("round")), ("round".to_owned(), json!(number))]);
    match outcome {
        Ok(times) => {
            object.extend(times.measured().map(|(stage, time)| (format!("{}_ms", stage.key()), ms(time))));
            object.insert("resent".to_owned(), json!(times.resent));
        }
        Err(reason) => drop(object.insert("lost".to_owned(), json!(reason))),
    }
    line(&Value::Object(object))
}

/// The end.
pub(crate) fn end(statistics: &Statistics, took: Duration, verdict: &Verdict) -> String {
    let of = |stage: Stage| Some((stage.key().to_owned(), summary(&statistics.of(stage)?)));
    let stages: Map<String, Value> = Stage::ALL.into_iter().filter_map(of).collect();
    let budget = verdict.budget.as_ref().map(|budget| json!({"kept": budget.is_kept, "sentence": budget.sentence}));
    line(&json!({
        "event": "end",
        "rounds": statistics.completed() + statistics.lost(),
        "lost": statistics.lost(),
        "resent": statistics.resent(),
        "took_ms": ms(took),
        "stages": stages,
        "cause": verdict.cause.key(),
        "verdict": verdict.sentence,
        "budget": budget,
    }))
}

fn summary(of: &StageSummary) -> Value {
    json!({
        "min_ms": ms(of.min),
        "p50_ms": ms(of.p50),
        "p90_ms": ms(of.p90),
        "p99_ms": ms(of.p99),
        "max_ms": ms(of.max),
        "mean_ms": ms(of.mean),
        "jitter_ms": of.jitter.map(ms),
    })
}

fn ms(time: Duration) -> Value {
    json!(time.as_nanos() as f64 / 1e6)
}

fn line(value: &Value) -> String {
    format!("{value}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stage::times_us;
    use crate::verdict;

    #[track_caller]
    fn parsed(line: &str) -> Value {
        let text = line.strip_suffix('\n').unwrap();
        assert!(!text.contains('\n'), "one line");
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn round_has_the_times_that_were_measured() {
        let times = times_us(&[(Stage::Connect, 301), (Stage::Confirm, 4_100)]);
        let expected = json!({"event": "round", "round": 3, "connect_ms": 0.301, "confirm_ms": 4.1, "resent": 0});
        assert_eq!(parsed(&round(3, &Ok(times))), expected);
        let expected = json!({"event": "round", "round": 4, "lost": "no confirm\nwithin 5 s"});
        assert_eq!(parsed(&round(4, &Err("no confirm\nwithin 5 s".to_owned()))), expected);
    }

    #[test]
    fn end_has_all_that_the_table_has() {
        let mut statistics = Statistics::new();
        statistics.complete(&times_us(&[(Stage::Connect, 100), (Stage::Answer, 200), (Stage::Confirm, 4_000)]));
        statistics.lose();
        let verdict = verdict::judge(&statistics, Some(Duration::from_millis(1)));
        let end = parsed(&end(&statistics, Duration::from_millis(1_500), &verdict));
        let whole = json!({"rounds": 2, "lost": 1, "resent": 0, "took_ms": 1500.0, "event": "end", "cause": "confirm"});
        for key in ["rounds", "lost", "resent", "took_ms", "event", "cause"] {
            assert_eq!(end[key], whole[key], "{key}");
        }
        let connect = json!({"min_ms": 0.1, "p50_ms": 0.1, "p90_ms": 0.1, "p99_ms": 0.1, "max_ms": 0.1, "mean_ms": 0.1, "jitter_ms": null});
        assert_eq!(end["stages"]["connect"], connect);
        assert_eq!(end["stages"].get("tls"), None);
        assert_eq!(end["budget"]["kept"], json!(false));
        assert_eq!(end["verdict"], json!(verdict.sentence));
        let without = verdict::judge(&statistics, None);
        assert_eq!(parsed(&super::end(&statistics, Duration::ZERO, &without))["budget"], Value::Null);
    }

    #[test]
    fn beginning_says_who_is_pinged() {
        let subject = Subject { uri: "amqp://guest@h:5672".to_owned(), size: 12, ..Subject::default() };
        let begin = parsed(&begin(&subject));
        assert_eq!(
            (&begin["event"], &begin["uri"], &begin["size"]),
            (&json!("begin"), &json!("amqp://guest@h:5672"), &json!(12))
        );
    }
}
