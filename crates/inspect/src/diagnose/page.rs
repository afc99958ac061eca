//! The page of findings: what an operator reads first.

use std::fmt::Write as _;

use super::facts::Facts;
use super::findings::{Finding, bytes, counted};

/// The page.
pub(super) fn page(facts: &Facts, findings: &[Finding], missing: &[String]) -> String {
    let mut text = format!("{}, Warren {}, looked at for {:.0} seconds.\n", facts.node, facts.version, facts.seconds);
    let messages = facts.queues.iter().map(|queue| queue.messages).sum();
    let _ = writeln!(
        text,
        "{}, {} with {}; {} of memory, {} free on disk.\n",
        counted(facts.connection_count, "connection"),
        counted(facts.queues.len() as u64, "queue"),
        counted(messages, "message"),
        bytes(facts.memory.used),
        bytes(facts.disk_free_len)
    );
    if findings.is_empty() {
        text.push_str("Nothing was found that is out of order.\n");
    }
    for finding in findings {
        let _ = writeln!(text, "{:<8} {}", finding.weight.name(), finding.text);
    }
    for line in missing {
        let _ = writeln!(text, "{:<8} {line}", "MISSING");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::facts::{Queue, Share};
    use super::super::findings::Weight;
    use super::*;

    #[test]
    fn findings_are_between_what_the_broker_is_and_what_is_missing() {
        let facts = Facts {
            node: "rabbit@a".to_owned(),
            version: "0.1.0".to_owned(),
            seconds: 5.0,
            memory: Share { used: 20 << 20, limit: 0 },
            connection_count: 1_234,
            queues: vec![Queue { messages: 7, ..Queue::default() }; 2],
            ..Facts::default()
        };
        let finding = Finding { weight: Weight::Problem, text: "orders grows.".to_owned() };
        assert_eq!(
            page(&facts, &[finding], &["no profile: an alarm is on".to_owned()]),
            "rabbit@a, Warren 0.1.0, looked at for 5 seconds.\n\
             1,234 connections, 2 queues with 14 messages; 20.0 MiB of memory, 0.0 KiB free on disk.\n\n\
             PROBLEM  orders grows.\n\
             MISSING  no profile: an alarm is on\n"
        );
        assert!(page(&facts, &[], &[]).ends_with("\n\nNothing was found that is out of order.\n"));
    }
}
