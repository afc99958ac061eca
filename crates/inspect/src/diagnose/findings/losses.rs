//! Messages that no consumer will have.

use super::super::facts::{Client, DeadLetters, Facts, Queue};
use super::words::{names, rate};
use super::{COUNT_MAX, Finding};

/// Losses that are less frequent are not reported.
const MIN_PER_S: f64 = 0.1;

/// Publishes that no queue wants.
pub(super) fn unroutable(facts: &Facts, found: &mut Vec<Finding>) {
    let mut clients: Vec<&Client> = facts.clients.iter().collect();
    let lost = |client: &Client| client.unroutable_dropped_per_s + client.unroutable_returned_per_s;
    clients.sort_by(|left, right| lost(right).total_cmp(&lost(left)));
    for client in clients.into_iter().take(COUNT_MAX) {
        if client.unroutable_dropped_per_s >= MIN_PER_S {
            let text = format!(
                "{} publishes {} messages a second that no queue is bound for: they are lost. Bind a queue, or give the exchange an \
                 alternate exchange.",
                client.name,
                rate(client.unroutable_dropped_per_s)
            );
            found.push(Finding::problem("unroutable_dropped", text).of_client(client));
        }
        if client.unroutable_returned_per_s >= MIN_PER_S {
            let text = format!(
                "{} publishes {} messages a second that no queue is bound for: they are returned to it.",
                client.name,
                rate(client.unroutable_returned_per_s)
            );
            found.push(Finding::warning("unroutable_returned", text).of_client(client));
        }
    }
}

/// Messages that queues give up, and that go nowhere.
pub(super) fn given_up(facts: &Facts, found: &mut Vec<Finding>) {
    type Reason = (&'static str, fn(&Queue) -> f64, &'static str);
    const REASONS: [Reason; 4] = [
        ("dropped_over_length", |queue| queue.over_length_per_s, "dropped, because it is as long as it may be"),
        ("expired", |queue| queue.expired_per_s, "dropped, because they expired before a consumer took them"),
        ("rejected", |queue| queue.rejected_per_s, "dropped, because consumers rejected them"),
        ("failed_too_often", |queue| queue.failed_too_often_per_s, "dropped, because they were returned too often"),
    ];
    for (kind, lost_per_s, why) in REASONS {
        for queue in most(facts, lost_per_s) {
            let where_to = match &queue.dead_letters {
                DeadLetters::Kept => continue,
                DeadLetters::Deleted => "it has no dead letter exchange".to_owned(),
                DeadLetters::Nowhere(exchange) if exchange.is_empty() => {
                    "the queue for its dead letters is not there".to_owned()
                }
                DeadLetters::Nowhere(exchange) => format!("no queue is bound to its dead letter exchange {exchange}"),
            };
            let text = format!(
                "{} loses {} messages a second: they are {why}, and {where_to}.{}",
                queue.shown(),
                rate(lost_per_s(queue)),
                published_by(queue)
            );
            found.push(Finding::warning(kind, text).of_queue(queue));
        }
    }
}

/// Publishes that queues refuse.
pub(super) fn refused(facts: &Facts, found: &mut Vec<Finding>) {
    for queue in most(facts, |queue| queue.refused_per_s) {
        let text = format!(
            "{} refuses {} publishes a second: it is as long as it may be.{}",
            queue.shown(),
            rate(queue.refused_per_s),
            published_by(queue)
        );
        found.push(Finding::warning("refused", text).of_queue(queue));
    }
}

fn most(facts: &Facts, lost_per_s: impl Fn(&Queue) -> f64) -> Vec<&Queue> {
    let mut queues: Vec<&Queue> = facts.queues.iter().filter(|queue| lost_per_s(queue) >= MIN_PER_S).collect();
    queues.sort_by(|left, right| lost_per_s(right).total_cmp(&lost_per_s(left)));
    queues.truncate(COUNT_MAX);
    queues
}

fn published_by(queue: &Queue) -> String {
    if queue.publishers.is_empty() { String::new() } else { format!(" Published by {}.", names(&queue.publishers)) }
}
