//! All rules, and all that is pending or firing by them.
//!
//! A look at everything is a [`Pass`]: first the node, then the queues of each vhost that any rule wants to see, then the end, at which
//! what was not seen again is over. What a rule asks of a queue is ordered by cost: numbers first, then whether it is being watched
//! already, and only for those that would be new its patterns.

mod pass;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::condition::{Change, Phase};
use crate::facts::NodeFacts;
use crate::notice::{Alert, Notice, Reason, Status, id_of};
use crate::rule::{Kind, Rule, Severity};
use crate::sampling::{Counts, Samples};
pub use pass::Pass;

/// What rules need to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Needs {
    /// Something of queues.
    pub queues: bool,
    /// How many connections are held up.
    pub flow: bool,
    /// How many messages have reached no queue.
    pub unroutable: bool,
}

/// Something that is pending or firing.
#[derive(Debug, Clone)]
pub struct AlertState {
    /// What. Of what is pending, `since_ms` says since when it is.
    pub alert: Alert,
    /// How far it has got.
    pub phase: Phase,
}

/// All rules, and what they have come to.
#[derive(Debug)]
pub struct Engine {
    /// The node's name, a part of alerts' ids.
    node: Box<str>,
    watches: Vec<Watch>,
    /// Looks so far.
    pass_count: u64,
    firing_counts: [u64; Severity::ALL.len()],
}

/// A rule at work.
#[derive(Debug)]
struct Watch {
    rule: Arc<Rule>,
    /// The rule's name, as alerts have it.
    name: Arc<str>,
    /// The existing webhooks that it notifies, by name.
    webhooks: Arc<[Box<str>]>,
    tracked: FxHashMap<u64, TrackedAlert>,
    /// Objects that the last look found beyond those that are tracked.
    untracked_count: u64,
    samples: Samples,
    counts: Counts,
    /// Whether it wants the queues of the vhost that is being looked at.
    is_in_vhost: bool,
}

#[derive(Debug)]
struct TrackedAlert {
    phase: Phase,
    alert: Alert,
    /// The look that saw it last.
    seen_in: u64,
}

/// The object of rules about the node: no queue has this number.
const NODE: u64 = u64::MAX;

impl Engine {
    /// Without any rule.
    #[must_use]
    pub fn new(node: &str) -> Engine {
        Engine { node: node.into(), watches: Vec::new(), pass_count: 0, firing_counts: Default::default() }
    }

    /// These rules hold from now on, and these webhooks exist. What fires by a rule that stays, changed or not, keeps firing; what fires
    /// by a deleted rule is resolved. A webhook that joins a rule is notified of what fires by it, and one that leaves a rule that this
    /// is resolved.
    pub fn set_rules(&mut self, rules: Vec<Rule>, webhooks: &[Box<str>], now_ms: u64) -> Vec<Notice> {
        let mut notices = Vec::new();
        let mut before = std::mem::take(&mut self.watches);
        for rule in rules {
            let at = before.iter().position(|watch| watch.rule.name == rule.name && watch.rule.kind == rule.kind);
            let mut watch = at.map_or_else(|| Watch::new(&rule), |at| before.swap_remove(at));
            let notified: Arc<[Box<str>]> = webhooks.iter().filter(|name| rule.notifies(name)).cloned().collect();
            watch.change(rule, now_ms, &mut notices);
            watch.set_webhooks(notified, now_ms, &mut notices);
            self.watches.push(watch);
        }
        for watch in &mut before {
            watch.end_where(Reason::RuleRemoved, now_ms, &mut notices, |_| true);
        }
        self.count_firing();
        notices
    }

    /// What has to be looked at.
    #[must_use]
    pub fn needs(&self) -> Needs {
        let has = |is: fn(Kind) -> bool| self.watches.iter().any(|watch| is(watch.rule.kind));
        Needs {
            queues: has(Kind::is_of_queues),
            flow: has(|kind| kind == Kind::Flow),
            unroutable: has(|kind| kind == Kind::Unroutable),
        }
    }

    /// A look begins, with the node.
    pub fn start(&mut self, now_ms: u64, node: &NodeFacts) -> Pass<'_> {
        self.pass_count += 1;
        Pass::start(self, now_ms, node)
    }

    /// All that is pending or firing.
    pub fn alert_states(&self) -> impl Iterator<Item = AlertState> {
        let tracked = self.watches.iter().flat_map(|watch| watch.tracked.values());
        tracked.map(|tracked| AlertState { alert: tracked.alert.clone(), phase: tracked.phase })
    }

    /// How many alerts of a severity fire.
    #[must_use]
    pub fn firing_count(&self, severity: Severity) -> u64 {
        self.firing_counts[severity as usize]
    }

    /// How many objects the last look found for rules beyond those that are tracked: of rules of which it found any.
    pub fn untracked_counts(&self) -> impl Iterator<Item = (&str, u64)> {
        let counts = self.watches.iter().map(|watch| (&*watch.rule.name, watch.untracked_count));
        counts.filter(|(_, count)| *count > 0)
    }

    fn count_firing(&mut self) {
        self.firing_counts = Default::default();
        for state in self.watches.iter().flat_map(|watch| watch.tracked.values()) {
            if matches!(state.phase, Phase::Firing { .. }) {
                self.firing_counts[state.alert.severity as usize] += 1;
            }
        }
    }
}

impl Watch {
    fn new(rule: &Rule) -> Watch {
        Watch {
            rule: Arc::new(rule.clone()),
            name: (*rule.name).into(),
            webhooks: Arc::default(),
            tracked: FxHashMap::default(),
            untracked_count: 0,
            samples: Samples::default(),
            counts: Counts::default(),
            is_in_vhost: false,
        }
    }

    /// Another rule of this name and kind takes the place of this one.
    fn change(&mut self, rule: Rule, now_ms: u64, notices: &mut Vec<Notice>) {
        if *self.rule == rule {
            return;
        }
        if !self.rule.measures_as(&rule) {
            self.samples = Samples::default();
            self.counts = Counts::default();
        }
        // By the rule as it was, for the webhooks that it notified.
        let scope = rule.scope.clone();
        self.end_where(Reason::OutOfScope, now_ms, notices, |alert| {
            let is_outside = |pattern: &model::pattern::Pattern, name: &Option<Arc<str>>| {
                name.as_ref().is_some_and(|name| !pattern.is_match(name))
            };
            is_outside(&scope.vhost, &alert.vhost) || is_outside(&scope.queue, &alert.queue)
        });
        for tracked in self.tracked.values_mut() {
            (tracked.alert.severity, tracked.alert.threshold) = (rule.severity, rule.threshold);
        }
        self.rule = Arc::new(rule);
    }

    /// Notifies other webhooks from now on.
    fn set_webhooks(&mut self, webhooks: Arc<[Box<str>]>, now_ms: u64, notices: &mut Vec<Notice>) {
        let only_in = |these: &[Box<str>], those: &[Box<str>]| -> Arc<[Box<str>]> {
            these.iter().filter(|name| !those.contains(name)).cloned().collect()
        };
        let (left, joined) = (only_in(&self.webhooks, &webhooks), only_in(&webhooks, &self.webhooks));
        let is_firing = |tracked: &&TrackedAlert| matches!(tracked.phase, Phase::Firing { .. });
        for tracked in self.tracked.values().filter(is_firing) {
            for (status, webhooks) in [(Status::Resolved, &left), (Status::Firing, &joined)] {
                if !webhooks.is_empty() {
                    let reason = (status == Status::Resolved).then_some(Reason::OutOfScope);
                    let notice = notice(webhooks, status, &tracked.alert, now_ms);
                    notices.push(Notice { reason, is_handover: true, ..notice });
                }
            }
        }
        self.webhooks = webhooks;
    }

    /// Tracks an object whose condition holds.
    fn track(&mut self, object: u64, node: &str, names: Option<(&str, &str)>, now_ms: u64) -> &mut TrackedAlert {
        let rule = &*self.rule;
        let (vhost, queue) = names.unwrap_or_default();
        let alert = Alert {
            id: id_of(node, rule, vhost, queue),
            rule: self.name.clone(),
            kind: rule.kind,
            severity: rule.severity,
            vhost: names.map(|(vhost, _)| vhost.into()),
            queue: names.map(|(_, queue)| queue.into()),
            value: 0.0,
            threshold: rule.threshold,
            since_ms: now_ms,
        };
        self.tracked.entry(object).or_insert(TrackedAlert { phase: Phase::new(now_ms), alert, seen_in: 0 })
    }

    /// How things stand with an object that is tracked.
    fn step(&mut self, object: u64, value: f64, now_ms: u64, pass: u64, notices: &mut Vec<Notice>) {
        let Some(tracked) = self.tracked.get_mut(&object) else { return };
        tracked.seen_in = pass;
        tracked.alert.value = value;
        let change = tracked.phase.step(value, &self.rule, now_ms);
        match change {
            Change::Nothing => return,
            Change::Fired => {
                tracked.alert.since_ms = now_ms;
                notices.push(notice(&self.webhooks, Status::Firing, &tracked.alert, now_ms));
            }
            Change::Remind => {
                let notice = notice(&self.webhooks, Status::Firing, &tracked.alert, now_ms);
                notices.push(Notice { is_reminder: true, ..notice });
            }
            Change::Resolved => {
                let notice = notice(&self.webhooks, Status::Resolved, &tracked.alert, now_ms);
                notices.push(Notice { reason: Some(Reason::Cleared), ..notice });
            }
            Change::Passed => {}
        }
        if matches!(change, Change::Resolved | Change::Passed) {
            self.tracked.remove(&object);
        }
    }

    /// What `is_over` says of is over.
    fn end_where(&mut self, reason: Reason, now_ms: u64, notices: &mut Vec<Notice>, is_over: impl Fn(&Alert) -> bool) {
        self.end_tracked(reason, now_ms, notices, |tracked| is_over(&tracked.alert));
    }

    /// What the look of this number has not seen is over.
    fn end_unseen(&mut self, pass: u64, now_ms: u64, notices: &mut Vec<Notice>) {
        self.end_tracked(Reason::OutOfScope, now_ms, notices, |tracked| tracked.seen_in != pass);
    }

    fn end_tracked(
        &mut self,
        reason: Reason,
        now_ms: u64,
        notices: &mut Vec<Notice>,
        is_over: impl Fn(&TrackedAlert) -> bool,
    ) {
        let webhooks = &self.webhooks;
        for (_, tracked) in self.tracked.extract_if(|_, tracked| is_over(tracked)) {
            if matches!(tracked.phase, Phase::Firing { .. }) {
                let notice = notice(webhooks, Status::Resolved, &tracked.alert, now_ms);
                notices.push(Notice { reason: Some(reason), ..notice });
            }
        }
    }
}

fn notice(webhooks: &Arc<[Box<str>]>, status: Status, alert: &Alert, now_ms: u64) -> Notice {
    Notice {
        status,
        alert: alert.clone(),
        at_ms: now_ms,
        is_reminder: false,
        reason: None,
        is_folded: false,
        is_handover: false,
        webhooks: webhooks.clone(),
    }
}
