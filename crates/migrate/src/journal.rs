//! What is remembered from one run to the next, so that a run that was killed can be continued: how far it was, and what was seen of
//! each queue. All else is asked of the brokers.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::link::Direction;
use crate::queue::QueueId;

/// The form of the file.
const VERSION: u64 = 1;

/// A step of a migration, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Step {
    Check,
    Definitions,
    Feed,
    CutOver,
    Drain,
    Verify,
    Finish,
    Done,
}

impl Step {
    pub(crate) const ALL: [Step; 8] = [
        Step::Check,
        Step::Definitions,
        Step::Feed,
        Step::CutOver,
        Step::Drain,
        Step::Verify,
        Step::Finish,
        Step::Done,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Step::Check => "check",
            Step::Definitions => "definitions",
            Step::Feed => "feed",
            Step::CutOver => "cut-over",
            Step::Drain => "drain",
            Step::Verify => "verify",
            Step::Finish => "finish",
            Step::Done => "done",
        }
    }

    pub(crate) fn parse(name: &str) -> Option<Self> {
        Step::ALL.into_iter().find(|step| step.name() == name)
    }

    pub(crate) fn next(self) -> Step {
        Step::ALL.into_iter().find(|step| *step > self).unwrap_or(Step::Done)
    }
}

/// What was there when a queue was seen first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Baseline {
    pub(crate) source: u64,
    pub(crate) destination: u64,
    /// Messages that were fetched at the source, and taken at the destination, since these brokers count.
    pub(crate) fetched: u64,
    pub(crate) taken: u64,
}

/// A queue, as far as it was seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) baseline: Baseline,
    /// Messages that shovels have published, as far as they were looked at: those between two looks may be missing.
    pub(crate) moved: u64,
    /// What its shovel had published when it was looked at last, and since when that was connected.
    pub(crate) last: (String, u64),
    /// What waited at the start has been moved.
    pub(crate) is_fed: bool,
    /// Something has consumed from it, or may have dropped its messages: its counts need not be right.
    pub(crate) is_touched: bool,
}

/// All that is remembered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Journal {
    pub(crate) direction: Direction,
    pub(crate) step: Step,
    /// The old broker and the new one, without passwords.
    pub(crate) old: String,
    pub(crate) new: String,
    pub(crate) queues: BTreeMap<QueueId, Record>,
    /// All queues have been counted, before anything was moved.
    pub(crate) is_counted: bool,
    /// Vhosts of the new broker in which our user got permissions.
    pub(crate) granted: Vec<String>,
}

impl Journal {
    pub(crate) fn new(direction: Direction, old: &str, new: &str) -> Self {
        Journal {
            direction,
            step: Step::Check,
            old: old.to_owned(),
            new: new.to_owned(),
            queues: BTreeMap::new(),
            is_counted: false,
            granted: Vec::new(),
        }
    }

    pub(crate) fn encode(&self) -> Value {
        let queues = self.queues.iter().map(|(id, record)| {
            let Record { baseline: Baseline { source, destination, fetched, taken }, moved, last, is_fed, is_touched } =
                record;
            json!({"vhost": id.vhost, "name": id.name, "source": source, "destination": destination,
                   "fetched": fetched, "taken": taken, "moved": moved, "since": last.0,
                   "forwarded": last.1, "fed": is_fed, "touched": is_touched})
        });
        json!({"warren_migrate": VERSION, "direction": self.direction.name(), "step": self.step.name(),
               "old": self.old, "new": self.new, "counted": self.is_counted, "granted": self.granted,
               "queues": queues.collect::<Vec<_>>()})
    }

    /// Reads what [`Journal::encode`] wrote. `None`: it is something else.
    pub(crate) fn decode(value: &Value) -> Option<Self> {
        (value["warren_migrate"] == VERSION).then_some(())?;
        let texts =
            |value: &Value| Some(value.as_array()?.iter().filter_map(Value::as_str).map(str::to_owned).collect());
        let mut queues = BTreeMap::new();
        for entry in value["queues"].as_array()? {
            let entry: &Map<String, Value> = entry.as_object()?;
            let number = |name: &str| entry.get(name)?.as_u64();
            let truth = |name: &str| entry.get(name)?.as_bool();
            let id = QueueId::new(entry.get("vhost")?.as_str()?, entry.get("name")?.as_str()?);
            let baseline = Baseline {
                source: number("source")?,
                destination: number("destination")?,
                fetched: number("fetched")?,
                taken: number("taken")?,
            };
            let record = Record {
                baseline,
                moved: number("moved")?,
                last: (entry.get("since")?.as_str()?.to_owned(), number("forwarded")?),
                is_fed: truth("fed")?,
                is_touched: truth("touched")?,
            };
            queues.insert(id, record);
        }
        Some(Journal {
            direction: Direction::parse(value["direction"].as_str()?)?,
            step: Step::parse(value["step"].as_str()?)?,
            old: value["old"].as_str()?.to_owned(),
            new: value["new"].as_str()?.to_owned(),
            queues,
            is_counted: value["counted"].as_bool()?,
            granted: texts(&value["granted"])?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_comes_back_as_it_was_written() {
        let mut journal = Journal::new(Direction::Back, "old:5672", "new:5672");
        journal.step = Step::Drain;
        journal.is_counted = true;
        journal.granted.push("/".to_owned());
        let baseline = Baseline { source: 1, destination: 2, fetched: 3, taken: 4 };
        let record = Record { baseline, moved: 5, last: ("t".to_owned(), 6), is_fed: true, is_touched: false };
        journal.queues.insert(QueueId::new("/", "q"), record);
        assert_eq!(Journal::decode(&journal.encode()), Some(journal.clone()));
        journal.is_counted = false;
        for step in Step::ALL {
            journal.step = step;
            assert_eq!(Journal::decode(&journal.encode()).as_ref(), Some(&journal));
        }
        assert_eq!(Journal::decode(&json!({"warren_migrate": 2})), None);
        assert_eq!(Journal::decode(&json!([])), None);
    }

    #[test]
    fn steps_have_an_order_and_an_end() {
        use Step::{Check, CutOver, Definitions, Done, Drain, Feed, Finish, Verify};
        let order = [Check, Definitions, Feed, CutOver, Drain, Verify, Finish, Done];
        assert!(order.windows(2).all(|pair| pair[0].next() == pair[1]));
        assert_eq!(Step::Done.next(), Step::Done);
        assert!(Step::ALL.into_iter().all(|step| Step::parse(step.name()) == Some(step)));
    }
}
