//! Vhosts and exchanges: that they are there, what is bound to them, what waits at them.

use std::collections::HashMap;

use broker::Broker;
use broker::statistics::VhostMessages;
use broker::view::{DelaysView, ExchangeView};
use model::name::VhostName;
use telemetry::exposition::{Labels, Value};

use super::metric::{Table, counter, gauge, nothing, some};
use super::sums::Sums;

/// Vhosts, all of which run.
pub(super) static VHOSTS: Table<VhostName> = Table {
    metrics: &[gauge("vhost_status", "1 for a running vhost", |_| some(1_u64), nothing)],
    labels: |vhost, labels| labels.put("vhost", vhost.as_str()),
};

/// An exchange, and how many bindings begin there.
pub(super) struct Exchange {
    vhost: VhostName,
    name: String,
    kind: &'static str,
    binding_count: u64,
}

/// Exchanges that RabbitMQ reports: neither the default one, which is bound to everything, nor internal ones.
pub(super) fn exchanges(broker: &Broker, counts_bindings: bool) -> Vec<Exchange> {
    let mut found = Vec::new();
    for vhost in broker.vhost_names() {
        let counts = if counts_bindings { broker.binding_counts(vhost.as_str()) } else { HashMap::new() };
        let shown = broker.exchange_views(vhost.as_str()).into_iter().map(|exchange| exchange.definition);
        found.extend(shown.filter(|exchange| !exchange.is_internal && !exchange.name.as_str().is_empty()).map(
            |exchange| {
                let binding_count = counts.get(exchange.name.as_bytes()).copied().unwrap_or(0);
                Exchange {
                    vhost: vhost.clone(),
                    name: exchange.name.as_str().to_owned(),
                    kind: exchange.exchange_type.name(),
                    binding_count,
                }
            },
        ));
    }
    found
}

const fn of_exchanges(metrics: &'static [super::metric::Metric<Exchange>]) -> Table<Exchange> {
    Table {
        metrics,
        labels: |exchange, labels| {
            labels.put("vhost", exchange.vhost.as_str());
            labels.put("exchange", &exchange.name);
            labels.put("type", exchange.kind);
        },
    }
}

pub(super) static BINDINGS: Table<Exchange> = of_exchanges(&[gauge(
    "exchange_bindings",
    "Bindings of an exchange as their source",
    |exchange| some(exchange.binding_count),
    nothing,
)]);

pub(super) static NAMES: Table<Exchange> =
    of_exchanges(&[gauge("exchange_name", "Always 1, for each exchange", |_| some(1_u64), nothing)]);

/// What has happened at an exchange.
pub(super) struct Passed {
    vhost: VhostName,
    name: String,
    published_in: u64,
    published_out: u64,
}

/// Exchanges of a vhost to which anything was published.
pub(super) fn passed(broker: &Broker, vhost: &VhostName) -> Vec<Passed> {
    let passed = |exchange: ExchangeView| {
        let name = exchange.definition.name.as_str().to_owned();
        let [published_in, published_out] = broker.exchange_numbers(vhost.as_str(), &name)?.now;
        Some(Passed { vhost: vhost.clone(), name, published_in, published_out })
    };
    broker.exchange_views(vhost.as_str()).into_iter().filter_map(passed).collect()
}

fn put_exchange(passed: &Passed, labels: &mut Labels<'_>) {
    labels.put("vhost", passed.vhost.as_str());
    labels.put("exchange", &passed.name);
}

/// Exchanges. Confirms, and messages that no queue took, are counted for all of them together.
pub(super) static PASSED: Table<Passed, Sums> = Table {
    metrics: &[
        counter(
            "exchange_messages_published_total",
            "Messages that were published to an exchange",
            |passed| some(passed.published_in),
            |sums| some(sums.published_count()),
        ),
        counter("exchange_messages_confirmed_total", "Messages that were published and confirmed", nothing, |sums| {
            some(sums.messages.confirmed)
        }),
        counter(
            "exchange_messages_unroutable_returned_total",
            "Mandatory messages that were returned because they were routed to no queue",
            nothing,
            |sums| some(sums.messages.returned),
        ),
        counter(
            "exchange_messages_unroutable_dropped_total",
            "Messages that were dropped because they were routed to no queue",
            nothing,
            |sums| some(sums.messages.dropped),
        ),
    ],
    labels: put_exchange,
};

/// What only Warren counts of exchanges.
pub(super) static OWN: Table<Passed, Sums> = Table {
    metrics: &[counter(
        "exchange_messages_routed_total",
        "Messages that an exchange routed to queues, counted once per queue",
        |passed| some(passed.published_out),
        |sums| some(sums.messages.routed),
    )],
    labels: put_exchange,
};

/// What waits at exchanges that delay.
pub(super) static DELAYS: Table<DelaysView, DelaysSum> = Table {
    metrics: &[
        gauge(
            "delayed_messages",
            "Delayed messages at an exchange",
            |delays| some(delays.count),
            |sum| some(sum.count),
        ),
        gauge(
            "delayed_messages_bytes",
            "Bytes of the bodies of delayed messages",
            |delays| some(delays.bytes),
            |sum| some(sum.bytes),
        ),
        gauge(
            "delayed_next_due_timestamp_seconds",
            "When the first delayed message is due, in seconds since 1970",
            |delays| delays.next_due_ms.map(timestamp),
            |sum| sum.next_due_ms.map(timestamp),
        ),
        counter(
            "delayed_messages_released_total",
            "Delayed messages that were released to queues",
            |delays| some(delays.released_count),
            |sum| some(sum.released_count),
        ),
    ],
    labels: |delays, labels| {
        labels.put("vhost", delays.vhost.as_str());
        labels.put("exchange", &delays.exchange);
    },
};

fn timestamp(at_ms: u64) -> Value {
    Value::Real(at_ms as f64 / 1e3)
}

/// What waits at all of them, and what any that there has been has passed on.
#[derive(Debug, Default)]
pub(super) struct DelaysSum {
    count: u64,
    bytes: u64,
    next_due_ms: Option<u64>,
    released_count: u64,
}

impl DelaysSum {
    pub(super) fn of(delays: &[DelaysView], released_count: u64) -> DelaysSum {
        DelaysSum {
            count: delays.iter().map(|delays| delays.count).sum(),
            bytes: delays.iter().map(|delays| delays.bytes).sum(),
            next_due_ms: delays.iter().filter_map(|delays| delays.next_due_ms).min(),
            released_count,
        }
    }
}

/// What connections of each vhost have carried.
pub(super) static TRAFFIC: Table<(VhostName, VhostMessages)> = Table {
    metrics: &[
        counter(
            "vhost_incoming_bytes_total",
            "Bytes that were received from clients of a vhost",
            |(_, of)| some(of.received_len),
            nothing,
        ),
        counter(
            "vhost_outgoing_bytes_total",
            "Bytes that were sent to clients of a vhost",
            |(_, of)| some(of.sent_len),
            nothing,
        ),
    ],
    labels: |(vhost, _), labels| labels.put("vhost", vhost.as_str()),
};
