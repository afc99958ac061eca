//! The output: lines for people, or a JSON object a line.

use std::collections::BTreeMap;
use std::io::{self, Write as _};

use preflight::grouped;
use serde_json::{Value, json};
use terminal::table::{self, Column};

use crate::arguments::Format;
use crate::counts::{Counts, Outcome};
use crate::facts::{Client, Facts};
use crate::failure::Failure;
use crate::journal::{Journal, Step};
use crate::machine::Machine;
use crate::mover::HoldReason;
use crate::queue::{Queue, QueueId, Stays};

/// From one line of progress to the next.
const PROGRESS_INTERVAL_MS: u64 = 5_000;
/// Names that are given as examples.
const EXAMPLE_COUNT: usize = 5;
/// Clients that are listed one by one.
const CLIENT_COUNT: usize = 20;
/// Rows of a table that is shown whole.
const ROW_COUNT: usize = 40;

/// Writes the output.
#[derive(Debug)]
pub(crate) struct Reporter {
    format: Format,
    last_progress: Option<(u64, String)>,
    last_held: String,
    last_clients: String,
    last_away: String,
}

pub(crate) fn number(count: u64) -> String {
    grouped(usize::try_from(count).unwrap_or(usize::MAX))
}

/// A count with its noun.
pub(crate) fn counted(count: u64, one: &str) -> String {
    format!("{} {one}{}", number(count), if count == 1 { "" } else { "s" })
}

impl Reporter {
    pub(crate) fn new(format: Format) -> Self {
        Reporter {
            format,
            last_progress: None,
            last_held: String::new(),
            last_clients: String::new(),
            last_away: String::new(),
        }
    }

    /// Reports an event of a step.
    pub(crate) fn tell(&self, step: Step, event: &str, text: &str, mut value: Value) -> Result<(), Failure> {
        let line = match self.format {
            Format::Text => format!("{}: {text}\n", step.name()),
            Format::Json => {
                value["step"] = json!(step.name());
                value["event"] = json!(event);
                format!("{value}\n")
            }
        };
        put(&line)
    }

    /// Text that stands for itself, or its JSON.
    pub(crate) fn show(&self, text: &str, value: &Value) -> Result<(), Failure> {
        match self.format {
            Format::Text => put(text),
            Format::Json => put(&format!("{value}\n")),
        }
    }

    /// A broker does not answer: that is reported once.
    pub(crate) fn away(&mut self, step: Step, text: &str) -> Result<(), Failure> {
        if self.last_away == text {
            return Ok(());
        }
        text.clone_into(&mut self.last_away);
        self.tell(step, "waiting", &format!("waits: {text}"), json!({"reason": text}))
    }

    /// How far it is, every few seconds, and what stands in the way when that has changed.
    pub(crate) fn progress(&mut self, machine: &Machine, facts: &Facts) -> Result<(), Failure> {
        self.last_away.clear();
        let step = machine.step();
        if !matches!(step, Step::Feed | Step::CutOver | Step::Drain) {
            return Ok(());
        }
        let moved_queues = facts.source.values().filter(|queue| queue.stays().is_none());
        let left: u64 = moved_queues.map(Queue::total).sum();
        let (moved, shovels, waiting) = (machine.moved(), facts.shovels.len() as u64, machine.waiting_count() as u64);
        let (before, source) = (machine.before(), machine.journal().direction.source());
        let mut text =
            format!("{} left at the {source} broker, initially {}", counted(left, "message"), number(before));
        if machine.is_settling() {
            text.push_str("; checks for messages that come back");
        } else {
            text.push_str(&format!("; {} being moved", counted(shovels, "queue")));
            if waiting > 0 {
                text.push_str(&format!(", {} waiting", number(waiting)));
            }
        }
        let is_due = match &self.last_progress {
            None => true,
            Some((at, last)) => facts.now_ms >= at + PROGRESS_INTERVAL_MS && *last != format!("{step:?}{text}"),
        };
        if is_due {
            self.last_progress = Some((facts.now_ms, format!("{step:?}{text}")));
            let value = json!({"before": before, "moved_at_least": moved, "left": left, "shovels": shovels, "waiting": waiting});
            self.tell(step, "progress", &text, value)?;
            self.held(step, machine)?;
        }
        if step == Step::CutOver {
            self.clients(machine, &facts.clients)?;
        }
        Ok(())
    }

    fn held(&mut self, step: Step, machine: &Machine) -> Result<(), Failure> {
        let mut by_reason: BTreeMap<String, Vec<&QueueId>> = BTreeMap::new();
        for (id, held) in machine.held() {
            by_reason.entry(held.reason(machine.journal().direction)).or_default().push(id);
        }
        let hint = if step == Step::Drain { "; --accept leaves them behind" } else { "" };
        let digest = format!("{hint}{by_reason:?}");
        if self.last_held == digest {
            return Ok(());
        }
        self.last_held = digest;
        for (reason, queues) in by_reason {
            let text = format!("not now: {}: {reason}{hint}", examples(&queues));
            let names: Vec<_> = queues.iter().map(|id| json!({"vhost": id.vhost, "name": id.name})).collect();
            self.tell(step, "held", &text, json!({"reason": reason, "queues": names}))?;
        }
        Ok(())
    }

    /// The clients that the cut-over waits for.
    fn clients(&mut self, machine: &Machine, clients: &[Client]) -> Result<(), Failure> {
        let mut names: Vec<String> = clients.iter().map(|client| format!("  {}\n", client_line(client))).collect();
        if names.is_empty() || self.last_clients == names.concat() {
            return Ok(());
        }
        self.last_clients = names.concat();
        if names.len() > CLIENT_COUNT {
            let more = names.len() - CLIENT_COUNT;
            names.truncate(CLIENT_COUNT);
            names.push(format!("  and {} more\n", grouped(more)));
        }
        let source = machine.journal().direction.source();
        let count = counted(clients.len() as u64, "client");
        let text = format!("waits for {count} of the {source} broker:\n{}", names.concat().trim_end());
        let values = clients.iter().map(|client| {
            json!({"name": client.name, "user": client.user, "vhost": client.vhost,
                   "consumers": client.consumer_count, "publishes": client.publishes})
        });
        self.tell(Step::CutOver, "clients", &text, json!({"clients": values.collect::<Vec<_>>()}))
    }

    /// The counts, as a table.
    pub(crate) fn counts(&self, journal: &Journal, counts: &Counts) -> Result<(), Failure> {
        let text = queue_table(journal, counts);
        self.tell(Step::Verify, "counts", text.trim_end(), counts.value(journal))
    }
}

fn put(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(human::printable(text).as_bytes()).and_then(|()| out.flush()).map_err(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::Unread,
        _ => Failure::stopped(format!("cannot write: {error}")),
    })
}

/// Queues by number, with some names.
pub(crate) fn examples(queues: &[&QueueId]) -> String {
    match queues {
        [one] => one.to_string(),
        _ => {
            let names: Vec<String> = queues.iter().take(EXAMPLE_COUNT).map(|id| format!("'{}'", id.name)).collect();
            let more = if queues.len() > EXAMPLE_COUNT { ", …" } else { "" };
            format!("{} ({}{more})", counted(queues.len() as u64, "queue"), names.join(", "))
        }
    }
}

fn client_line(client: &Client) -> String {
    let does = match (client.consumer_count, client.publishes) {
        (0, false) => "is idle".to_owned(),
        (0, true) => "publishes".to_owned(),
        (count, false) => format!("has {}", counted(count as u64, "consumer")),
        (count, true) => format!("has {} and publishes", counted(count as u64, "consumer")),
    };
    format!("{}, user {} in '{}', {does}", client.name, client.user, client.vhost)
}

fn queue_table(journal: &Journal, counts: &Counts) -> String {
    let (source, destination) = (journal.direction.source(), journal.direction.destination());
    let mut text = format!(
        "{}; before: {} at the {source} broker, {} at the {destination} one; now: {}, {}\n",
        counted(counts.rows.len() as u64, "queue"),
        number(counts.before.0),
        number(counts.before.1),
        number(counts.now.0),
        number(counts.now.1),
    );
    let is_told = |outcome: &Outcome| counts.rows.len() <= ROW_COUNT || *outcome != Outcome::Moved;
    let rows: Vec<_> = counts.rows.iter().filter(|row| is_told(&row.outcome)).collect();
    let mut lines = vec![[
        "vhost".to_owned(),
        "queue".to_owned(),
        format!("{source} before"),
        format!("{destination} before"),
        format!("{source} now"),
        format!("{destination} now"),
        "outcome".to_owned(),
    ]];
    for row in &rows {
        let outcome = match &row.outcome {
            Outcome::Moved => "moved".to_owned(),
            Outcome::Fewer => "fewer than before".to_owned(),
            Outcome::Left(reason) => format!("left: {reason}"),
            Outcome::Stays(reason) => format!("not moved: {reason}"),
        };
        let figures = [row.before.0, row.before.1, row.now.0, row.now.1].map(number);
        let [a, b, c, d] = figures;
        lines.push([row.id.vhost.clone(), row.id.name.clone(), a, b, c, d, outcome]);
    }
    if rows.is_empty() {
        return text;
    }
    let (name, count) = (Column::left(0), Column::right(0));
    let table = table::rows(&[name, name, count, count, count, count, name], &lines);
    text.extend(table.lines().map(|line| format!("  {line}\n")));
    text
}

/// What is not moved at all, by reason.
pub(crate) fn staying(facts: &Facts) -> Vec<(Stays, Vec<&QueueId>, u64)> {
    let mut all = Vec::new();
    for stays in [Stays::Exclusive, Stays::AutoDelete, Stays::Stream, Stays::Link] {
        let of_kind = facts.source.iter().filter(|(_, queue)| queue.stays() == Some(stays));
        let (queues, totals): (Vec<_>, Vec<_>) = of_kind.map(|(id, queue)| (id, queue.total())).unzip();
        if !queues.is_empty() {
            all.push((stays, queues, totals.iter().sum()));
        }
    }
    all
}

/// What is held back, by reason.
pub(crate) fn holding(held: &BTreeMap<QueueId, HoldReason>) -> BTreeMap<&HoldReason, Vec<&QueueId>> {
    let mut by_reason: BTreeMap<&HoldReason, Vec<&QueueId>> = BTreeMap::new();
    for (id, held) in held {
        by_reason.entry(held).or_default().push(id);
    }
    by_reason
}
