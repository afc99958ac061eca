//! What became of each queue, in numbers.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::facts::Facts;
use crate::journal::{Journal, Record};
use crate::mover::HoldReason;
use crate::queue::QueueId;

/// What can be said of a queue's counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The source has none left.
    Moved,
    /// The destination has fewer than both had, and nothing has taken any as far as was seen.
    Fewer,
    /// Some are left at the source.
    Left(String),
    /// It is not moved.
    Stays(&'static str),
}

impl Outcome {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Outcome::Moved => "moved",
            Outcome::Fewer => "fewer",
            Outcome::Left(_) => "left",
            Outcome::Stays(_) => "stays",
        }
    }
}

/// A queue's counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) id: QueueId,
    /// Messages of both when it was seen first.
    pub(crate) before: (u64, u64),
    /// Messages of both now.
    pub(crate) now: (u64, u64),
    /// Messages that shovels have published, as far as they were looked at.
    pub(crate) moved: u64,
    pub(crate) outcome: Outcome,
}

/// All queues of the source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) rows: Vec<Row>,
    pub(crate) fewer_count: usize,
    pub(crate) left_count: usize,
    /// Of all that are moved: at both before, and at both now.
    pub(crate) before: (u64, u64),
    pub(crate) now: (u64, u64),
    pub(crate) moved: u64,
}

pub(crate) fn counts(journal: &Journal, facts: &Facts, held: &BTreeMap<QueueId, HoldReason>) -> Counts {
    let mut counts = Counts::default();
    for (id, queue) in &facts.source {
        let record = journal.queues.get(id).cloned().unwrap_or_default();
        let Record { baseline, moved, is_touched, .. } = record;
        let now = (queue.total(), facts.destination.get(id).map_or(0, |queue| queue.total()));
        let outcome = match queue.stays() {
            Some(stays) => Outcome::Stays(stays.reason()),
            None if now.0 > 0 => {
                let reason = held.get(id).map(|held| held.reason(journal.direction));
                Outcome::Left(reason.unwrap_or_else(|| "they arrived after the others had been moved".to_owned()))
            }
            None if now.1 < baseline.source + baseline.destination && !is_touched => Outcome::Fewer,
            None => Outcome::Moved,
        };
        let before = (baseline.source, baseline.destination);
        if !matches!(outcome, Outcome::Stays(_)) {
            counts.before = (counts.before.0 + before.0, counts.before.1 + before.1);
            counts.now = (counts.now.0 + now.0, counts.now.1 + now.1);
            counts.moved += moved;
        }
        counts.fewer_count += usize::from(outcome == Outcome::Fewer);
        counts.left_count += usize::from(matches!(outcome, Outcome::Left(_)));
        counts.rows.push(Row { id: id.clone(), before, now, moved, outcome });
    }
    counts
}

impl Counts {
    pub(crate) fn value(&self, journal: &Journal) -> Value {
        let (source, destination) = (journal.direction.source(), journal.direction.destination());
        let pair = |(at_source, at_destination): (u64, u64)| json!({source: at_source, destination: at_destination});
        let rows = self.rows.iter().map(|row| {
            let mut value = json!({"vhost": row.id.vhost, "name": row.id.name, "before": pair(row.before),
                "now": pair(row.now), "moved_at_least": row.moved, "outcome": row.outcome.name()});
            match &row.outcome {
                Outcome::Left(reason) => value["reason"] = json!(reason),
                Outcome::Stays(reason) => value["reason"] = json!(reason),
                Outcome::Moved | Outcome::Fewer => {}
            }
            value
        });
        json!({"before": pair(self.before), "now": pair(self.now), "moved_at_least": self.moved,
               "fewer": self.fewer_count, "left": self.left_count, "queues": rows.collect::<Vec<_>>()})
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::Baseline;
    use crate::link::Direction;
    use crate::queue::Queue;

    #[track_caller]
    fn check(before: (u64, u64), now: (u64, u64), is_touched: bool, expected: &str) {
        let mut journal = Journal::new(Direction::Forward, "old", "new");
        let id = QueueId::new("/", "q");
        let baseline = Baseline { source: before.0, destination: before.1, ..Baseline::default() };
        journal.queues.insert(id.clone(), Record { baseline, is_touched, ..Record::default() });
        let queue = |ready| BTreeMap::from([(id.clone(), Queue { ready, ..Queue::default() })]);
        let facts = Facts { source: queue(now.0), destination: queue(now.1), is_exact: true, ..Facts::default() };
        assert_eq!(counts(&journal, &facts, &BTreeMap::new()).rows[0].outcome.name(), expected);
    }

    #[test]
    fn a_queue_that_was_left_alone_has_all_its_messages() {
        check((10, 5), (0, 15), false, "moved");
        check((10, 5), (0, 16), false, "moved");
        check((10, 5), (0, 14), false, "fewer");
        check((10, 5), (0, 14), true, "moved");
        check((10, 5), (1, 14), false, "left");
    }
}
