//! One answer: what it is made of, and making it while it is sent.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use model::parameter::GlobalParameter;

use super::connections::TOTALS;
use super::families::{FAMILIES, Family, NodeTotals, OF_QUEUES, Owner, PARTS, list_queues};
use super::filter::Filter;
use super::identity::{self, ClusterIdentity, Endpoint};
use super::meter::Meters;
use super::metric::{write_each, write_sums};
use super::node;
use super::queues::INFO;
use super::scope::Scope;
use super::subject::Subject;
use super::sums::Sums;
use super::{alerts, cluster, federation, global, latency, own, shovels};
use http_server::{PIECE_LEN, Pieces};

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
    /// The answer of `/metrics`, where `shown` is what it reports: everything, or the node.
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

/// Whether what a family reports is reported by another one that is there.
fn is_part(family: &Family, is_there: impl Fn(&str) -> bool) -> bool {
    PARTS.iter().any(|(part, whole)| *part == family.name && is_there(whole))
}

fn write_identity(out: &mut Vec<u8>, subject: &Subject, shown: Endpoint) {
    let broker = &subject.broker;
    let id = broker.global_parameter(GlobalParameter::CLUSTER_ID);
    let id = id.as_ref().and_then(serde_json::Value::as_str).unwrap_or_default().to_owned();
    identity::write(out, &subject.node, &ClusterIdentity { name: broker.cluster_name(), id }, shown);
}

/// What is reported of the node as a whole; with sums over its objects, where these are not reported one by one.
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
            // One that has more is as long as a piece, or still looks for what it reports.
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
