//! Which queues are moved now: a bounded number of shovels, those first that consumers at the destination wait for.
//!
//! A queue is held back as long as a move would do harm: its consumers are all at the source still; or the destination would drop or
//! dead-letter what arrives, because the queue is full there, or would expire.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use crate::facts::Facts;
use crate::link::{Batch, Direction, Link, name};
use crate::queue::{Queue, QueueId};

/// A shovel keeps its place for so long while other queues wait.
const SLICE_MS: u64 = 15_000;
/// A shovel that has failed for so long is taken away: each of its attempts counts as a delivery at the source.
const FAILING_MS: u64 = 20_000;
/// So long after that it is tried again.
const REST_MS: u64 = 30_000;
/// How often a shovel may be begun anew before a limited queue is full.
const RESTART_COUNT: u64 = 4;
/// A queue with fewer messages than this under a running shovel has been moved.
const FEW: u64 = 1000;

/// What may be moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// All but queues whose consumers are still at the source.
    Feeding,
    /// Everything.
    Draining,
    /// Nothing: no shovel is to run.
    Settling,
}

/// Why a queue is not moved now.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum HoldReason {
    /// Its consumers are at the source, and none at the destination.
    Consumed,
    /// There is no such queue at the destination.
    Missing,
    /// At the destination it expires without a consumer.
    WouldExpire,
    /// At the destination it is as long as it may be.
    Full,
    /// Its shovel fails.
    Failing(String),
}

impl HoldReason {
    /// A reason, as the end of a sentence.
    pub(crate) fn reason(&self, direction: Direction) -> String {
        let (source, destination) = (direction.source(), direction.destination());
        match self {
            HoldReason::Consumed => {
                format!("it has consumers at the {source} broker, and none at the {destination} broker")
            }
            HoldReason::Missing => format!("the queue does not exist at the {destination} broker"),
            HoldReason::WouldExpire => {
                format!("it would expire at the {destination} broker, where nothing consumes from it")
            }
            HoldReason::Full => format!("it is full at the {destination} broker: it would drop messages"),
            HoldReason::Failing(reason) => format!("its shovel failed: {reason}"),
        }
    }

    /// Whether that keeps a queue from being emptied in the end.
    pub(crate) fn lasts(&self) -> bool {
        *self != HoldReason::Consumed
    }
}

/// What is to be done now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Decision {
    pub(crate) start: Vec<Link>,
    /// By vhost and name.
    pub(crate) stop: Vec<(String, String)>,
    pub(crate) held: BTreeMap<QueueId, HoldReason>,
    /// Queues of which all that waited has been moved.
    pub(crate) fed: Vec<QueueId>,
    /// Queues that wait for a place.
    pub(crate) waiting_count: usize,
}

/// A queue's shovel, as far as this program has seen it.
#[derive(Clone, Copy, Debug, Default)]
struct Turn {
    started_ms: u64,
    is_batch: bool,
    ended_ms: Option<u64>,
    failing_since_ms: Option<u64>,
    rests_until_ms: u64,
}

/// Decides which queues are moved.
#[derive(Debug)]
pub(crate) struct Mover {
    direction: Direction,
    at_once: usize,
    /// How old numbers of a broker may be.
    lag_ms: u64,
    turns: HashMap<QueueId, Turn>,
    reasons: HashMap<QueueId, String>,
}

/// A queue that could be moved.
struct Candidate<'a> {
    id: &'a QueueId,
    queue: &'a Queue,
    is_waited_for: bool,
    room: Option<u64>,
}

impl Mover {
    pub(crate) fn new(direction: Direction, at_once: usize, lag_ms: u64) -> Self {
        Mover { direction, at_once, lag_ms, turns: HashMap::new(), reasons: HashMap::new() }
    }

    pub(crate) fn decide(&mut self, facts: &Facts, stage: Stage) -> Decision {
        let mut decision = Decision::default();
        let mut running: Vec<&QueueId> = Vec::new();
        let names: HashMap<(&str, String), &QueueId> =
            facts.source.keys().map(|id| ((&*id.vhost, name(self.direction, id)), id)).collect();
        for key in facts.shovels.keys() {
            match names.get(&(&*key.0, key.1.clone())) {
                Some(id) if stage != Stage::Settling && !self.is_left_over(facts, id, key) => running.push(id),
                // Of the other way, of a deleted queue, or one that fails by what a former run said.
                _ => decision.stop.push(key.clone()),
            }
        }
        self.follow(facts, &running, &mut decision);
        if stage == Stage::Settling {
            return decision;
        }
        let mut candidates = Vec::new();
        for (id, queue) in facts.source.iter().filter(|(_, queue)| queue.stays().is_none()) {
            let is_running = running.contains(&id);
            match self.judge(facts, id, queue, stage, is_running) {
                Ok(candidate) => candidates.push(candidate),
                Err(held) => {
                    if is_running {
                        running.retain(|other| *other != id);
                        self.stop(id, facts.now_ms, &mut decision);
                    }
                    decision.held.insert(id.clone(), held);
                }
            }
        }
        self.share_places(facts, &candidates, running, &mut decision);
        decision
    }

    /// Whether a former run has left a shovel that fails: this one may say better how the old broker is reached.
    fn is_left_over(&self, facts: &Facts, id: &QueueId, key: &(String, String)) -> bool {
        let fails = facts.shovels.get(key).is_some_and(|shovel| shovel.state == "terminated");
        fails && !self.turns.contains_key(id)
    }

    /// Learns what has become of shovels since the last look.
    fn follow(&mut self, facts: &Facts, running: &[&QueueId], decision: &mut Decision) {
        let now_ms = facts.now_ms;
        for id in running {
            let turn = self.turns.entry((*id).clone()).or_insert(Turn { started_ms: now_ms, ..Turn::default() });
            turn.ended_ms = None;
            let shovel = facts.shovels.get(&(id.vhost.clone(), name(self.direction, id)));
            match shovel {
                Some(shovel) if shovel.state == "terminated" => {
                    turn.failing_since_ms.get_or_insert(now_ms);
                    self.reasons.insert((*id).clone(), shovel.reason.clone());
                }
                Some(shovel) if shovel.state == "running" => {
                    turn.failing_since_ms = None;
                    turn.rests_until_ms = 0;
                    if facts.source.get(id).is_some_and(|queue| queue.ready < FEW) {
                        decision.fed.push((*id).clone());
                    }
                }
                _ => {}
            }
        }
        for (id, turn) in &mut self.turns {
            if turn.ended_ms.is_none() && !running.contains(&id) {
                turn.ended_ms = Some(now_ms);
                if turn.is_batch {
                    decision.fed.push(id.clone());
                }
            }
        }
        decision.fed.extend(facts.source.iter().filter(|(_, queue)| queue.total() == 0).map(|(id, _)| id.clone()));
    }

    fn judge<'a>(
        &mut self,
        facts: &'a Facts,
        id: &'a QueueId,
        queue: &'a Queue,
        stage: Stage,
        is_running: bool,
    ) -> Result<Candidate<'a>, HoldReason> {
        let destination = facts.destination.get(id).ok_or(HoldReason::Missing)?;
        let is_waited_for = destination.consumers > 0;
        if let Some(turn) = self.turns.get_mut(id) {
            if turn.failing_since_ms.is_some_and(|since| is_running && facts.now_ms >= since + FAILING_MS) {
                turn.failing_since_ms = None;
                turn.rests_until_ms = facts.now_ms + REST_MS;
            }
            if facts.now_ms < turn.rests_until_ms {
                return Err(HoldReason::Failing(self.reasons.get(id).cloned().unwrap_or_default()));
            }
        }
        if stage == Stage::Feeding && !is_waited_for && facts.consumers_at_source(id) > 0 {
            return Err(HoldReason::Consumed);
        }
        if destination.rules.expires && !is_waited_for {
            return Err(HoldReason::WouldExpire);
        }
        // A shovel that is begun anew, as after a kill of Warren, begins to count anew: a few times that has to do no harm.
        let room =
            destination.room_for(queue).map(|room| if queue.total() <= room { room } else { room / RESTART_COUNT });
        // A shovel that runs was given what there was room for.
        // Right after its turn a queue's numbers at the source are older than those at the destination.
        let is_stale =
            self.turns.get(id).is_some_and(|turn| turn.ended_ms.is_some_and(|at| facts.now_ms < at + self.lag_ms));
        if room == Some(0) && !is_running && !is_stale && queue.total() > 0 {
            return Err(HoldReason::Full);
        }
        Ok(Candidate { id, queue, is_waited_for, room })
    }

    fn share_places(
        &mut self,
        facts: &Facts,
        candidates: &[Candidate<'_>],
        mut running: Vec<&QueueId>,
        decision: &mut Decision,
    ) {
        let now_ms = facts.now_ms;
        let mut waiting: Vec<&Candidate<'_>> = candidates
            .iter()
            .filter(|candidate| !running.contains(&candidate.id))
            .filter(|candidate| candidate.queue.ready > 0 || candidate.is_waited_for)
            .filter(|candidate| self.may_begin(candidate, now_ms))
            .collect();
        waiting.sort_by_key(|candidate| {
            let is_empty = candidate.queue.ready == 0;
            Reverse((!is_empty, candidate.is_waited_for, candidate.queue.ready))
        });
        let needing_count = waiting.iter().filter(|candidate| candidate.queue.ready > 0).count();
        let is_crowded = needing_count + running.len() > self.at_once;
        let mut lacking = (needing_count + running.len()).saturating_sub(self.at_once);
        if lacking > 0 {
            let leaving = self.leaving(facts, &running);
            for id in leaving.into_iter().take(lacking) {
                running.retain(|other| *other != id);
                self.stop(id, now_ms, decision);
                lacking -= 1;
            }
        }
        decision.waiting_count = lacking;
        let places = self.at_once.saturating_sub(running.len());
        for candidate in waiting.into_iter().take(places) {
            let batch = match candidate.room {
                Some(room) => Some(Batch::Count(room.min(candidate.queue.total()))),
                None if is_crowded => Some(Batch::Waiting),
                None => None,
            };
            // Nothing to give a limited queue: a batch of nothing would move all.
            if batch.is_some() && candidate.queue.ready == 0 {
                continue;
            }
            let turn = Turn { started_ms: now_ms, is_batch: batch.is_some(), ..Turn::default() };
            self.turns.insert(candidate.id.clone(), turn);
            decision.start.push(Link { queue: candidate.id.clone(), batch });
        }
    }

    /// Whether a queue's numbers are newer than its last turn. How full a limited queue is has to be known.
    fn may_begin(&self, candidate: &Candidate<'_>, now_ms: u64) -> bool {
        match self.turns.get(candidate.id) {
            Some(Turn { ended_ms: Some(ended), .. }) => now_ms >= ended + self.lag_ms,
            Some(_) => true,
            None => candidate.room.is_none() || now_ms >= self.lag_ms,
        }
    }

    /// The queues that have to give up a place: those with nothing to do, then those that have had it for long.
    fn leaving<'a>(&self, facts: &Facts, running: &[&'a QueueId]) -> Vec<&'a QueueId> {
        let started = |id: &QueueId| self.turns.get(id).map_or(0, |turn| turn.started_ms);
        let is_idle = |id: &QueueId| facts.source.get(id).is_none_or(|queue| queue.total() == 0);
        let mut leaving: Vec<&QueueId> =
            running.iter().copied().filter(|id| is_idle(id) || facts.now_ms >= started(id) + SLICE_MS).collect();
        leaving.sort_by_key(|id| (!is_idle(id), started(id)));
        leaving
    }

    /// These shovels were not started after all.
    pub(crate) fn forget(&mut self, links: &[Link]) {
        for link in links {
            self.turns.remove(&link.queue);
        }
    }

    fn stop(&mut self, id: &QueueId, now_ms: u64, decision: &mut Decision) {
        if let Some(turn) = self.turns.get_mut(id) {
            turn.ended_ms = Some(now_ms);
        }
        decision.stop.push((id.vhost.clone(), name(self.direction, id)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::Shovel;
    use crate::queue::Rules;

    /// A queue with so many messages at the source, and so many consumers at the destination.
    fn facts(queues: &[(&str, u64, u64)]) -> Facts {
        let mut facts = Facts { now_ms: 100_000, ..Facts::default() };
        for (name, ready, consumers) in queues {
            let id = QueueId::new("/", name);
            facts.source.insert(id.clone(), Queue { ready: *ready, ..Queue::default() });
            facts.destination.insert(id, Queue { consumers: *consumers, ..Queue::default() });
        }
        facts
    }

    fn started(decision: &Decision) -> Vec<(&str, Option<Batch>)> {
        decision.start.iter().map(|link| (&*link.queue.name, link.batch)).collect()
    }

    fn mover(at_once: usize) -> Mover {
        Mover::new(Direction::Forward, at_once, 1000)
    }

    fn run(facts: &mut Facts, decision: &Decision, state: &str) {
        for link in &decision.start {
            let shovel = Shovel { state: state.to_owned(), reason: "no way".to_owned(), ..Shovel::default() };
            facts.shovels.insert(("/".to_owned(), name(Direction::Forward, &link.queue)), shovel);
        }
        for key in &decision.stop {
            facts.shovels.remove(key);
        }
    }

    #[test]
    fn queues_that_consumers_wait_for_go_first_then_long_ones() {
        let facts = facts(&[("empty", 0, 0), ("fed", 0, 1), ("long", 90, 0), ("short", 5, 0), ("waited-for", 1, 1)]);
        let decision = mover(10).decide(&facts, Stage::Feeding);
        assert_eq!(started(&decision), [("waited-for", None), ("long", None), ("short", None), ("fed", None)]);
        // Where there are not places for all, they take turns.
        let decision = mover(2).decide(&facts, Stage::Feeding);
        assert_eq!(started(&decision), [("waited-for", Some(Batch::Waiting)), ("long", Some(Batch::Waiting))]);
        assert_eq!(decision.waiting_count, 1);
    }

    #[test]
    fn consumers_at_the_source_keep_their_queue_until_the_drain() {
        let mut facts = facts(&[("q", 5, 0)]);
        let id = QueueId::new("/", "q");
        facts.source_consumers.insert(id.clone(), 1);
        let decision = mover(2).decide(&facts, Stage::Feeding);
        assert_eq!(decision.held, BTreeMap::from([(id.clone(), HoldReason::Consumed)]));
        assert_eq!(started(&mover(2).decide(&facts, Stage::Draining)).len(), 1);
        facts.destination.get_mut(&id).unwrap().consumers = 1;
        assert_eq!(started(&mover(2).decide(&facts, Stage::Feeding)).len(), 1);
    }

    #[test]
    fn the_destination_drops_nothing_that_is_moved() {
        let id = QueueId::new("/", "q");
        let check = |ready, there, rules: Rules, expected: Result<Option<Batch>, HoldReason>| {
            let mut facts = facts(&[("q", ready, 0)]);
            *facts.destination.get_mut(&id).unwrap() = Queue { rules, ready: there, ..Queue::default() };
            let decision = mover(2).decide(&facts, Stage::Draining);
            match expected {
                Ok(batch) => assert_eq!(started(&decision), [("q", batch)]),
                Err(held) => assert_eq!(decision.held.get(&id), Some(&held)),
            }
        };
        let limit = |max| Rules { length_max: Some(max), ..Rules::default() };
        check(5, 0, limit(10), Ok(Some(Batch::Count(5))));
        check(50, 0, limit(10), Ok(Some(Batch::Count(2))));
        check(50, 8, limit(10), Err(HoldReason::Full));
        check(50, 10, limit(10), Err(HoldReason::Full));
        check(5, 0, Rules { expires: true, ..Rules::default() }, Err(HoldReason::WouldExpire));
        check(5, 0, Rules { drops_by_age: true, ..Rules::default() }, Ok(None));
    }

    #[test]
    fn a_shovel_that_fails_is_taken_away_and_tried_again_later() {
        let mut facts = facts(&[("q", 5, 0)]);
        let mut mover = mover(2);
        let decision = mover.decide(&facts, Stage::Draining);
        run(&mut facts, &decision, "terminated");
        assert!(mover.decide(&facts, Stage::Draining).stop.is_empty());
        facts.now_ms += FAILING_MS;
        let decision = mover.decide(&facts, Stage::Draining);
        assert_eq!(decision.held.values().collect::<Vec<_>>(), [&HoldReason::Failing("no way".to_owned())]);
        run(&mut facts, &decision, "");
        assert!(facts.shovels.is_empty());
        facts.now_ms += REST_MS;
        assert_eq!(mover.decide(&facts, Stage::Draining).start.len(), 1);
    }

    #[test]
    fn a_shovel_that_fails_by_what_a_former_run_said_begins_anew_at_once() {
        let mut facts = facts(&[("q", 5, 0), ("well", 5, 0)]);
        let decision = mover(2).decide(&facts, Stage::Draining);
        run(&mut facts, &decision, "terminated");
        let well = ("/".to_owned(), name(Direction::Forward, &QueueId::new("/", "well")));
        facts.shovels.get_mut(&well).unwrap().state = "running".to_owned();
        let mut mover = mover(2);
        let decision = mover.decide(&facts, Stage::Draining);
        assert_eq!(started(&decision), [("q", None)]);
        assert_eq!(decision.stop.len(), 1);
        // Only once: after that it has its time.
        assert_eq!(mover.decide(&facts, Stage::Draining).stop, []);
    }

    #[test]
    fn who_has_had_a_place_for_long_gives_it_up() {
        let mut facts = facts(&[("a", 9, 0), ("b", 5, 0)]);
        let mut mover = mover(1);
        let decision = mover.decide(&facts, Stage::Draining);
        assert_eq!(started(&decision), [("a", Some(Batch::Waiting))]);
        run(&mut facts, &decision, "running");
        facts.now_ms += SLICE_MS - 1;
        assert_eq!(mover.decide(&facts, Stage::Draining).start, []);
        facts.now_ms += 1;
        let decision = mover.decide(&facts, Stage::Draining);
        assert_eq!((started(&decision), decision.stop.len()), (vec![("b", Some(Batch::Waiting))], 1));
    }

    #[test]
    fn shovels_of_the_other_way_and_of_no_queue_end() {
        let mut facts = facts(&[("q", 5, 0)]);
        for shovel in
            [name(Direction::Back, &QueueId::new("/", "q")), name(Direction::Forward, &QueueId::new("/", "x"))]
        {
            facts.shovels.insert(("/".to_owned(), shovel), Shovel::default());
        }
        assert_eq!(mover(5).decide(&facts, Stage::Feeding).stop.len(), 2);
    }
}
