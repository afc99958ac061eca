//! What clients do to themselves and to the broker.

use super::super::facts::{Client, Facts};
use super::words::{number, plural, rate, time};
use super::{COUNT_MAX, Finding, UNREAD_MIN};

/// More connections a second are churn, and more channels, queues, errors.
const CHURN_MIN_PER_S: f64 = 10.0;
const CHANNEL_CHURN_MIN_PER_S: f64 = 20.0;
const DECLARE_MIN_PER_S: f64 = 20.0;
const FAILED_MIN_PER_S: f64 = 0.5;
/// So many channels of one connection on which nothing ever happened are a leak.
const IDLE_CHANNELS_MIN: u64 = 50;
/// A way that is shorter explains nothing.
const FAR_MS: f64 = 5.0;
/// Publishes on their way at once, from and up to which a publisher waits for each.
const ONE_BY_ONE: std::ops::Range<f64> = 0.4..2.0;
/// Gets a second that find nothing, and their part of all.
const POLLED_MIN_PER_S: f64 = 5.0;
const POLLED_PART: f64 = 0.5;
/// Gets a second that find something: a consumer costs less.
const GOT_MIN_PER_S: f64 = 50.0;

/// Clients whose number is at least `min`, most first.
fn most(facts: &Facts, what: impl Fn(&Client) -> f64, min: f64) -> Vec<&Client> {
    let mut clients: Vec<&Client> = facts.clients.iter().filter(|client| what(client) >= min).collect();
    clients.sort_by(|left, right| what(right).total_cmp(&what(left)));
    clients.truncate(COUNT_MAX);
    clients
}

/// Publishers that wait for each confirm, and are far away.
pub(super) fn waiting_publishers(facts: &Facts, found: &mut Vec<Finding>) {
    for client in most(facts, |client| client.round_trip_ms.unwrap_or(0.0), FAR_MS) {
        let Some(way_ms) = client.round_trip_ms else { continue };
        let on_their_way = client.confirmed_per_s * way_ms / 1_000.0;
        if !ONE_BY_ONE.contains(&on_their_way) || client.unconfirmed > 2 {
            continue;
        }
        let text = format!(
            "{} waits for each confirm before it publishes the next message, and the network round trip takes {}: it publishes {} \
             messages a second and cannot publish more. Let it publish several messages before it waits, or move it nearer to the \
             broker.",
            client.name,
            time(way_ms),
            rate(client.confirmed_per_s)
        );
        found.push(Finding::warning("far_publisher", text).of_client(client));
    }
}

/// Clients that do not read.
pub(super) fn unread(facts: &Facts, found: &mut Vec<Finding>) {
    for client in most(facts, |client| client.unread_len as f64, UNREAD_MIN as f64) {
        let text = format!("{} does not read its connection: {} bytes wait.", client.name, number(client.unread_len));
        found.push(Finding::warning("unread", text).of_client(client));
    }
}

/// Logins, channels and connections that are refused again and again, with the last reason.
pub(super) fn refusals(facts: &Facts, found: &mut Vec<Finding>) {
    let rates = &facts.rates;
    let last = |what: &str| {
        let line = facts.refusals.iter().rev().find(|line| line.contains(what));
        line.map_or_else(String::new, |line| format!(" The last one: {}", said(line)))
    };
    if rates.logins_failed >= FAILED_MIN_PER_S {
        let text = format!("{} logins a second are refused.{}", rate(rates.logins_failed), last("login was refused"));
        found.push(Finding::warning("logins_refused", text));
    }
    if rates.channels_failed >= FAILED_MIN_PER_S {
        let text = format!(
            "{} channels a second are closed for errors of their clients.{}",
            rate(rates.channels_failed),
            last("channel was closed by an error")
        );
        found.push(Finding::warning("channel_errors", text));
    }
    // A login that is refused closes its connection.
    let others = rates.connections_failed - rates.logins_failed;
    if others >= FAILED_MIN_PER_S {
        let text = format!(
            "{} connections a second are closed for errors of their clients.{}",
            rate(others),
            last("connection was closed by an error")
        );
        found.push(Finding::warning("connection_errors", text));
    }
}

/// A line of the log, without its time and its place in the program.
fn said(line: &str) -> &str {
    line.split_once(": ").map_or(line, |(_, said)| said)
}

/// What is opened and closed, or declared, all the time.
pub(super) fn churn(facts: &Facts, found: &mut Vec<Finding>) {
    let rates = &facts.rates;
    if rates.connections_opened >= CHURN_MIN_PER_S {
        let text = format!(
            "{} connections a second are opened: clients should keep their connections, or use `warren proxy`.",
            rate(rates.connections_opened)
        );
        found.push(Finding::warning("connection_churn", text));
    } else if rates.channels_opened >= CHANNEL_CHURN_MIN_PER_S {
        let text = format!(
            "{} channels a second are opened: clients should keep their channels.",
            rate(rates.channels_opened)
        );
        found.push(Finding::warning("channel_churn", text));
    }
    if rates.queues_declared >= DECLARE_MIN_PER_S {
        let text = format!(
            "{} queues a second are declared: declare a long-lived queue only once.",
            rate(rates.queues_declared)
        );
        found.push(Finding::warning("queue_churn", text));
    }
}

/// Connections with very many channels that were opened for nothing.
pub(super) fn channels(facts: &Facts, found: &mut Vec<Finding>) {
    for client in most(facts, |client| client.idle_channel_count as f64, IDLE_CHANNELS_MIN as f64) {
        let text = format!(
            "{} has {} channels, and on {} of them nothing ever happened: it may open one for each operation and never close it.",
            client.name,
            number(client.channel_count),
            number(client.idle_channel_count)
        );
        found.push(Finding::warning("channel_leak", text).of_client(client));
    }
}

/// Clients that ask instead of consuming.
pub(super) fn polling(facts: &Facts, found: &mut Vec<Finding>) {
    for client in most(facts, |client| client.got_per_s + client.got_empty_per_s, POLLED_MIN_PER_S) {
        let all = client.got_per_s + client.got_empty_per_s;
        let is_empty = client.got_empty_per_s >= POLLED_MIN_PER_S && client.got_empty_per_s >= all * POLLED_PART;
        if is_empty || client.got_per_s >= GOT_MIN_PER_S {
            let text = format!(
                "{} polls: {} basic.get a second, of which {} find nothing. A consumer costs less, and gets messages at once.",
                client.name,
                rate(all),
                rate(client.got_empty_per_s)
            );
            found.push(Finding::warning("polling", text).of_client(client));
        }
    }
}

/// Publishers that the broker slows down.
pub(super) fn slowed(facts: &Facts, found: &mut Vec<Finding>) {
    let count = |state: &str| facts.clients.iter().filter(|client| client.state == state).count() as u64;
    let slowed_count = count("flow");
    if slowed_count > 0 && count("blocked") == 0 {
        let (connections, are) = plural(slowed_count, "connection", "is", "are");
        let text =
            format!("{connections} {are} slowed down: they publish faster than consumers or the disk can process.");
        found.push(Finding::remark("flow", text));
    }
}
