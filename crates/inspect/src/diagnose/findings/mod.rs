//! What follows from the facts, in plain words. Nothing here asks or measures.

use super::facts::{Consumer, Facts, Queue};

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Weight {
    /// Something does not work, or will soon not.
    Problem,
    /// Something is near a limit, or gets worse.
    Warning,
    /// Worth knowing.
    Remark,
}

impl Weight {
    pub(super) fn name(self) -> &'static str {
        match self {
            Weight::Problem => "PROBLEM",
            Weight::Warning => "WARNING",
            Weight::Remark => "REMARK",
        }
    }
}

/// A finding: a sentence or two.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) weight: Weight,
    pub(super) text: String,
}

/// A queue grows if it gets so many more messages a second.
const GROWTH_MIN_PER_S: f64 = 1.0;
/// A backlog without consumers is told of from here.
const BACKLOG_MIN: u64 = 1_000;
/// Consumers without a limit hold many from here.
const HELD_MIN: u64 = 10_000;
/// Dead letters that come back to a queue where they died before are reported from here: it is more than a consumer that tries again at
/// leisure.
const ROUND_MIN_PER_S: f64 = 100.0;
/// Parts of a limit.
const NEAR: f64 = 0.8;
/// A sync that takes longer is slow.
const SYNC_SLOW_MS: f64 = 20.0;
/// More connections a second are churn.
const CHURN_MIN_PER_S: f64 = 10.0;
/// A part of all processors that is full load.
const BUSY: f64 = 0.9;
/// A request that takes longer is slow.
const REQUEST_SLOW_MS: f64 = 1_000.0;
/// Queues that are told of, of each kind of finding.
const QUEUE_COUNT_MAX: usize = 10;

type Rule = fn(&Facts, &mut Vec<Finding>);

const RULES: &[Rule] = &[
    cluster,
    alarms,
    losses,
    resources,
    disk,
    connections,
    growth,
    stalled,
    backlogs,
    prefetch,
    rounds,
    processors,
    requests,
    errors,
];

/// All findings, those first that matter most.
pub(super) fn findings(facts: &Facts) -> Vec<Finding> {
    let mut found = Vec::new();
    RULES.iter().for_each(|rule| rule(facts, &mut found));
    found.sort_by_key(|finding| finding.weight);
    found
}

fn say(found: &mut Vec<Finding>, weight: Weight, text: String) {
    found.push(Finding { weight, text });
}

/// What its nodes know of each other. Of several problems it comes first: what else is wrong may follow from it.
fn cluster(facts: &Facts, found: &mut Vec<Finding>) {
    for (is_problem, text) in &facts.cluster_troubles {
        say(found, if *is_problem { Weight::Problem } else { Weight::Warning }, text.clone());
    }
}

fn alarms(facts: &Facts, found: &mut Vec<Finding>) {
    if facts.memory_alarm {
        let text = format!(
            "The memory alarm is on, so publishers wait: {} are in use, and {} is the limit.",
            bytes(facts.memory.used),
            bytes(facts.memory.limit)
        );
        say(found, Weight::Problem, text);
    }
    if facts.disk_alarm {
        let text = format!(
            "The disk alarm is on, so publishers wait: {} are free, and {} is the limit.",
            bytes(facts.disk_free_len),
            bytes(facts.disk_limit_len)
        );
        say(found, Weight::Problem, text);
    }
    if facts.blocked_count > 0 {
        let (connections, are) = plural(facts.blocked_count, "connection", "is", "are");
        say(found, Weight::Problem, format!("{connections} {are} kept from publishing."));
    }
}

fn losses(facts: &Facts, found: &mut Vec<Finding>) {
    if facts.lost_message_count > 0 {
        let (messages, are) = plural(facts.lost_message_count, "message", "is", "are");
        let text = format!("{messages} {are} lost to damaged files: `warren ctl list_data_losses` says which.");
        say(found, Weight::Problem, text);
    }
}

fn resources(facts: &Facts, found: &mut Vec<Finding>) {
    let near = |used: u64, limit: u64| limit > 0 && part(used, limit) >= NEAR;
    if near(facts.memory.used, facts.memory.limit) && !facts.memory_alarm {
        let text = format!(
            "Memory is at {:.0} % of the limit above which publishers wait: {} of {}.",
            part(facts.memory.used, facts.memory.limit) * 100.0,
            bytes(facts.memory.used),
            bytes(facts.memory.limit)
        );
        say(found, Weight::Warning, text);
    }
    if near(facts.files.used, facts.files.limit) {
        let text = format!(
            "{} of {} open files are in use: clients are refused when there are no more. Raise the limit (ulimit -n, LimitNOFILE).",
            number(facts.files.used),
            number(facts.files.limit)
        );
        say(found, Weight::Warning, text);
    }
    if facts.disk_limit_len > 0 && !facts.disk_alarm && facts.disk_free_len < facts.disk_limit_len.saturating_mul(2) {
        let text = format!(
            "The disk has {} free, and publishers wait below {}.",
            bytes(facts.disk_free_len),
            bytes(facts.disk_limit_len)
        );
        say(found, Weight::Warning, text);
    }
}

fn disk(facts: &Facts, found: &mut Vec<Finding>) {
    let Some(syncs) = facts.syncs.filter(|syncs| syncs.count >= 1.0 && syncs.mean_ms >= SYNC_SLOW_MS) else { return };
    let text = format!(
        "The disk is slow: a sync takes {} on average, and no persistent message is confirmed sooner.",
        time(syncs.mean_ms)
    );
    say(found, Weight::Warning, text);
}

fn connections(facts: &Facts, found: &mut Vec<Finding>) {
    if facts.connections_opened_per_s >= CHURN_MIN_PER_S {
        let text = format!(
            "{} connections a second are opened: clients should keep theirs, or go through `warren proxy`.",
            number(facts.connections_opened_per_s as u64)
        );
        say(found, Weight::Warning, text);
    }
    if facts.slowed_count > 0 && facts.blocked_count == 0 {
        let (connections, are) = plural(facts.slowed_count, "connection", "is", "are");
        let text = format!("{connections} {are} slowed down: they publish faster than consumers or the disk keep up.");
        say(found, Weight::Remark, text);
    }
}

/// Queues that grow, and why.
fn growth(facts: &Facts, found: &mut Vec<Finding>) {
    let growths = facts.queues.iter().map(|queue| (queue, growth_of(queue, facts.seconds)));
    let mut growing: Vec<(&Queue, f64)> = growths.filter(|(_, growth)| *growth >= GROWTH_MIN_PER_S).collect();
    growing.sort_by(|(_, left), (_, right)| right.total_cmp(left));
    for (queue, growth) in growing.iter().take(QUEUE_COUNT_MAX) {
        let text =
            format!("{} grows by {} messages a second; {}.", queue.shown(), number(growth.round() as u64), why(queue));
        say(found, Weight::Problem, text);
    }
    if growing.len() > QUEUE_COUNT_MAX {
        say(found, Weight::Problem, format!("{} more queues grow.", growing.len() - QUEUE_COUNT_MAX));
    }
}

fn growth_of(queue: &Queue, seconds: f64) -> f64 {
    (queue.messages as f64 - queue.before as f64) / seconds.max(0.001)
}

fn why(queue: &Queue) -> String {
    if !queue.dead_letters_of.is_empty() && queue.consumers.is_empty() {
        return format!("these are dead letters of {}, and it has no consumer", queue.dead_letters_of.join(", "));
    }
    if queue.consumers.is_empty() {
        return "it has no consumer".to_owned();
    }
    let (consumers, count) = (consumers(&queue.consumers), queue.consumers.len());
    if queue.is_single_active && count > 1 {
        return format!("only one of its {count} consumers is active, which takes {}", per_message(queue, 1));
    }
    if is_full(queue) {
        let verb = if count == 1 { "takes" } else { "take" };
        return match queue.acked_per_s < 0.1 {
            true => format!("{consumers} and acknowledged nothing meanwhile"),
            false => format!("{consumers} and {verb} {} a message", per_message(queue, count)),
        };
    }
    let has = if count == 1 { "has" } else { "have" };
    format!(
        "{} come in and {} are acknowledged a second, though {} room for more: the way to {} is slow, or the broker",
        number(queue.published_per_s.round() as u64),
        number(queue.acked_per_s.round() as u64),
        format_args!("{} {has}", if count == 1 { "its consumer".to_owned() } else { format!("its {count} consumers") }),
        if count == 1 { "it" } else { "them" },
    )
}

/// `its one consumer has prefetch 1`, `its 3 consumers have prefetch 10`.
fn consumers(all: &[Consumer]) -> String {
    let most = all.iter().map(|consumer| consumer.prefetch).max().unwrap_or(0);
    match all {
        [one] => format!("its one consumer has prefetch {}", one.prefetch),
        _ => format!("its {} consumers have prefetch {most}", all.len()),
    }
}

/// How long a consumer takes, where each works all the time.
fn per_message(queue: &Queue, count: usize) -> String {
    match queue.acked_per_s > 0.0 {
        true => time(count as f64 / queue.acked_per_s * 1000.0),
        false => "for ever".to_owned(),
    }
}

/// Whether its consumers hold all that they may.
fn is_full(queue: &Queue) -> bool {
    let limit: u64 = queue.consumers.iter().map(|consumer| consumer.prefetch).sum();
    let has_limit = queue.consumers.iter().all(|consumer| consumer.prefetch > 0 && consumer.acks);
    // A message may be on its way back, and the next on its way out.
    !queue.consumers.is_empty() && has_limit && queue.ready > 0 && queue.unacked as f64 >= limit as f64 * NEAR
}

/// Queues whose consumers hold messages and do nothing.
fn stalled(facts: &Facts, found: &mut Vec<Finding>) {
    let is_stalled = |queue: &&Queue| {
        is_full(queue) && queue.acked_per_s < 0.1 && growth_of(queue, facts.seconds) < GROWTH_MIN_PER_S
    };
    for queue in facts.queues.iter().filter(is_stalled).take(QUEUE_COUNT_MAX) {
        let text = format!(
            "{} stands still with {} messages; {} and acknowledged nothing in {:.0} seconds.",
            queue.shown(),
            number(queue.messages),
            consumers(&queue.consumers),
            facts.seconds
        );
        say(found, Weight::Problem, text);
    }
}

/// Queues with many messages and no consumers, which do not grow.
fn backlogs(facts: &Facts, found: &mut Vec<Finding>) {
    let is_left = |queue: &&Queue| {
        queue.consumers.is_empty()
            && queue.messages >= BACKLOG_MIN
            && growth_of(queue, facts.seconds) < GROWTH_MIN_PER_S
    };
    let mut left: Vec<&Queue> = facts.queues.iter().filter(is_left).collect();
    left.sort_by_key(|queue| std::cmp::Reverse(queue.messages));
    for queue in left.iter().take(QUEUE_COUNT_MAX) {
        let whose = match queue.dead_letters_of.as_slice() {
            [] => String::new(),
            all => format!(", dead letters of {},", all.join(", ")),
        };
        let text = format!("{} has {} messages{whose} and no consumer.", queue.shown(), number(queue.messages));
        say(found, Weight::Warning, text);
    }
}

/// Consumers without a limit that hold very many, and messages that come back again and again.
fn prefetch(facts: &Facts, found: &mut Vec<Finding>) {
    let holds = |queue: &&Queue| {
        queue.unacked >= HELD_MIN && queue.consumers.iter().any(|consumer| consumer.prefetch == 0 && consumer.acks)
    };
    for queue in facts.queues.iter().filter(holds).take(QUEUE_COUNT_MAX) {
        let text = format!(
            "{} messages of {} are with consumers that have no prefetch: they all come back when one of these goes.",
            number(queue.unacked),
            queue.shown()
        );
        say(found, Weight::Warning, text);
    }
    let returns =
        |queue: &&Queue| queue.redelivered_per_s >= 1.0 && queue.redelivered_per_s >= queue.delivered_per_s / 2.0;
    for queue in facts.queues.iter().filter(returns).take(QUEUE_COUNT_MAX) {
        let text = format!(
            "Of {} deliveries a second of {}, {} are redeliveries: consumers reject or lose what they get.",
            number(queue.delivered_per_s.round() as u64),
            queue.shown(),
            number(queue.redelivered_per_s.round() as u64)
        );
        say(found, Weight::Warning, text);
    }
}

/// Dead letters that come back again and again to where they died.
fn rounds(facts: &Facts, found: &mut Vec<Finding>) {
    let mut round: Vec<&Queue> =
        facts.queues.iter().filter(|queue| queue.came_round_per_s >= ROUND_MIN_PER_S).collect();
    round.sort_by(|left, right| right.came_round_per_s.total_cmp(&left.came_round_per_s));
    for queue in round.iter().take(QUEUE_COUNT_MAX) {
        let text = format!(
            "Messages go round: queue {}, {} laps a second. They are rejected as fast as they come back as dead letters.",
            queue.shown(),
            number(queue.came_round_per_s.round() as u64)
        );
        say(found, Weight::Warning, text);
    }
}

fn processors(facts: &Facts, found: &mut Vec<Finding>) {
    let Some(busy) = facts.busy_processors else { return };
    if facts.processor_count > 0 && busy >= facts.processor_count as f64 * BUSY {
        let text = format!(
            "The broker uses {busy:.1} of {} processors, which is all there is: profile.svg shows what for.",
            facts.processor_count
        );
        say(found, Weight::Warning, text);
    }
}

fn requests(facts: &Facts, found: &mut Vec<Finding>) {
    let slow = facts.slow_requests.iter().flat_map(|slow| &slow.all);
    let mut slow = slow.filter(|request| request.ms >= REQUEST_SLOW_MS);
    let Some(first) = slow.next() else { return };
    let waited = first.waits.first().map(|wait| format!(", {} of it {}", time(wait.ms), wait.what()));
    let others = match slow.count() {
        0 => String::new(),
        1 => "; so was another".to_owned(),
        count => format!("; so were {} others", number(count as u64)),
    };
    let (request, took) = (&first.request, time(first.ms));
    let text = format!("{request} was slow: it took {took} at {}{}{others}.", first.at, waited.unwrap_or_default());
    say(found, Weight::Warning, text);
}

fn errors(facts: &Facts, found: &mut Vec<Finding>) {
    let Some(last) = &facts.last_error else { return };
    let (errors, are) = plural(facts.error_count as u64, "error", "is", "are");
    say(found, Weight::Warning, format!("{errors} {are} among the last lines of the log, the last one: {last}"));
}

fn part(used: u64, limit: u64) -> f64 {
    used as f64 / limit.max(1) as f64
}

/// `1 connection` and `is`, `2,000 connections` and `are`.
fn plural<'a>(count: u64, noun: &str, one: &'a str, many: &'a str) -> (String, &'a str) {
    (counted(count, noun), if count == 1 { one } else { many })
}

/// `1 queue`, `2,000 queues`.
pub(super) fn counted(count: u64, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        _ => format!("{} {noun}s", number(count)),
    }
}

/// `1,234,567`.
fn number(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1.5 GiB`.
pub(super) fn bytes(len: u64) -> String {
    let units = ["KiB", "MiB", "GiB", "TiB"];
    let mut value = len as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < units.len() {
        (value, unit) = (value / 1024.0, unit + 1);
    }
    format!("{value:.1} {}", units[unit])
}

/// `40 ms`, `1.5 s`.
pub(super) fn time(ms: f64) -> String {
    match ms {
        ..1.0 => format!("{ms:.2} ms"),
        ..10.0 => format!("{ms:.1} ms"),
        ..10_000.0 => format!("{ms:.0} ms"),
        _ => format!("{:.0} s", ms / 1000.0),
    }
}

#[cfg(test)]
mod tests;
