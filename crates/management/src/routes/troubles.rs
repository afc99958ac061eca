//! What is out of order, in sentences: for the head of each page of the console, and for other programs that ask often. It costs the same
//! with any number of queues, and looks at connections only while an alarm is on. RabbitMQ has no such route.

use broker::view::{Alarms, DeadLetterLoop};
use serde_json::{Value, json};

use super::cluster::shown_troubles;
use crate::answer::Answer;
use crate::call::Call;
use crate::problem::Problem;
use crate::route::Role::Management;
use crate::route::{Operation, Route, Shape, at};
use crate::tags::is_monitor;

pub(super) static ROUTES: &[Route] = &[at(
    "/api/warren/troubles",
    &[Operation::get(
        Management,
        all,
        "Lists the problems that the user may see, the most important first: `kind`, `severity` (`problem` or `warning`) and `text`, a \
         sentence; and, if applicable, the `node`, the `vhost` and `queue`, or the `count` of connections that are concerned.",
        Shape::List,
    )],
)];

/// Loops that are named; a network of queues may have any number.
const LOOP_COUNT_MAX: usize = 3;

fn all(call: &Call) -> Result<Answer, Problem> {
    let is_monitor = is_monitor(call.identity());
    let mut found = if is_monitor { of_cluster(call) } else { Vec::new() };
    found.extend(alarms(call, is_monitor));
    if is_monitor {
        found.extend(blocked(call));
        found.extend(data_loss(call));
    }
    let loops = call.broker().dead_letter_loops();
    let seen = loops.iter().filter(|circle| call.sees_vhost(&circle.vhost));
    found.extend(seen.take(LOOP_COUNT_MAX).map(dead_letter_loop));
    // A stable sort: within each severity the order stays.
    found.sort_by_key(|trouble| trouble["severity"] != "problem");
    Ok(Answer::json(Value::Array(found).to_string().into_bytes()))
}

fn of_cluster(call: &Call) -> Vec<Value> {
    call.service.control().map_or_else(Vec::new, |control| shown_troubles(&control.view()))
}

/// Alarms of this node and of the others. A user who may not monitor learns that there is one: it concerns all publishers.
fn alarms(call: &Call, is_monitor: bool) -> Vec<Value> {
    let mut found = own_alarms(call);
    for peer in call.broker().peer_alarms() {
        let text = |what: &str| format!("{} is short of {what}: publishers are blocked on all nodes.", peer.node);
        let Alarms { is_memory_low, is_disk_low } = peer.alarms;
        found.extend(is_memory_low.then(|| alarm("memory-alarm", &peer.node, &text("memory"))));
        found.extend(is_disk_low.then(|| alarm("disk-alarm", &peer.node, &text("disk"))));
    }
    if !is_monitor {
        found.iter_mut().for_each(hide_node);
    }
    found
}

fn own_alarms(call: &Call) -> Vec<Value> {
    let (broker, node) = (call.broker(), call.service.node());
    let Alarms { is_memory_low, is_disk_low } = broker.alarms();
    if !is_memory_low && !is_disk_low {
        return Vec::new();
    }
    let view = broker.node_view(&call.service.options.data_dir);
    let mib = |len: u64| len >> 20;
    let (used, limit) = (mib(view.memory_used_len), mib(view.memory_limit_len));
    let (free, needed) = (mib(view.disk_free_len), mib(view.disk_free_limit_len));
    let memory = || {
        let figures = format!("{used} MiB are in use, and publishers are blocked above {limit} MiB");
        alarm("memory-alarm", node, &format!("{node} is short of memory: {figures}."))
    };
    let disk = || {
        let figures = format!("{free} MiB are free, and publishers are blocked below {needed} MiB");
        alarm("disk-alarm", node, &format!("{node} is short of disk: {figures}."))
    };
    is_memory_low.then(memory).into_iter().chain(is_disk_low.then(disk)).collect()
}

fn alarm(kind: &str, node: &str, text: &str) -> Value {
    json!({"kind": kind, "severity": "problem", "node": node, "text": text})
}

/// The answer to a user who may not know more.
fn hide_node(alarm: &mut Value) {
    let what = if alarm["kind"] == "disk-alarm" { "disk" } else { "memory" };
    let text = format!("The broker is short of {what}: publishers are blocked until this ends. Consumers continue.");
    (alarm["node"], alarm["text"]) = (Value::Null, text.into());
}

/// Connections that publish and are stopped.
fn blocked(call: &Call) -> Option<Value> {
    let count = call.broker().blocked_connection_count();
    let text = match count {
        0 => return None,
        1 => "One connection is blocked: the broker does not read what it publishes until the alarm ends.".to_owned(),
        count => {
            format!("{count} connections are blocked: the broker does not read what they publish until the alarm ends.")
        }
    };
    Some(json!({"kind": "blocked", "severity": "problem", "count": count, "text": text}))
}

fn data_loss(call: &Call) -> Option<Value> {
    let node = call.service.node();
    let text = format!("Messages were lost to damaged files on {node}, and no operator has acknowledged the loss.");
    let trouble = json!({"kind": "data-loss", "severity": "problem", "node": node, "text": text});
    call.broker().has_data_loss().then_some(trouble)
}

fn dead_letter_loop(circle: &DeadLetterLoop) -> Value {
    let DeadLetterLoop { vhost, queue, rate } = circle;
    let text = format!(
        "Dead letters go round in circles: {rate:.0} a second return to the queue {queue} of {vhost}, which has dead-lettered them \
         before. None is lost, and none is consumed."
    );
    json!({"kind": "dead-letter-loop", "severity": "warning", "vhost": vhost, "queue": queue, "text": text})
}
