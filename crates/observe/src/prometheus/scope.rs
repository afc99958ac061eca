//! What one answer is about, and the objects that its families look up for it.

use std::sync::Arc;

use broker::view::{ChannelView, ConnectionView, DelaysView, QueueView, QueueWalk};
use http_server::PIECE_OBJECT_COUNT;
use model::name::VhostName;
use parking_lot::Mutex;

use super::filter::Filter;
use super::metric::FoundObjects;
use super::node::Node;
use super::subject::Subject;
use super::topology::{Passed, passed};

/// What an answer is about.
pub(super) struct Scope {
    pub(super) subject: Subject,
    pub(super) filter: Filter,
    /// The node; one.
    pub(super) node: Vec<Node>,
    queues: Mutex<Queues>,
}

/// Queues that are asked for: looked up once for all parts that report them, a few at a time.
enum Queues {
    Ahead(QueueWalk, Vec<QueueView>),
    FoundObjects(Arc<Vec<QueueView>>),
}

impl Scope {
    /// What all of an answer share: the node as of now, and queues as far as they are asked for.
    pub(super) fn new(subject: Subject, filter: Filter) -> Arc<Scope> {
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

fn node_of(subject: &Subject) -> Node {
    Node::new(&subject.node, subject.broker.node_view(&subject.node.data_dir))
}
