//! Queues that grow, stand still, or go in circles, and why.

use super::super::facts::{Consumer, Facts, Queue};
use super::words::{names, number, rate, time};
use super::{COUNT_MAX, Finding, UNREAD_MIN};

/// A backlog without consumers is reported from here.
const BACKLOG_MIN: u64 = 1_000;
/// Consumers without a limit hold many from here, if they hold each for longer than that.
const HELD_MIN: u64 = 1_000;
const HELD_MIN_S: f64 = 1.0;
/// Dead letters that come back to a queue where they died before are reported from here: it is more than a consumer that tries again at
/// leisure.
const ROUND_MIN_PER_S: f64 = 100.0;
/// What consumers hold of what they may, when they hold all: a message may be on its way back, and the next on its way out.
const FULL: f64 = 0.8;
/// A way to a consumer that is shorter explains nothing.
const FAR_MS: f64 = 2.0;
/// The way's part of the time for which a consumer has a message, from which on it is the way that is slow.
const WAY_PART: f64 = 0.5;
/// As good as nothing, a second.
const NOTHING: f64 = 0.1;
/// So many queues that nothing is published into are reported.
const UNUSED_MIN: usize = 1_000;

fn growth_of(queue: &Queue, facts: &Facts) -> Option<f64> {
    queue.lengths.growth_per_s(facts.seconds, queue.published_per_s, !queue.consumers.is_empty())
}

/// Queues that grow, and why.
pub(super) fn growth(facts: &Facts, found: &mut Vec<Finding>) {
    let mut growing: Vec<(&Queue, f64)> =
        facts.queues.iter().filter_map(|queue| Some((queue, growth_of(queue, facts)?))).collect();
    growing.sort_by(|(_, left), (_, right)| right.total_cmp(left));
    for (queue, growth) in growing.iter().take(COUNT_MAX) {
        let (kind, why) = why(queue);
        let text = format!("{} grows by {} messages a second; {why}.", queue.shown(), rate(*growth));
        found.push(Finding::problem(kind, text).of_queue(queue));
    }
    if growing.len() > COUNT_MAX {
        found.push(Finding::problem("growth", format!("{} more queues grow.", growing.len() - COUNT_MAX)));
    }
}

fn why(queue: &Queue) -> (&'static str, String) {
    if queue.consumers.is_empty() {
        return match queue.dead_letters_of.is_empty() {
            true => ("no_consumer", "it has no consumer".to_owned()),
            false => {
                let of = names(&queue.dead_letters_of);
                ("dead_letters", format!("these are dead letters of {of}, and it has no consumer"))
            }
        };
    }
    let (consumers, count) = (consumers(&queue.consumers), queue.consumers.len());
    if queue.is_single_active && count > 1 {
        let takes = per_message(queue, 1);
        return ("single_active_consumer", format!("only one of its {count} consumers is active, which takes {takes}"));
    }
    if queue.settled_per_s() < NOTHING && queue.unacked > 0 {
        let text = format!(
            "{consumers}, {} {} of its messages and acknowledged nothing meanwhile",
            holds(count),
            number(queue.unacked)
        );
        return ("stalled_consumer", text);
    }
    if let Some(unread) = queue.consumers.iter().find(|consumer| consumer.unread_len >= UNREAD_MIN) {
        return ("unread", format!("its consumer {} does not read its connection", unread.client));
    }
    if is_full(queue) {
        if let Some(far) = far(queue) {
            return far;
        }
        let verb = if count == 1 { "takes" } else { "take" };
        return ("slow_consumer", format!("{consumers} and {verb} {} a message", per_message(queue, count)));
    }
    let text = format!(
        "{} are published and {} are acknowledged a second, although {} room for more: the way to {} is slow, or the broker",
        rate(queue.published_per_s),
        rate(queue.acked_per_s),
        if count == 1 { "its consumer has".to_owned() } else { format!("its {count} consumers have") },
        if count == 1 { "it" } else { "them" },
    );
    ("slow_delivery", text)
}

/// Whether the time for which consumers have messages is spent on the way to them, and what would help.
fn far(queue: &Queue) -> Option<(&'static str, String)> {
    let (way_ms, held_ms) = (queue.round_trip_ms(), held_ms(queue)?);
    if way_ms < FAR_MS || way_ms < held_ms * WAY_PART {
        return None;
    }
    let count = queue.consumers.len();
    // Little's law, and a fifth more.
    let needed = (queue.published_per_s * held_ms / 1_000.0 * 1.2 / count as f64).ceil().max(2.0);
    let text = format!(
        "{}, and the network round trip takes {}, which is {:.0} % of the time for which {} a message: a prefetch of {} would be \
         enough",
        consumers(&queue.consumers),
        time(way_ms),
        (way_ms / held_ms * 100.0).min(100.0),
        if count == 1 { "it has" } else { "each has" },
        number(needed as u64),
    );
    Some(("far_consumer", text))
}

/// For how long consumers have a message, by what they hold and how fast they are.
fn held_ms(queue: &Queue) -> Option<f64> {
    let settled_per_s = queue.settled_per_s();
    let held = (queue.unacked + queue.unacked_before) as f64 / 2.0;
    (settled_per_s > 0.0).then(|| held / settled_per_s * 1_000.0)
}

/// `its one consumer has prefetch 1`, `its 3 consumers have prefetch 10`.
fn consumers(all: &[Consumer]) -> String {
    let most = all.iter().map(|consumer| consumer.prefetch).max().unwrap_or(0);
    let prefetch = if most == 0 { "no prefetch".to_owned() } else { format!("prefetch {most}") };
    match all {
        [_] => format!("its one consumer has {prefetch}"),
        _ => format!("its {} consumers have {prefetch}", all.len()),
    }
}

fn holds(count: usize) -> &'static str {
    if count == 1 { "holds" } else { "hold" }
}

/// How long a consumer takes, where each works all the time.
fn per_message(queue: &Queue, count: usize) -> String {
    match queue.settled_per_s() {
        nothing if nothing <= 0.0 => "for ever".to_owned(),
        settled_per_s => time(count as f64 / settled_per_s * 1_000.0),
    }
}

/// Whether its consumers hold all that they may.
fn is_full(queue: &Queue) -> bool {
    let limit: u64 = queue.consumers.iter().map(|consumer| consumer.prefetch).sum();
    let has_limit = queue.consumers.iter().all(|consumer| consumer.prefetch > 0 && consumer.acks);
    !queue.consumers.is_empty() && has_limit && queue.ready > 0 && queue.unacked as f64 >= limit as f64 * FULL
}

/// Queues whose consumers hold messages and do nothing.
pub(super) fn stalled(facts: &Facts, found: &mut Vec<Finding>) {
    let is_stalled =
        |queue: &&Queue| is_full(queue) && queue.settled_per_s() < NOTHING && growth_of(queue, facts).is_none();
    for queue in facts.queues.iter().filter(is_stalled).take(COUNT_MAX) {
        let text = format!(
            "{} makes no progress with {} messages; {} and acknowledged nothing in {:.0} seconds.",
            queue.shown(),
            number(queue.messages()),
            consumers(&queue.consumers),
            facts.seconds
        );
        found.push(Finding::problem("stalled_consumer", text).of_queue(queue));
    }
}

/// Queues with many messages and no consumers, which do not grow.
pub(super) fn backlogs(facts: &Facts, found: &mut Vec<Finding>) {
    let is_left = |queue: &&Queue| {
        queue.consumers.is_empty() && queue.messages() >= BACKLOG_MIN && growth_of(queue, facts).is_none()
    };
    let mut left: Vec<&Queue> = facts.queues.iter().filter(is_left).collect();
    left.sort_by_key(|queue| std::cmp::Reverse(queue.messages()));
    for queue in left.iter().take(COUNT_MAX) {
        let whose = match queue.dead_letters_of.as_slice() {
            [] => String::new(),
            all => format!(", dead letters of {},", names(all)),
        };
        let text = format!("{} has {} messages{whose} and no consumer.", queue.shown(), number(queue.messages()));
        found.push(Finding::warning("backlog", text).of_queue(queue));
    }
}

/// Consumers without a limit that hold very many for long.
pub(super) fn held(facts: &Facts, found: &mut Vec<Finding>) {
    let holds = |queue: &&Queue| {
        let has_no_limit = queue.consumers.iter().any(|consumer| consumer.prefetch == 0 && consumer.acks);
        let is_long = held_ms(queue).is_none_or(|ms| ms >= HELD_MIN_S * 1_000.0);
        has_no_limit && queue.unacked.min(queue.unacked_before) >= HELD_MIN && is_long
    };
    for queue in facts.queues.iter().filter(holds).take(COUNT_MAX) {
        let text = format!(
            "{} messages of {} are with consumers that have no prefetch: they all return to the queue when such a consumer disconnects.",
            number(queue.unacked),
            queue.shown()
        );
        found.push(Finding::warning("no_prefetch", text).of_queue(queue));
    }
}

/// Messages that come back again and again.
pub(super) fn redeliveries(facts: &Facts, found: &mut Vec<Finding>) {
    let returns =
        |queue: &&Queue| queue.redelivered_per_s >= 1.0 && queue.redelivered_per_s >= queue.delivered_per_s / 2.0;
    for queue in facts.queues.iter().filter(returns).take(COUNT_MAX) {
        let text = format!(
            "Of {} deliveries a second of {}, {} are redeliveries: consumers return or lose what they get.",
            rate(queue.delivered_per_s),
            queue.shown(),
            rate(queue.redelivered_per_s)
        );
        found.push(Finding::warning("redeliveries", text).of_queue(queue));
    }
}

/// Dead letters that come back again and again to where they died.
pub(super) fn rounds(facts: &Facts, found: &mut Vec<Finding>) {
    let mut round: Vec<&Queue> =
        facts.queues.iter().filter(|queue| queue.came_round_per_s >= ROUND_MIN_PER_S).collect();
    round.sort_by(|left, right| right.came_round_per_s.total_cmp(&left.came_round_per_s));
    for queue in round.iter().take(COUNT_MAX) {
        let text = format!(
            "Messages go round: queue {}, {} laps a second. They are rejected as fast as they come back as dead letters.",
            queue.shown(),
            rate(queue.came_round_per_s)
        );
        found.push(Finding::warning("dead_letter_loop", text).of_queue(queue));
    }
}

/// Very many queues that nothing was ever published into.
pub(super) fn unused(facts: &Facts, found: &mut Vec<Finding>) {
    let unused: Vec<&Queue> =
        facts.queues.iter().filter(|queue| queue.is_unused && queue.consumers.is_empty()).collect();
    if unused.len() >= UNUSED_MIN {
        let text = format!(
            "{} of {} queues have no consumer, no message, and had none published into them since the broker started; {} is one. \
             An `x-expires` removes such queues.",
            number(unused.len() as u64),
            number(facts.queues.len() as u64),
            unused[0].shown()
        );
        found.push(Finding::remark("unused_queues", text));
    }
}
