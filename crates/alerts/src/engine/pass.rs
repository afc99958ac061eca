//! One look at everything.

use super::{Engine, NODE, Watch};
use crate::facts::{Age, NodeFacts, QueueFacts};
use crate::limits::TRACKED_COUNT_MAX;
use crate::notice::Notice;
use crate::rule::{Kind, Rule};
use crate::sampling::CounterGrowth;

/// A look that is under way.
#[derive(Debug)]
pub struct Pass<'a> {
    engine: &'a mut Engine,
    now_ms: u64,
    notices: Vec<Notice>,
}

/// What a rule finds of an object.
enum MeasuredValue {
    /// Its value.
    Value(f64),
    /// Not yet: what fires keeps firing, and nothing else begins.
    Unknown,
}

impl<'a> Pass<'a> {
    pub(super) fn start(engine: &'a mut Engine, now_ms: u64, node: &NodeFacts) -> Pass<'a> {
        let mut notices = Vec::new();
        for watch in &mut engine.watches {
            watch.untracked_count = 0;
            if watch.rule.kind == Kind::Growth {
                watch.samples.start(now_ms, watch.rule.window_ms);
            }
            let Some(MeasuredValue::Value(value)) = value_of_node(watch, node, now_ms) else { continue };
            if value > watch.rule.threshold && !watch.tracked.contains_key(&NODE) {
                watch.track(NODE, &engine.node, None, now_ms);
            }
            watch.step(NODE, value, now_ms, engine.pass_count, &mut notices);
        }
        Pass { engine, now_ms, notices }
    }

    /// The queues of this vhost come next. False: no rule wants to see them.
    pub fn vhost(&mut self, vhost: &str) -> bool {
        let mut is_wanted = false;
        for watch in &mut self.engine.watches {
            watch.is_in_vhost = watch.rule.kind.is_of_queues() && watch.rule.scope.vhost.is_match(vhost);
            is_wanted |= watch.is_in_vhost;
        }
        is_wanted
    }

    /// A queue of a vhost that was wanted. How old its oldest message is, is asked only if a rule wants to know.
    #[inline]
    pub fn queue(&mut self, vhost: &str, queue: &QueueFacts<'_>, mut age: impl FnMut() -> Age) {
        let now_ms = self.now_ms;
        let Engine { watches, node, pass_count, .. } = &mut *self.engine;
        for watch in watches.iter_mut().filter(|watch| watch.is_in_vhost) {
            let is_tracked = !watch.tracked.is_empty() && watch.tracked.contains_key(&queue.id);
            let found = match watch.rule.kind {
                Kind::OldestAge => oldest_age(&watch.rule, queue, is_tracked, &mut age),
                Kind::Growth => growth(watch, queue, is_tracked, now_ms),
                _ => MeasuredValue::Value(count(&watch.rule, queue)),
            };
            let MeasuredValue::Value(value) = found else {
                watch.tracked.get_mut(&queue.id).into_iter().for_each(|tracked| tracked.seen_in = *pass_count);
                continue;
            };
            if !is_tracked {
                if value <= watch.rule.threshold || !watch.rule.scope.queue.is_match(queue.name) {
                    continue;
                }
                if watch.tracked.len() >= TRACKED_COUNT_MAX {
                    watch.untracked_count += 1;
                    continue;
                }
                watch.track(queue.id, node, Some((vhost, queue.name)), now_ms);
            }
            watch.step(queue.id, value, now_ms, *pass_count, &mut self.notices);
        }
    }

    /// That was all. What fired and was not seen again is over.
    #[must_use]
    pub fn end(mut self) -> Vec<Notice> {
        let mut notices = Vec::new();
        for watch in &mut self.engine.watches {
            if watch.rule.kind.is_of_queues() {
                watch.end_unseen(self.engine.pass_count, self.now_ms, &mut notices);
            }
        }
        self.engine.count_firing();
        // A queue that was deleted and declared again is another one, whose alert has the same id: the old one's end comes first.
        notices.append(&mut self.notices);
        notices
    }
}

/// `None`: the rule is about queues.
fn value_of_node(watch: &mut Watch, node: &NodeFacts, now_ms: u64) -> Option<MeasuredValue> {
    let percent = |part: u64, whole: u64| if whole == 0 { 0.0 } else { part as f64 * 100.0 / whole as f64 };
    Some(match watch.rule.kind {
        Kind::MemoryAlarm => MeasuredValue::Value(f64::from(u8::from(node.is_memory_low))),
        Kind::DiskAlarm => MeasuredValue::Value(f64::from(u8::from(node.is_disk_low))),
        Kind::DataLoss => MeasuredValue::Value(f64::from(u8::from(node.has_data_loss))),
        Kind::Cluster => MeasuredValue::Value(node.cluster_trouble_count as f64),
        Kind::Flow => MeasuredValue::Value(percent(node.flow_count, node.connection_count)),
        Kind::Connections => {
            MeasuredValue::Value(node.connection_max.map_or(0.0, |max| percent(node.connection_count, max)))
        }
        Kind::Lockouts => grown(watch, node.lockout_count, now_ms, 1.0),
        Kind::Unroutable => grown(watch, node.unroutable_count, now_ms, 60_000.0 / watch.rule.window_ms as f64),
        Kind::QueueLength | Kind::NoConsumers | Kind::OldestAge | Kind::Growth => return None,
    })
}

/// By how much a counter has grown within the window, in units of which `unit` are one. While there was no look for a whole window it may
/// be more: enough to say that something holds, not that it is over.
fn grown(watch: &mut Watch, total: u64, now_ms: u64, unit: f64) -> MeasuredValue {
    let CounterGrowth { count, is_whole } = watch.counts.grown(total, now_ms, watch.rule.window_ms);
    let value = count as f64 * unit;
    if is_whole || value > watch.rule.clear { MeasuredValue::Value(value) } else { MeasuredValue::Unknown }
}

/// For kinds that one look is enough for.
fn count(rule: &Rule, queue: &QueueFacts<'_>) -> f64 {
    let unacked_count = if rule.counts_unacked { queue.unacked_count } else { 0 };
    let is_left_out = rule.kind == Kind::NoConsumers && queue.consumer_count > 0;
    if is_left_out { 0.0 } else { (queue.ready_count + unacked_count) as f64 }
}

/// In seconds. The queue is asked only if it has something and the rule means it.
fn oldest_age(rule: &Rule, queue: &QueueFacts<'_>, is_tracked: bool, age: &mut impl FnMut() -> Age) -> MeasuredValue {
    if queue.ready_count == 0 || !(is_tracked || rule.scope.queue.is_match(queue.name)) {
        return MeasuredValue::Value(0.0);
    }
    match age() {
        Age::Nothing => MeasuredValue::Value(0.0),
        Age::Ms(ms) => MeasuredValue::Value(ms as f64 / 1000.0),
        Age::Unknown => MeasuredValue::Unknown,
    }
}

fn growth(watch: &mut Watch, queue: &QueueFacts<'_>, is_tracked: bool, now_ms: u64) -> MeasuredValue {
    let rule = &watch.rule;
    if watch.samples.is_sampling() && queue.ready_count > 0 && (is_tracked || rule.scope.queue.is_match(queue.name)) {
        watch.samples.add(queue.id, queue.ready_count);
    }
    let least = if is_tracked { 0.0 } else { rule.threshold };
    match watch.samples.before(now_ms, rule.window_ms) {
        Some(before) => MeasuredValue::Value(before.growth(queue.id, queue.ready_count, least)),
        None => MeasuredValue::Unknown,
    }
}
