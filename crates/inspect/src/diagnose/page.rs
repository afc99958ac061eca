//! The page of findings: what an operator reads first.

use std::fmt::Write as _;

use serde_json::{Value, json};
use terminal::table::{Column, row};

use super::facts::{Facts, Queue, SlowRequests};
use super::findings::{Finding, bytes, counted, time};

/// Requests that the page has, and waits of each.
const SLOW_COUNT_MAX: usize = 5;
const WAIT_COUNT_MAX: usize = 2;
/// Of the time of an answer, the part from which on the page has what its reader took.
const READER_PART: f64 = 0.1;

/// Weights, and texts.
const FINDINGS: [Column; 2] = [Column::left(8), Column::left(0).after(1)];

/// The page.
pub(super) fn page(facts: &Facts, findings: &[Finding], missing: &[String]) -> String {
    let mut text = format!("{}, Warren {}, looked at for {:.0} seconds.\n", facts.node, facts.version, facts.seconds);
    let messages = facts.queues.iter().map(Queue::messages).sum();
    let own = facts.nodes.first().cloned().unwrap_or_default();
    let _ = writeln!(
        text,
        "{}, {} with {}; {} of memory, {} free on disk.\n",
        counted(facts.clients.len() as u64, "connection"),
        counted(facts.queues.len() as u64, "queue"),
        counted(messages, "message"),
        bytes(own.memory.used),
        bytes(own.disk_free_len)
    );
    if findings.is_empty() {
        text.push_str("Nothing was found that is out of order.\n");
    }
    for finding in findings {
        let _ = writeln!(text, "{}", row(&FINDINGS, &[finding.weight.name(), &finding.text]));
    }
    for line in missing {
        let _ = writeln!(text, "{}", row(&FINDINGS, &["MISSING", line]));
    }
    if let Some(slow) = &facts.slow_requests {
        write_slow(slow, &mut text);
    }
    text
}

/// The same, as programs read it: findings in the order of the page.
pub(super) fn json(facts: &Facts, findings: &[Finding], missing: &[String]) -> Value {
    let findings: Vec<Value> = findings.iter().map(Finding::to_json).collect();
    json!({
        "node": facts.node, "version": facts.version, "seconds": facts.seconds, "findings": findings, "missing": missing,
    })
}

/// The slowest requests.
fn write_slow(slow: &SlowRequests, text: &mut String) {
    let what = if slow.all.is_empty() { "No requests were recorded" } else { "The slowest requests of the last hour" };
    let of = match slow.has_recorder {
        true => "",
        false => "; of the HTTP API only, because the flight recorder does not run (`warren trace recorder start`)",
    };
    let _ = writeln!(text, "\n{what}{of}{}", if slow.all.is_empty() { '.' } else { ':' });
    for request in slow.all.iter().take(SLOW_COUNT_MAX) {
        let _ = write!(text, "{:>8}  {}  {}", time(request.ms), request.at, request.request);
        if request.reader_ms >= request.ms * READER_PART {
            let _ = write!(
                text,
                ", of which {} went by until its reader had taken {}",
                time(request.reader_ms),
                bytes(request.len)
            );
        }
        for (place, wait) in request.waits.iter().take(WAIT_COUNT_MAX).enumerate() {
            let waited = if place == 0 { ", of which it waited" } else { "," };
            let _ = write!(text, "{waited} {} {}", time(wait.ms), wait.what());
        }
        text.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::super::facts::{Client, Node, Queue, Share, SlowRequest, Wait};
    use super::super::findings::Weight;
    use super::super::lengths::Lengths;
    use super::*;

    #[test]
    fn findings_are_between_what_the_broker_is_and_what_is_missing() {
        let facts = Facts {
            node: "rabbit@a".to_owned(),
            version: "0.1.0".to_owned(),
            seconds: 5.0,
            nodes: vec![Node { memory: Share { used: 20 << 20, limit: 0 }, ..Node::default() }],
            clients: vec![Client::default(); 1_234],
            queues: vec![Queue { lengths: Lengths(vec![3, 7]), ..Queue::default() }; 2],
            ..Facts::default()
        };
        let finding = Finding {
            weight: Weight::Problem,
            kind: "no_consumer",
            text: "orders grows.".to_owned(),
            queue: Some(("/".to_owned(), "orders".to_owned())),
            client: None,
            node: None,
        };
        assert_eq!(
            page(&facts, std::slice::from_ref(&finding), &["no profile: an alarm is on".to_owned()]),
            "rabbit@a, Warren 0.1.0, looked at for 5 seconds.\n\
             1,234 connections, 2 queues with 14 messages; 20.0 MiB of memory, 0.0 KiB free on disk.\n\n\
             PROBLEM  orders grows.\n\
             MISSING  no profile: an alarm is on\n"
        );
        let json = json(&facts, &[finding], &[]);
        let expected = json!([{
            "severity": "problem", "kind": "no_consumer", "text": "orders grows.", "queue": {"vhost": "/", "name": "orders"},
        }]);
        assert_eq!((&json["findings"], &json["node"]), (&expected, &json!("rabbit@a")));
        assert!(page(&facts, &[], &[]).ends_with("\n\nNothing was found that is out of order.\n"));
    }

    #[track_caller]
    fn check_slow(slow: SlowRequests, expected: &str) {
        let facts = Facts { slow_requests: Some(slow), ..Facts::default() };
        let page = page(&facts, &[], &[]);
        assert_eq!(page.split_once("out of order.\n").unwrap().1, expected);
    }

    #[test]
    fn the_slowest_requests_are_at_the_end() {
        let wait = |kind: &str, holder: &str, ms| Wait { kind: kind.to_owned(), holder: holder.to_owned(), ms };
        let request = |request: &str, ms, waits| SlowRequest {
            request: request.to_owned(),
            at: "13:14:34".to_owned(),
            ms,
            waits,
            ..SlowRequest::default()
        };
        let waits = vec![wait("lock", "a::b", 300.0), wait("disk", "", 5.0), wait("task", "", 1.0)];
        let all = vec![request("GET /api/queues", 312.0, waits), request("queue.declare (orders)", 1.5, Vec::new())];
        let expected = "\nThe slowest requests of the last hour:\n  \
             312 ms  13:14:34  GET /api/queues, of which it waited 300 ms for a lock that a::b held, 5.0 ms for the disk\n  \
             1.5 ms  13:14:34  queue.declare (orders)\n";
        check_slow(SlowRequests { has_recorder: true, all: all.clone() }, expected);
        let lines =
            "; of the HTTP API only, because the flight recorder does not run (`warren trace recorder start`):\n";
        check_slow(SlowRequests { has_recorder: false, all }, &expected.replacen(":\n", lines, 1));
        check_slow(SlowRequests { has_recorder: true, all: Vec::new() }, "\nNo requests were recorded.\n");
    }
}
