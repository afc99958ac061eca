//! One answer: what it is made of, and making it while it is sent.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use broker::view::{ChannelView, ConnectionView, DelaysView, QueueView, QueueWalk};
use model::name::VhostName;
use model::parameter::GlobalParameter;
use parking_lot::Mutex;

use super::Subject;
use super::connections::TOTALS;
use super::families::{FAMILIES, Family, NodeTotals, OF_QUEUES, Owner, PARTS, list_queues};
use super::filter::Filter;
use super::identity::{self, ClusterIdentity, Endpoint};
use super::metric::{FoundObjects, write_each, write_sums};
use super::node::{self, Node};
use super::queues::INFO;
use super::sums::Sums;
use super::topology::{Passed, passed};
use super::{Meters, alerts, cluster, federation, global, latency, own, shovels};
use http_server::Pieces;
use http_server::{PIECE_LEN, PIECE_OBJECT_COUNT};

/// What an answer is about.
pub(super) struct Scope {
    pub(super) subject: Subject,
    pub(super) filter: Filter,
    /// The node; one.
    pub(super) node: Vec<Node>,
    queues: Mutex<Queues>,
}

/// Queues that are asked for: looked up once for all who tell of them, a few at a time.
enum Queues {
    Ahead(QueueWalk, Vec<QueueView>),
    FoundObjects(Arc<Vec<QueueView>>),
}

impl Scope {
    fn new(subject: Subject, filter: Filter) -> Arc<Scope> {
        let node = vec![node_of(&subject)];
        let vhosts = subject.broker.vhost_names();
        let wanted = vhosts.iter().map(VhostName::as_str).filter(|vhost| filter.wants_vhost(vhost));
        let queues = Mutex::new(Queues::Ahead(subject.broker.walk_queues(wanted), Vec::new()));
        Arc::new(Scope { subject, filter, node, queues })
    }

    /// The node, as of now.
    pub(super) fn node_now(&self) -> Node {
        node_of(&self.subject)
    }

    /// Queues that are asked for, by vhost and name.
    pub(super) fn queues(&self) -> FoundObjects<QueueView> {
        let mut queues = self.queues.lock();
        if let Queues::Ahead(walk, found) = &mut *queues {
            for _ in 0..PIECE_OBJECT_COUNT {
                let Some(queue) = walk.next() else {
                    *queues = Queues::FoundObjects(Arc::new(std::mem::take(found)));
                    break;
                };
                if self.filter.wants_queue(queue.definition().name.as_str()) {
                    found.push(queue);
                }
            }
        }
        match &*queues {
            Queues::Ahead(..) => None,
            Queues::FoundObjects(found) => Some(found.clone()),
        }
    }

    /// Connections that have been let in; of the others nothing is known yet.
    pub(super) fn connections(&self) -> Vec<ConnectionView> {
        let connections = self.subject.broker.connection_views();
        connections.into_iter().filter(|connection| connection.opened().is_some()).collect()
    }

    /// Open channels.
    pub(super) fn channels(&self) -> Vec<ChannelView> {
        self.subject.broker.channel_views()
    }

    /// Exchanges of the vhosts that are asked for, to which anything was published.
    pub(super) fn passed(&self) -> Vec<Passed> {
        let vhosts = self.subject.broker.vhost_names();
        let wanted = vhosts.iter().filter(|vhost| self.filter.wants_vhost(vhost.as_str()));
        wanted.flat_map(|vhost| passed(&self.subject.broker, vhost)).collect()
    }

    /// What waits at exchanges of the vhosts that are asked for.
    pub(super) fn delays(&self) -> Vec<DelaysView> {
        let vhosts = self.subject.broker.vhost_names();
        let wanted = vhosts.iter().filter(|vhost| self.filter.wants_vhost(vhost.as_str()));
        wanted.flat_map(|vhost| self.subject.broker.delays_views(vhost.as_str())).collect()
    }
}

/// An answer that is being made.
pub struct Scrape {
    parts: VecDeque<Box<dyn Pieces>>,
    meters: Arc<Meters>,
    /// Which of them counts it.
    counted: Endpoint,
    took: Duration,
    len: u64,
}

impl Scrape {
    /// The answer of `/metrics`, where `shown` is what it tells of: everything, or the node.
    pub fn of_node(subject: Subject, meters: &Arc<Meters>, counted: Endpoint, shown: Endpoint) -> Scrape {
        let scope = Scope::new(subject, Filter::default());
        let mut parts: VecDeque<Box<dyn Pieces>> = VecDeque::new();
        parts.push_back(text({
            let meters = meters.clone();
            move |out| meters.of(counted).write(out, counted)
        }));
        if shown == Endpoint::PerObject {
            for family in FAMILIES.iter().filter(|family| !family.is_on_request && !is_part(family, |_| true)) {
                parts.push_back((family.each)(&scope, family.owner.prefix(false)));
            }
            parts.push_back(list_queues(&INFO, "rabbitmq_", &scope));
        }
        parts.push_back(text(move |out| write_node(out, &scope, shown)));
        Scrape::new(parts, meters, counted)
    }

    /// The answer of `/metrics/detailed`.
    pub fn detailed(subject: Subject, meters: &Arc<Meters>, filter: Filter) -> Scrape {
        let scope = Scope::new(subject, filter);
        let is_asked_for = |family: &str| scope.filter.has(family);
        let mut parts: VecDeque<Box<dyn Pieces>> = VecDeque::new();
        for family in FAMILIES.iter().filter(|family| is_asked_for(family.name) && !is_part(family, is_asked_for)) {
            parts.push_back((family.each)(&scope, family.owner.prefix(true)));
        }
        if OF_QUEUES.into_iter().any(is_asked_for) {
            parts.push_back(list_queues(&INFO, Owner::Node.prefix(true), &scope));
        }
        let counted = Endpoint::Detailed;
        parts.push_back(text({
            let meters = meters.clone();
            move |out| {
                write_identity(out, &scope.subject, counted);
                meters.of(counted).write(out, counted);
            }
        }));
        Scrape::new(parts, meters, counted)
    }

    /// The answer of `/metrics/memory-breakdown`.
    pub fn memory(subject: Subject, meters: &Arc<Meters>) -> Scrape {
        let scope = Scope::new(subject, Filter::default());
        let counted = Endpoint::MemoryBreakdown;
        let part = text({
            let meters = meters.clone();
            move |out| {
                write_each(out, &node::MEMORY, "rabbitmq_", &scope.node);
                write_identity(out, &scope.subject, counted);
                meters.of(counted).write(out, counted);
            }
        });
        Scrape::new(VecDeque::from([part]), meters, counted)
    }

    pub(super) fn new(parts: VecDeque<Box<dyn Pieces>>, meters: &Arc<Meters>, counted: Endpoint) -> Scrape {
        Scrape { parts, meters: meters.clone(), counted, took: Duration::ZERO, len: 0 }
    }
}

/// Whether what a family tells is told by another one that is there.
fn is_part(family: &Family, is_there: impl Fn(&str) -> bool) -> bool {
    PARTS.iter().any(|(part, whole)| *part == family.name && is_there(whole))
}

fn node_of(subject: &Subject) -> Node {
    Node::new(&subject.node, subject.broker.node_view(&subject.node.data_dir))
}

fn write_identity(out: &mut Vec<u8>, subject: &Subject, shown: Endpoint) {
    let broker = &subject.broker;
    let id = broker.global_parameter(GlobalParameter::CLUSTER_ID);
    let id = id.as_ref().and_then(serde_json::Value::as_str).unwrap_or_default().to_owned();
    identity::write(out, &subject.node, &ClusterIdentity { name: broker.cluster_name(), id }, shown);
}

/// What is told of the node as a whole; with sums over its objects, where these are not told one by one.
fn write_node(out: &mut Vec<u8>, scope: &Arc<Scope>, shown: Endpoint) {
    let subject = &scope.subject;
    let whole = NodeTotals { scope, sums: Sums::of(&subject.broker) };
    if shown == Endpoint::Aggregated {
        for family in FAMILIES.iter().filter(|family| !family.is_on_request && !is_part(family, |_| true)) {
            (family.sum)(out, family.owner.prefix(false), &whole);
        }
    }
    write_sums(out, &TOTALS, "rabbitmq_", &whole.sums);
    write_identity(out, subject, shown);
    global::write(out, "rabbitmq_", &whole.sums);
    write_each(out, &node::ALARMS, "rabbitmq_", &scope.node);
    write_each(out, &node::PROCESS, "", &scope.node);
    own::write_node(out, Owner::Warren.prefix(false), subject);
    latency::write(out, Owner::Warren.prefix(false), &subject.broker);
    cluster::write(out, subject.node.cluster.as_deref());
    if let Some(alerting) = &subject.alerting {
        alerts::write(out, Owner::Warren.prefix(false), alerting);
    }
    if let Some(shovels) = &subject.shovels {
        shovels::write(out, Owner::Node.prefix(false), shovels);
    }
    if let Some(links) = &subject.links {
        federation::write(out, Owner::Node.prefix(false), links);
    }
}

/// A part of bounded length, made when its turn comes.
pub(super) fn text(write: impl FnOnce(&mut Vec<u8>) + Send + 'static) -> Box<dyn Pieces> {
    struct Text<F>(Option<F>);

    impl<F: FnOnce(&mut Vec<u8>) + Send> Pieces for Text<F> {
        fn write_next(&mut self, out: &mut Vec<u8>) -> bool {
            if let Some(write) = self.0.take() {
                write(out);
            }
            false
        }
    }

    Box::new(Text(Some(write)))
}

impl Pieces for Scrape {
    fn write_next(&mut self, out: &mut Vec<u8>) -> bool {
        let (began_at, len_before) = (Instant::now(), out.len());
        while let Some(part) = self.parts.front_mut() {
            // One that has more is as long as a piece, or still looks for what it tells.
            let has_more = part.write_next(out);
            if !has_more {
                self.parts.pop_front();
            }
            if has_more || out.len() >= PIECE_LEN {
                break;
            }
        }
        self.took += began_at.elapsed();
        self.len += (out.len() - len_before) as u64;
        if !self.parts.is_empty() {
            return true;
        }
        self.meters.of(self.counted).add(self.took, self.len);
        false
    }
}
