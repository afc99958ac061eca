//! One round: all that statistics are taken of, a batch at a time. Queues are walked through, so that neither a lock nor memory is
//! taken by their number.

use std::path::PathBuf;
use std::vec;

use broker::Broker;
use broker::view::{ExchangeView, NodeView, QueueWalk, VhostView};
use influx::{Tags, Timestamp};
use model::config::InfluxdbObjects;

use super::limits::{BATCH_LEN_MAX, BATCH_LINE_COUNT_MAX};
use super::lines::Lines;
use super::outbox::Batch;

/// What rounds are about.
#[derive(Debug)]
pub(crate) struct Subject {
    pub(crate) objects: InfluxdbObjects,
    /// Tags of every line.
    pub(crate) tags: Tags,
    /// Where the broker keeps its data.
    pub(crate) data_dir: PathBuf,
    /// How many files the process may have open.
    pub(crate) file_max: Option<u64>,
}

/// A round that is being made.
#[derive(Debug)]
pub(crate) struct Round<'a> {
    lines: Lines<'a>,
    subject: &'a Subject,
    node: Option<NodeView>,
    vhosts: vec::IntoIter<VhostView>,
    queues: QueueWalk,
    /// Vhosts whose exchanges are still to come.
    of_exchanges: vec::IntoIter<VhostView>,
    exchanges: vec::IntoIter<ExchangeView>,
    is_over: bool,
}

/// What a step of a round has come to.
enum Step {
    /// There is a line more.
    Line,
    /// There is something that is not written.
    Nothing,
    /// That was all.
    Ended,
}

impl<'a> Round<'a> {
    /// A round that begins now.
    pub(crate) fn new(broker: &'a Broker, subject: &'a Subject, at: Timestamp) -> Self {
        let wanted = &subject.objects;
        let mut vhosts = broker.vhost_views();
        vhosts.retain(|vhost| wanted.vhost.is_match(vhost.facts.name.as_str()));
        let all_if = |is_wanted: bool| if is_wanted { vhosts.clone() } else { Vec::new() };
        let of_queues = all_if(wanted.queues);
        Round {
            lines: Lines { broker, tags: &subject.tags, at },
            subject,
            node: wanted.node.then(|| broker.node_view(&subject.data_dir)),
            vhosts: all_if(wanted.vhosts).into_iter(),
            queues: broker.walk_queues(of_queues.iter().map(|vhost| vhost.facts.name.as_str())),
            of_exchanges: all_if(wanted.exchanges).into_iter(),
            exchanges: Vec::new().into_iter(),
            is_over: false,
        }
    }

    /// The next lines; the last ones may be none.
    pub(crate) fn next_batch(&mut self) -> Option<Batch> {
        if self.is_over {
            return None;
        }
        let mut batch = Batch::default();
        while !batch.ends_round && batch.line_count < BATCH_LINE_COUNT_MAX && batch.text.len() < BATCH_LEN_MAX {
            match self.step(&mut batch.text) {
                Step::Line => batch.line_count += 1,
                Step::Nothing => {}
                Step::Ended => batch.ends_round = true,
            }
        }
        self.is_over = batch.ends_round;
        Some(batch)
    }

    /// Looks at one object.
    fn step(&mut self, out: &mut String) -> Step {
        let Round { lines, subject, .. } = self;
        let wanted = &subject.objects;
        let is_line = if let Some(node) = self.node.take() {
            lines.node(out, &node, subject.file_max)
        } else if let Some(vhost) = self.vhosts.next() {
            lines.vhost(out, &vhost)
        } else if let Some(queue) = self.queues.next() {
            wanted.queue.is_match(queue.definition().name.as_str()) && lines.queue(out, &queue)
        } else if let Some(exchange) = self.exchanges.next() {
            wanted.exchange.is_match(exchange.definition.name.as_str()) && lines.exchange(out, &exchange)
        } else if let Some(vhost) = self.of_exchanges.next() {
            self.exchanges = lines.broker.exchange_views(vhost.facts.name.as_str()).into_iter();
            false
        } else {
            return Step::Ended;
        };
        if is_line { Step::Line } else { Step::Nothing }
    }
}
