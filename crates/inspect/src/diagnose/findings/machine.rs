//! Nodes, their memory, disks and processors.

use super::super::facts::{Facts, Node};
use super::Finding;
use super::words::{bytes, names, number, plural, time};

/// Parts of a limit.
const NEAR: f64 = 0.8;
/// A sync that takes longer is slow, and one that takes longer still is what the node suffers from.
const SYNC_SLOW_MS: f64 = 20.0;
const SYNC_TOO_SLOW_MS: f64 = 100.0;
/// A part of all processors that is full load.
const BUSY: f64 = 0.9;
/// Of the time in which threads could run, the part for which they had no processor, and how much that is in processors.
const WAITED_PART: f64 = 0.5;
const WAITED_MIN: f64 = 0.2;
/// A part of all processors that a control group or a hypervisor takes.
const TAKEN: f64 = 0.1;
/// An owner of so much of the memory is named in an alarm.
const OWNER_PART: f64 = 0.1;

/// What its nodes know of each other. Of several problems it comes first: what else is wrong may follow from it.
pub(super) fn cluster(facts: &Facts, found: &mut Vec<Finding>) {
    for (is_problem, text) in &facts.cluster_troubles {
        let make = if *is_problem { Finding::problem } else { Finding::warning };
        found.push(make("cluster", text.clone()));
    }
}

/// What holds all publishers.
pub(super) fn alarms(facts: &Facts, found: &mut Vec<Finding>) {
    for (place, node) in facts.nodes.iter().enumerate() {
        let on = on(facts, node);
        if node.memory_alarm {
            let owners = if place == 0 { memory_owners(facts) } else { String::new() };
            let text = format!(
                "{on}The memory alarm is on, so publishers wait: {} are in use, and {} is the limit.{owners}",
                bytes(node.memory.used),
                bytes(node.memory.limit)
            );
            found.push(Finding::problem("memory_alarm", text).of_node(&node.name));
        }
        if node.disk_alarm {
            let text = format!(
                "{on}The disk alarm is on, so publishers wait: {} are free, and {} is the limit.",
                bytes(node.disk_free_len),
                bytes(node.disk_limit_len)
            );
            found.push(Finding::problem("disk_alarm", text).of_node(&node.name));
        }
    }
}

/// `rabbit@b: `, where there are several nodes.
fn on(facts: &Facts, node: &Node) -> String {
    if facts.nodes.len() > 1 { format!("{}: ", node.name) } else { String::new() }
}

/// What has most of the memory, and which queue has most messages.
fn memory_owners(facts: &Facts) -> String {
    let Some(used) = facts.nodes.first().map(|node| node.memory.used as f64) else { return String::new() };
    let large = facts.memory_owners.iter().filter(|(_, len)| *len as f64 >= used * OWNER_PART);
    let shown: Vec<String> = large.map(|(name, len)| format!("{name} {}", bytes(*len))).collect();
    if shown.is_empty() {
        return String::new();
    }
    let largest = facts.queues.iter().max_by_key(|queue| queue.message_bytes).filter(|queue| queue.message_bytes > 0);
    let queue = largest.map(|queue| {
        format!(
            " The longest queue is {} with {} in {} messages.",
            queue.shown(),
            bytes(queue.message_bytes),
            number(queue.messages())
        )
    });
    format!(" It holds: {}.{}", shown.join(", "), queue.unwrap_or_default())
}

/// Those that an alarm holds.
pub(super) fn blocked(facts: &Facts, found: &mut Vec<Finding>) {
    let blocked: Vec<String> =
        facts.clients.iter().filter(|client| client.state == "blocked").map(|client| client.name.clone()).collect();
    if !blocked.is_empty() {
        let (connections, are) = plural(blocked.len() as u64, "connection", "is", "are");
        found.push(Finding::problem(
            "blocked",
            format!("{connections} {are} blocked from publishing: {}.", names(&blocked)),
        ));
    }
}

/// Messages in damaged files.
pub(super) fn data_loss(facts: &Facts, found: &mut Vec<Finding>) {
    if facts.lost_message_count > 0 {
        let (messages, are) = plural(facts.lost_message_count, "message", "is", "are");
        let text = format!("{messages} {are} lost to damaged files: `warren ctl list_data_losses` lists them.");
        found.push(Finding::problem("data_loss", text));
    }
}

/// How long syncs take.
pub(super) fn disk(facts: &Facts, found: &mut Vec<Finding>) {
    let Some(syncs) = facts.syncs.filter(|syncs| syncs.count >= 1.0 && syncs.mean_ms >= SYNC_SLOW_MS) else { return };
    let text = format!(
        "The disk is slow: a sync takes {} on average, and no persistent message is confirmed faster.",
        time(syncs.mean_ms)
    );
    let make = if syncs.mean_ms >= SYNC_TOO_SLOW_MS { Finding::problem } else { Finding::warning };
    found.push(make("slow_disk", text));
}

/// Whether the broker gets the processors that it wants.
pub(super) fn processors(facts: &Facts, found: &mut Vec<Finding>) {
    let (Some(processors), all) = (facts.processors, facts.processor_count as f64) else { return };
    if all == 0.0 {
        return;
    }
    if processors.throttled >= TAKEN {
        let text = format!(
            "The broker's control group withholds {:.1} processors from it: raise its limit (CPUQuota, `cpu` of a container).",
            processors.throttled
        );
        found.push(Finding::problem("throttled", text));
    } else if processors.stolen >= all * TAKEN {
        let text =
            format!("The hypervisor gives {:.1} of this machine's {all} processors to others.", processors.stolen);
        found.push(Finding::problem("stolen_processors", text));
    } else if processors.used >= all * BUSY {
        let text = format!(
            "The broker uses {:.1} of {all} processors, which are all processors: profile.svg shows for what.",
            processors.used
        );
        found.push(Finding::warning("busy", text));
    } else if processors.waited >= WAITED_MIN
        && processors.waited >= (processors.waited + processors.used) * WAITED_PART
    {
        let text = format!(
            "Other programs use the processors: the broker waited for a processor for {:.0} % of the time in which it had work.",
            processors.waited / (processors.waited + processors.used) * 100.0
        );
        found.push(Finding::problem("processors_taken", text));
    }
}

/// What is near a limit.
pub(super) fn resources(facts: &Facts, found: &mut Vec<Finding>) {
    let near = |used: u64, limit: u64| limit > 0 && used as f64 / limit as f64 >= NEAR;
    for node in &facts.nodes {
        let on = on(facts, node);
        if near(node.memory.used, node.memory.limit) && !node.memory_alarm {
            let text = format!(
                "{on}Memory is at {:.0} % of the limit above which publishers wait: {} of {}.",
                node.memory.used as f64 / node.memory.limit as f64 * 100.0,
                bytes(node.memory.used),
                bytes(node.memory.limit)
            );
            found.push(Finding::warning("memory", text).of_node(&node.name));
        }
        if near(node.files.used, node.files.limit) {
            let text = format!(
                "{on}{} of {} open files are in use: clients are refused when all are in use. Raise the limit (ulimit -n, \
                 LimitNOFILE).",
                number(node.files.used),
                number(node.files.limit)
            );
            found.push(Finding::warning("open_files", text).of_node(&node.name));
        }
        if node.disk_limit_len > 0 && !node.disk_alarm && node.disk_free_len < node.disk_limit_len.saturating_mul(2) {
            let text = format!(
                "{on}The disk has {} free, and publishers wait below {}.",
                bytes(node.disk_free_len),
                bytes(node.disk_limit_len)
            );
            found.push(Finding::warning("disk", text).of_node(&node.name));
        }
    }
    if facts.rates.connections_refused > 0.0 {
        let text = "Connections are turned away, because open files or places have run out.".to_owned();
        found.push(Finding::problem("connections_refused", text));
    }
}
