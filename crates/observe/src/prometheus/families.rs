//! The families of metrics, by RabbitMQ's names, in its order: which objects each is about, and what writes them.

use std::sync::Arc;

use broker::Interface;
use broker::view::{AuthAttemptsView, QueueView};
use telemetry::exposition::{Kind, Name, Value, write_head, write_sample};

use super::connections::{ANSWERS, CHANNELS, CONNECTIONS, CONSUMED, GETS, PUBLISHES, TRAFFIC, consumed, publishes};
use super::global::PROTOCOL;
use super::metric::{Histograms, Listing, Table, counter, nothing, write_each, write_sums};
use super::node;
use super::scope::Scope;
use super::sums::Sums;
use super::{latency, queues, topology};
use http_server::Pieces;

/// What comes before the names of a family's metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    /// RabbitMQ's.
    Node,
    /// RabbitMQ's, of the cluster: only where they are asked for.
    Cluster,
    /// Warren's.
    Warren,
}

impl Owner {
    pub(super) fn prefix(self, is_detailed: bool) -> &'static str {
        match (self, is_detailed) {
            (Owner::Node, false) => "rabbitmq_",
            (Owner::Node, true) => "rabbitmq_detailed_",
            (Owner::Cluster, _) => "rabbitmq_cluster_",
            (Owner::Warren, false) => "warren_",
            (Owner::Warren, true) => "warren_detailed_",
        }
    }
}

/// Numbers of the whole node.
pub(super) struct NodeTotals<'a> {
    pub(super) scope: &'a Arc<Scope>,
    pub(super) sums: Sums,
}

/// A family.
pub(super) struct Family {
    /// What `family=` calls it.
    pub(super) name: &'static str,
    pub(super) owner: Owner,
    /// Whether it is returned only on request.
    pub(super) is_on_request: bool,
    /// Reports every object.
    pub(super) each: fn(&Arc<Scope>, &'static str) -> Box<dyn Pieces>,
    /// Writes sums over all of them.
    pub(super) sum: fn(&mut Vec<u8>, &'static str, &NodeTotals<'_>),
}

/// Metrics of the node: the same whether of every object or of all together.
macro_rules! of_node {
    ($name:literal, $table:expr) => {
        Family {
            name: $name,
            owner: Owner::Node,
            is_on_request: false,
            each: |scope, prefix| list(&$table, prefix, scope, |scope| vec![scope.node_now()]),
            sum: |out, prefix, whole| write_each(out, &$table, prefix, &whole.scope.node),
        }
    };
}

/// Metrics of objects, which are looked up by a function of a scope; and their sums.
macro_rules! of_objects {
    ($name:literal, $owner:expr, $table:expr, $find:expr) => {
        Family {
            name: $name,
            owner: $owner,
            is_on_request: false,
            each: |scope, prefix| list(&$table, prefix, scope, $find),
            sum: |out, prefix, whole| write_sums(out, &$table, prefix, &whole.sums),
        }
    };
}

/// Metrics of queues; and their sums.
macro_rules! of_queues {
    ($name:literal, $owner:expr, $table:expr) => {
        Family {
            name: $name,
            owner: $owner,
            is_on_request: false,
            each: |scope, prefix| list_queues(&$table, prefix, scope),
            sum: |out, prefix, whole| write_sums(out, &$table, prefix, &whole.sums),
        }
    };
}

/// Metrics of objects that are not added up.
macro_rules! on_request {
    ($name:literal, $owner:expr, $table:expr, $find:expr) => {
        Family {
            name: $name,
            owner: $owner,
            is_on_request: true,
            each: |scope, prefix| list(&$table, prefix, scope, $find),
            sum: |_, _, _| (),
        }
    };
}

/// A histogram of queues. One has as many series as buckets, so that it is returned only on request.
macro_rules! histogram {
    ($family:literal, $name:literal, $help:literal, $buckets:expr) => {
        Family {
            name: $family,
            owner: Owner::Warren,
            is_on_request: true,
            each: |scope, prefix| {
                let scope = scope.clone();
                later(move || {
                    Some(Histograms {
                        name: Name { prefix, name: $name, suffix: "" },
                        help: $help,
                        labels: queues::put_queue,
                        buckets: $buckets,
                        objects: scope.queues()?,
                        done_count: None,
                    })
                })
            },
            sum: |_, _, _| (),
        }
    };
}

/// A histogram of stages, returned only on request.
macro_rules! stages {
    ($name:literal, $help:literal, $find:expr) => {
        Family {
            name: "warren_latency_metrics",
            owner: Owner::Warren,
            is_on_request: true,
            each: |scope, prefix| {
                let scope = scope.clone();
                later(move || {
                    Some(Histograms {
                        name: Name { prefix, name: $name, suffix: "" },
                        help: $help,
                        labels: latency::StageOf::labels,
                        buckets: latency::StageOf::buckets,
                        objects: Arc::new($find(&scope)),
                        done_count: None,
                    })
                })
            },
            sum: |_, _, _| (),
        }
    };
}

/// All of them, in the order in which they are written.
pub(super) static FAMILIES: &[Family] = &[
    of_node!("connection_churn_metrics", node::CHURN),
    of_node!("node_coarse_metrics", node::USED),
    of_node!("node_metrics", node::LIMITS),
    Family {
        name: "auth_attempt_metrics",
        owner: Owner::Node,
        is_on_request: false,
        each: |scope, prefix| list(&LOGINS, prefix, scope, logins),
        sum: |out, prefix, whole| write_each(out, &LOGINS, prefix, &logins(whole.scope)),
    },
    of_queues!("queue_coarse_metrics", Owner::Node, queues::COARSE),
    of_queues!("queue_consumer_count", Owner::Node, queues::CONSUMER_COUNT),
    of_queues!("queue_metrics", Owner::Node, queues::METRICS),
    of_objects!("channel_metrics", Owner::Node, CHANNELS, Scope::channels),
    of_objects!("channel_exchange_metrics", Owner::Node, PUBLISHES, |scope| publishes(&scope.subject.broker)),
    of_objects!("channel_exchange_metrics", Owner::Node, ANSWERS, Scope::channels),
    of_objects!("channel_queue_metrics", Owner::Node, GETS, Scope::channels),
    of_objects!("channel_queue_metrics", Owner::Node, CONSUMED, |scope| consumed(&scope.subject.broker)),
    of_objects!("connection_coarse_metrics", Owner::Node, TRAFFIC, Scope::connections),
    of_objects!("connection_metrics", Owner::Node, CONNECTIONS, Scope::connections),
    of_objects!("exchange_metrics", Owner::Node, topology::PASSED, Scope::passed),
    of_queues!("queue_delivery_metrics", Owner::Node, queues::DELIVERIES),
    Family {
        name: "queue_exchange_metrics",
        owner: Owner::Node,
        is_on_request: false,
        each: |scope, prefix| {
            let scope = scope.clone();
            later(move || Some(queues::Incoming { prefix, queues: scope.queues()?, done_count: None }))
        },
        sum: |out, prefix, whole| {
            // Each of these came through an exchange, be it the default exchange.
            let (name, help) = queues::INCOMING;
            for (name, help) in [("queue_messages_published_total", ROUTED), (name, help)] {
                let name = Name { prefix, name, suffix: "" };
                write_head(out, name, Kind::Counter, help);
                write_sample(out, name, |_| (), whole.sums.messages.routed.into());
            }
        },
    },
    on_request!("vhost_status", Owner::Cluster, topology::VHOSTS, |scope| scope.subject.broker.vhost_names()),
    on_request!("exchange_bindings", Owner::Cluster, topology::BINDINGS, |scope| {
        topology::exchanges(&scope.subject.broker, true)
    }),
    on_request!("exchange_names", Owner::Cluster, topology::NAMES, |scope| {
        topology::exchanges(&scope.subject.broker, false)
    }),
    of_queues!("warren_queue_metrics", Owner::Warren, queues::OWN),
    histogram!(
        "warren_queue_wait_metrics",
        "queue_wait_seconds",
        "Time that messages waited in a queue until they were sent to a consumer",
        queues::waits
    ),
    histogram!(
        "warren_queue_size_metrics",
        "queue_message_size_bytes",
        "Messages that entered a queue, by the length of their bodies",
        queues::sizes
    ),
    stages!(
        "vhost_latency_stage_seconds",
        "Time that messages of a vhost spent in each stage; from a sample",
        latency::of_vhosts
    ),
    stages!(
        "queue_latency_stage_seconds",
        "Time that messages of a watched queue spent in each stage; from a sample",
        latency::of_queues
    ),
    of_objects!("warren_exchange_metrics", Owner::Warren, topology::OWN, Scope::passed),
    Family {
        name: "warren_vhost_metrics",
        owner: Owner::Warren,
        is_on_request: false,
        each: |scope, prefix| {
            list(&topology::TRAFFIC, prefix, scope, |scope| {
                let broker = &scope.subject.broker;
                let wanted = broker.vhost_names().into_iter().filter(|vhost| scope.filter.wants_vhost(vhost.as_str()));
                wanted.filter_map(|vhost| Some((vhost.clone(), broker.messages_in(vhost.as_str())?))).collect()
            })
        },
        sum: |_, _, _| (),
    },
    Family {
        name: "warren_delayed_metrics",
        owner: Owner::Warren,
        is_on_request: false,
        each: |scope, prefix| list(&topology::DELAYS, prefix, scope, Scope::delays),
        sum: |out, prefix, whole| {
            let released_count = whole.scope.subject.broker.released_count();
            let sum = topology::DelaysSum::of(&whole.scope.delays(), released_count);
            write_sums(out, &topology::DELAYS, prefix, &sum);
        },
    },
];

const ROUTED: &str = "Messages that were routed to queues, counted once per queue";

/// Families that the rest of a family is a part of: an answer with the whole does not repeat the part.
pub(super) const PARTS: [(&str, &str); 1] = [("queue_consumer_count", "queue_metrics")];
/// Families that report of what type queues are.
pub(super) const OF_QUEUES: [&str; 3] = ["queue_coarse_metrics", "queue_consumer_count", "queue_metrics"];

/// A part of an answer that is made of a table.
pub(super) fn list<V: Send + Sync + 'static, S: 'static>(
    table: &'static Table<V, S>,
    prefix: &'static str,
    scope: &Arc<Scope>,
    find: fn(&Scope) -> Vec<V>,
) -> Box<dyn Pieces> {
    let scope = scope.clone();
    Box::new(Listing::new(table, prefix, move || Some(Arc::new(find(&scope)))))
}

/// The same of queues.
pub(super) fn list_queues<S: 'static>(
    table: &'static Table<QueueView, S>,
    prefix: &'static str,
    scope: &Arc<Scope>,
) -> Box<dyn Pieces> {
    let scope = scope.clone();
    Box::new(Listing::new(table, prefix, move || scope.queues()))
}

/// A part that is put together when its turn comes, and when what it needs has been found: until then `make` makes nothing.
fn later<P: Pieces + 'static>(make: impl FnMut() -> Option<P> + Send + 'static) -> Box<dyn Pieces> {
    struct FamilyWriter<F, P> {
        make: F,
        made: Option<P>,
    }

    impl<P: Pieces, F: FnMut() -> Option<P> + Send> Pieces for FamilyWriter<F, P> {
        fn write_next(&mut self, out: &mut Vec<u8>) -> bool {
            if self.made.is_none() {
                self.made = (self.make)();
            }
            self.made.as_mut().is_none_or(|pieces| pieces.write_next(out))
        }
    }

    Box::new(FamilyWriter { make, made: None })
}

/// Logins by one protocol.
struct Logins {
    protocol: &'static str,
    attempts: AuthAttemptsView,
}

fn logins(scope: &Scope) -> Vec<Logins> {
    [(PROTOCOL, Interface::Amqp), ("http", Interface::Http)]
        .map(|(protocol, interface)| Logins { protocol, attempts: scope.subject.broker.auth_attempts(interface) })
        .into()
}

static LOGINS: Table<Logins> = Table {
    metrics: &[
        counter(
            "auth_attempts_total",
            "Login attempts",
            |logins| Some(Value::from(logins.attempts.succeeded + logins.attempts.failed)),
            nothing,
        ),
        counter(
            "auth_attempts_succeeded_total",
            "Successful login attempts",
            |logins| Some(Value::from(logins.attempts.succeeded)),
            nothing,
        ),
        counter(
            "auth_attempts_failed_total",
            "Failed login attempts",
            |logins| Some(Value::from(logins.attempts.failed)),
            nothing,
        ),
    ],
    labels: |logins, labels| labels.put("protocol", logins.protocol),
};
