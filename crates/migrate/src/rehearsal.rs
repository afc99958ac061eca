//! What would be done: `--plan` and `--dry-run`. Both brokers are asked, and nothing is changed.

use serde_json::{Value, json};

use crate::arguments::{Rehearsal, Settings};
use crate::definitions;
use crate::facts::Facts;
use crate::failure::Failure;
use crate::journal::{Journal, Step};
use crate::link::{Direction, Link};
use crate::machine::{CutOver, Question};
use crate::mover::{Decision, Mover, Stage};
use crate::preparation::Checked;
use crate::queue::Queue;
use crate::report::{self, Reporter, counted, examples, number};
use crate::run;
use crate::shell::Shell;

/// Queues that the plan names.
const NAMED_COUNT: usize = 5;

pub(crate) async fn rehearse(settings: Settings, kind: Rehearsal) -> Result<(), Failure> {
    let remembered = std::fs::read(&settings.state).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let journal = run::journal(&settings, remembered.as_ref().and_then(Journal::decode))?;
    let reporter = Reporter::new(settings.format);
    let mut shell = Shell::new(settings);
    shell.identify().await?;
    let checked = shell.check().await?;
    let is_first = journal.direction == Direction::Forward && journal.step <= Step::Definitions;
    let lacking = shell.lacking(is_first).await?;
    let mut facts = shell.look(Question { is_exact: false, ways: false }, Step::CutOver).await?;
    // What is lacking would have been imported.
    for (id, queue) in facts.source.iter().filter(|(_, queue)| queue.stays().is_none()) {
        let imported = Queue { rules: queue.rules.clone(), kind: queue.kind.clone(), ..Queue::default() };
        facts.destination.entry(id.clone()).or_insert(imported);
    }
    let decision = Mover::new(journal.direction, usize::MAX, 0).decide(&facts, Stage::Feeding);
    let rehearsed = Rehearsed { shell: &shell, journal: &journal, checked, lacking, facts, decision };
    let text = match kind {
        Rehearsal::Plan => rehearsed.plan(),
        Rehearsal::DryRun => rehearsed.dry_run(),
    };
    reporter.show(&text, &rehearsed.value())
}

struct Rehearsed<'a> {
    shell: &'a Shell,
    journal: &'a Journal,
    checked: Checked,
    lacking: Value,
    facts: Facts,
    decision: Decision,
}

impl Rehearsed<'_> {
    fn total(&self, link: &Link) -> u64 {
        self.facts.source.get(&link.queue).map_or(0, Queue::total)
    }

    /// Queues that would be moved first, and messages in them.
    fn moved(&self) -> (Vec<&Link>, u64) {
        let links: Vec<&Link> = self.decision.start.iter().filter(|link| self.total(link) > 0).collect();
        let total = links.iter().map(|link| self.total(link)).sum();
        (links, total)
    }

    fn plan(&self) -> String {
        let direction = self.journal.direction;
        let (source, destination) = (direction.source(), direction.destination());
        let brokers =
            [&self.shell.old, &self.shell.new].map(|broker| format!("{} is {}", broker.named(), broker.product));
        let mut text = format!("From the {source} broker to the {destination} broker: {}.\n", brokers.join(", "));
        if self.journal.step > Step::Check {
            text.push_str(&format!("Reached step: {}.\n", self.journal.step.name()));
        }
        let mut put = |step: Step, lines: Vec<String>| {
            for (at, line) in lines.into_iter().enumerate() {
                let name = if at == 0 { step.name() } else { "" };
                text.push_str(&format!("  {name:<12}{line}\n"));
            }
        };
        let mut check = self.checked.lines();
        if self.checked.is_refused() && !self.shell.settings.skips_unsupported {
            check.push("it would stop here: --skip-unsupported skips the objects that are refused".to_owned());
        }
        if check.is_empty() {
            check.push("nothing prevents it".to_owned());
        }
        put(Step::Check, check);
        put(Step::Definitions, vec![self.definitions_line(destination)]);
        put(Step::Feed, self.feed_lines());
        put(Step::CutOver, self.cut_over_lines(source));
        put(Step::Drain, vec![format!("until the {source} broker has no messages left, ready or unacked")]);
        put(Step::Verify, vec!["counts of each queue, before and after".to_owned()]);
        put(
            Step::Finish,
            vec!["objects that were created for the migration are removed: shovels, exchanges, permissions".to_owned()],
        );
        for (stays, queues, total) in report::staying(&self.facts) {
            let (queues, total) = (examples(&queues), counted(total, "message"));
            text.push_str(&format!("Not moved: {queues} with {total}: {}.\n", stays.reason()));
        }
        text
    }

    fn definitions_line(&self, destination: &str) -> String {
        match definitions::enumerated(&definitions::counted(&self.lacking)) {
            counts if counts.is_empty() => format!("the {destination} broker lacks nothing"),
            counts => format!("the {destination} broker lacks {counts}"),
        }
    }

    fn feed_lines(&self) -> Vec<String> {
        let (links, total) = self.moved();
        let at_once = self.shell.settings.at_once;
        let (queues, messages) = (counted(links.len() as u64, "queue"), counted(total, "message"));
        let mut lines = vec![format!("{messages} in {queues}, {at_once} at a time")];
        for link in links.iter().take(NAMED_COUNT) {
            lines.push(format!("  {}: {}", link.queue, counted(self.total(link), "message")));
        }
        if links.len() > NAMED_COUNT {
            lines.push(format!("  and {} more", number((links.len() - NAMED_COUNT) as u64)));
        }
        for (held, queues) in report::holding(&self.decision.held) {
            lines.push(format!("not now: {}: {}", examples(&queues), held.reason(self.journal.direction)));
        }
        lines
    }

    fn cut_over_lines(&self, source: &str) -> Vec<String> {
        let clients = &self.facts.clients;
        let waits = match self.shell.settings.cut_over {
            CutOver::Gone => format!("waits until no client is connected to the {source} broker"),
            CutOver::Idle => format!("waits until no client of the {source} broker publishes or consumes"),
            CutOver::Now => "does not wait for clients".to_owned(),
        };
        let publish = clients.iter().filter(|client| client.publishes).count();
        let consume = clients.iter().filter(|client| client.consumer_count > 0).count();
        let count = counted(clients.len() as u64, "client");
        match clients.is_empty() {
            true => vec![format!("{waits}; now: none")],
            false => vec![format!("{waits}; now: {count}, {publish} publishing, {consume} consuming")],
        }
    }

    fn dry_run(&self) -> String {
        let direction = self.journal.direction;
        let source = direction.source();
        let mut text = String::new();
        let mut put = |step: Step, line: String| text.push_str(&format!("{}: {line}\n", step.name()));
        self.checked.lines().into_iter().for_each(|line| put(Step::Check, line));
        for (list, entries) in ::definitions::comparison::lists(&self.lacking) {
            for entry in entries {
                put(Step::Definitions, format!("would create {}", described(list, entry)));
            }
        }
        for link in self.moved().0 {
            put(Step::Feed, format!("would move {}: {}", link.queue, counted(self.total(link), "message")));
        }
        for (id, held) in &self.decision.held {
            put(Step::Feed, format!("would wait with {id}: {}", held.reason(direction)));
        }
        for client in &self.facts.clients {
            put(Step::CutOver, format!("would wait for {}, user {} in '{}'", client.name, client.user, client.vhost));
        }
        put(Step::Drain, format!("would move the messages left at the {source} broker"));
        put(Step::Finish, "would remove the objects that were created for the migration".to_owned());
        text
    }

    fn value(&self) -> Value {
        let (links, total) = self.moved();
        let queue =
            |link: &&Link| json!({"vhost": link.queue.vhost, "name": link.queue.name, "messages": self.total(link)});
        let held = self.decision.held.iter().map(
            |(id, held)| json!({"vhost": id.vhost, "name": id.name, "reason": held.reason(self.journal.direction)}),
        );
        let stays = self.facts.source.iter().filter_map(|(id, queue)| {
            Some(json!({"vhost": id.vhost, "name": id.name, "messages": queue.total(), "reason": queue.stays()?.reason()}))
        });
        let lacking: serde_json::Map<String, Value> =
            definitions::counted(&self.lacking).into_iter().map(|(list, count)| (list, json!(count))).collect();
        json!({
            "direction": self.journal.direction.name(), "step": self.journal.step.name(),
            "old": self.shell.old.product, "new": self.shell.new.product, "check": self.checked.value(),
            "lacking": lacking, "messages": total, "queues": links.iter().map(queue).collect::<Vec<_>>(),
            "held": held.collect::<Vec<_>>(), "not_moved": stays.collect::<Vec<_>>(),
            "clients": self.facts.clients.len(),
        })
    }
}

/// An entry of definitions, for people.
fn described(list: &str, entry: &Value) -> String {
    let text = |member: &str| entry[member].as_str().unwrap_or_default().to_owned();
    let vhost = text("vhost");
    match list {
        "vhosts" => format!("vhost '{}'", text("name")),
        "users" => format!("user '{}'", text("name")),
        "permissions" | "topic_permissions" => format!("permissions of user '{}' in '{vhost}'", text("user")),
        "parameters" => format!("{} '{}' in '{vhost}'", text("component"), text("name")),
        "global_parameters" => format!("global parameter '{}'", text("name")),
        "bindings" => {
            let (source, destination, key) = (text("source"), text("destination"), text("routing_key"));
            format!("binding of '{source}' to '{destination}' by '{key}' in '{vhost}'")
        }
        _ => format!("{} '{}' in '{vhost}'", definitions::noun(list), text("name")),
    }
}
