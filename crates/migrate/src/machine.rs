//! The migration as a state machine: its input is what both brokers report, its output what is to be done. No I/O, no clock.
//!
//! Every action may be done twice, and may be cut off at any point: the next look shows what is still to be done.

use std::collections::{BTreeMap, BTreeSet};

use crate::counts::{self, Counts};
use crate::facts::Facts;
use crate::journal::{Baseline, Journal, Record, Step};
use crate::link::{Link, name};
use crate::mover::{HoldReason, Mover, Stage};
use crate::queue::{Queue, QueueId};

/// From one import of what was declared meanwhile to the next.
const COMPLETION_INTERVAL_MS: u64 = 10_000;

/// The clients that the cut-over waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum CutOver {
    /// Until no client is connected.
    Gone,
    /// Until none publishes or consumes; idle ones may be connected.
    Idle,
    /// For none.
    Now,
}

/// How the migration is to go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wishes {
    pub(crate) at_once: usize,
    pub(crate) cut_over: CutOver,
    /// The last step that is done.
    pub(crate) until: Step,
    /// Continues where messages are left or are missing.
    pub(crate) accepts: bool,
    /// How old numbers of the brokers may be.
    pub(crate) lag_ms: u64,
}

/// What is to be done next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Look at what cannot be moved, and whether it may be done at all.
    Check,
    /// Bring all definitions.
    Define,
    /// Bring what the source has and the destination lacks.
    Complete,
    /// Start shovels, and make the ways into their queues first.
    Start(Vec<Link>),
    /// Delete shovels, by vhost and name.
    Stop(Vec<(String, String)>),
    /// Delete exchanges of ours: at the source, and at the destination.
    RemoveWays([Vec<(String, String)>; 2]),
    /// Take back permissions that were given.
    Revoke,
}

/// How detailed the next look has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Question {
    /// Numbers of this moment, whatever that costs.
    pub(crate) is_exact: bool,
    /// Exchanges of ours.
    pub(crate) ways: bool,
}

/// Where it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// All that was to be done has been.
    Reached,
    /// Counts are not right.
    Fewer,
}

/// A migration.
#[derive(Debug)]
pub(crate) struct Machine {
    journal: Journal,
    wishes: Wishes,
    mover: Mover,
    /// Since when no shovel is to run, and the source is looked at.
    settling_since_ms: Option<u64>,
    completed_at_ms: Option<u64>,
    held: BTreeMap<QueueId, HoldReason>,
    waiting_count: usize,
    counts: Option<Counts>,
    end: Option<End>,
}

impl Machine {
    pub(crate) fn new(journal: Journal, wishes: Wishes) -> Self {
        let mover = Mover::new(journal.direction, wishes.at_once, wishes.lag_ms);
        let end = (journal.step > wishes.until).then_some(End::Reached);
        Machine {
            journal,
            wishes,
            mover,
            settling_since_ms: None,
            completed_at_ms: None,
            held: BTreeMap::new(),
            waiting_count: 0,
            counts: None,
            end,
        }
    }

    pub(crate) fn journal(&self) -> &Journal {
        &self.journal
    }

    /// Whether more than numbers has changed since it was saved: then it is saved before the next step.
    pub(crate) fn is_to_be_saved(&self, saved: &Journal) -> bool {
        let parts = |journal: &Journal| (journal.step, journal.is_counted, journal.granted.clone());
        parts(saved) != parts(&self.journal)
    }

    pub(crate) fn step(&self) -> Step {
        self.journal.step
    }

    pub(crate) fn end(&self) -> Option<End> {
        self.end
    }

    pub(crate) fn held(&self) -> &BTreeMap<QueueId, HoldReason> {
        &self.held
    }

    pub(crate) fn waiting_count(&self) -> usize {
        self.waiting_count
    }

    pub(crate) fn counts(&self) -> Option<&Counts> {
        self.counts.as_ref()
    }

    pub(crate) fn is_settling(&self) -> bool {
        self.settling_since_ms.is_some()
    }

    /// Messages that waited at the source when its queues were seen first.
    pub(crate) fn before(&self) -> u64 {
        self.journal.queues.values().map(|record| record.baseline.source).sum()
    }

    pub(crate) fn moved(&self) -> u64 {
        self.journal.queues.values().map(|record| record.moved).sum()
    }

    /// Permissions were given to our user in these vhosts of the new broker.
    pub(crate) fn granted(&mut self, vhosts: Vec<String>) {
        self.journal.granted.extend(vhosts);
        self.journal.granted.sort();
        self.journal.granted.dedup();
    }

    /// An action has been done that is a step of its own.
    pub(crate) fn has_done(&mut self, action: &Action) {
        match (action, self.journal.step) {
            (Action::Check, Step::Check) | (Action::Define, Step::Definitions) => self.advance(),
            (Action::Revoke, _) => self.journal.granted.clear(),
            _ => {}
        }
    }

    /// An action could not be done, or not whole: it comes again.
    pub(crate) fn has_failed(&mut self, action: &Action) {
        match action {
            Action::Start(links) => self.mover.forget(links),
            Action::Complete => self.completed_at_ms = None,
            _ => {}
        }
    }

    /// Shovels could not be started.
    pub(crate) fn has_not_started(&mut self, links: &[Link]) {
        self.mover.forget(links);
    }

    pub(crate) fn question(&self) -> Question {
        let step = self.journal.step;
        let is_first = step == Step::Feed && !self.journal.is_counted;
        Question { is_exact: is_first || self.is_settling() || step == Step::Verify, ways: step == Step::Finish }
    }

    fn advance(&mut self) {
        let done = self.journal.step;
        self.journal.step = done.next();
        if done >= self.wishes.until || self.journal.step == Step::Done {
            self.end.get_or_insert(End::Reached);
        }
    }

    /// What is to be done now.
    pub(crate) fn next(&mut self, facts: &Facts) -> Vec<Action> {
        match self.journal.step {
            _ if self.end.is_some() => Vec::new(),
            Step::Check => vec![Action::Check],
            Step::Definitions => vec![Action::Define],
            Step::Feed | Step::CutOver | Step::Drain => self.move_messages(facts),
            Step::Verify => self.verify(facts),
            Step::Finish => self.finish(facts),
            Step::Done => Vec::new(),
        }
    }

    fn move_messages(&mut self, facts: &Facts) -> Vec<Action> {
        self.remember(facts);
        if !self.journal.is_counted {
            // What was there before is to be on disk before anything is moved.
            self.journal.is_counted = facts.is_exact;
            return self.completion(facts);
        }
        let stage = match self.journal.step {
            _ if self.is_settling() => Stage::Settling,
            Step::Drain => Stage::Draining,
            _ => Stage::Feeding,
        };
        let decision = self.mover.decide(facts, stage);
        for id in decision.fed {
            if let Some(record) = self.journal.queues.get_mut(&id) {
                record.is_fed = true;
            }
        }
        if stage != Stage::Settling {
            self.held = decision.held;
            self.waiting_count = decision.waiting_count;
        }
        let mut actions = self.completion(facts);
        if !decision.stop.is_empty() {
            actions.push(Action::Stop(decision.stop));
        }
        if !decision.start.is_empty() {
            actions.push(Action::Start(decision.start));
        }
        match self.journal.step {
            Step::Feed if self.is_fed(facts) => self.advance(),
            Step::CutOver if self.is_cut_over(facts) => {
                // What was bound meanwhile comes along before the source falls silent.
                self.completed_at_ms = None;
                self.advance();
            }
            Step::Drain => self.drain(facts),
            _ => {}
        }
        actions
    }

    /// Queues that are declared at the source while it is migrated come along.
    fn completion(&mut self, facts: &Facts) -> Vec<Action> {
        let is_due = self.completed_at_ms.is_none_or(|at| facts.now_ms >= at + COMPLETION_INTERVAL_MS);
        let is_entering = self.completed_at_ms.is_none() && self.journal.step == Step::Drain;
        let lacks = || {
            let mut moved = facts.source.iter().filter(|(_, queue)| queue.stays().is_none());
            moved.any(|(id, _)| !facts.destination.contains_key(id))
        };
        if is_due && (is_entering || lacks()) {
            self.completed_at_ms = Some(facts.now_ms);
            return vec![Action::Complete];
        }
        Vec::new()
    }

    /// Learns of queues, and of what shovels have moved.
    fn remember(&mut self, facts: &Facts) {
        for (id, queue) in facts.source.iter().filter(|(_, queue)| queue.stays().is_none()) {
            let empty = Queue::default();
            let destination = facts.destination.get(id);
            let to = destination.unwrap_or(&empty);
            let baseline = Baseline {
                source: queue.total(),
                destination: to.total(),
                fetched: queue.fetched,
                taken: to.fetched + to.delivered,
            };
            let is_new = !self.journal.queues.contains_key(id);
            let record = self.journal.queues.entry(id.clone()).or_insert(Record { baseline, ..Record::default() });
            let first = record.baseline;
            let key = (id.vhost.clone(), name(self.journal.direction, id));
            // Counts of queues that came later, or are being moved already, are of no certain moment.
            let is_late = is_new && (self.journal.is_counted || facts.shovels.contains_key(&key));
            record.is_touched |= is_late
                || facts.consumers_at_source(id) > 0
                || to.consumers > 0
                || queue.fetched != first.fetched
                || to.fetched + to.delivered != first.taken
                || queue.rules.may_drop()
                || to.rules.may_drop();
            let Some(shovel) = facts.shovels.get(&key).filter(|shovel| shovel.state == "running") else { continue };
            let before = if record.last.0 == shovel.since { record.last.1 } else { 0 };
            record.moved += shovel.forwarded.saturating_sub(before);
            record.last = (shovel.since.clone(), shovel.forwarded);
        }
    }

    /// Whether all that waited has been moved, of queues that are moved as long as clients use the source.
    fn is_fed(&self, facts: &Facts) -> bool {
        let moved = facts.source.iter().filter(|(id, queue)| queue.stays().is_none() && !self.held.contains_key(id));
        let mut waiting = moved.filter(|(id, _)| self.journal.queues.get(id).is_none_or(|record| !record.is_fed));
        waiting.next().is_none()
    }

    fn is_cut_over(&self, facts: &Facts) -> bool {
        match self.wishes.cut_over {
            CutOver::Gone => facts.clients.is_empty(),
            CutOver::Idle => facts.clients.iter().all(|client| client.consumer_count == 0 && !client.publishes),
            CutOver::Now => true,
        }
    }

    /// Queues that are to be empty before the source is left.
    fn to_be_emptied<'a>(&'a self, facts: &'a Facts) -> impl Iterator<Item = (&'a QueueId, &'a Queue)> {
        facts.source.iter().filter(|(id, queue)| {
            let is_held = self.held.get(id).is_some_and(HoldReason::lasts);
            queue.stays().is_none() && !(self.wishes.accepts && is_held)
        })
    }

    fn drain(&mut self, facts: &Facts) {
        let ready: u64 = self.to_be_emptied(facts).map(|(_, queue)| queue.ready).sum();
        let unacked: u64 = self.to_be_emptied(facts).map(|(_, queue)| queue.unacked).sum();
        match self.settling_since_ms {
            None if ready + unacked == 0 => self.settling_since_ms = Some(facts.now_ms),
            // Something has come back, or was published: on with it.
            Some(_) if facts.is_exact && ready > 0 => self.settling_since_ms = None,
            Some(since) => {
                let is_quiet = facts.shovels.is_empty() && facts.is_exact && facts.now_ms >= since + self.wishes.lag_ms;
                if is_quiet && ready + unacked == 0 {
                    self.settling_since_ms = None;
                    self.advance();
                }
            }
            None => {}
        }
    }

    fn verify(&mut self, facts: &Facts) -> Vec<Action> {
        if !facts.is_exact {
            return Vec::new();
        }
        self.remember(facts);
        let counts = counts::counts(&self.journal, facts, &self.held);
        if counts.left_count > 0 && !self.wishes.accepts {
            // They came in the last moment.
            self.journal.step = Step::Drain;
            return Vec::new();
        }
        let is_right = counts.fewer_count == 0 || self.wishes.accepts;
        self.counts = Some(counts);
        if is_right {
            self.advance();
        } else {
            self.end = Some(End::Fewer);
        }
        Vec::new()
    }

    fn finish(&mut self, facts: &Facts) -> Vec<Action> {
        let shovels: BTreeSet<(String, String)> = facts.shovels.keys().cloned().collect();
        if !shovels.is_empty() {
            return vec![Action::Stop(shovels.into_iter().collect())];
        }
        if facts.ways.iter().any(|ways| !ways.is_empty()) {
            return vec![Action::RemoveWays(facts.ways.clone())];
        }
        if !self.journal.granted.is_empty() {
            return vec![Action::Revoke];
        }
        self.advance();
        Vec::new()
    }
}
