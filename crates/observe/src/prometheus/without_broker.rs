//! What a node reports on which no broker runs: the process's and the machine's metrics, and its part in the cluster. The tables are those
//! of a node with a broker, since a name has one meaning wherever it is scraped.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use broker::machine;
use broker::view::{Alarms, Churn, NodeView};

use super::cluster;
use super::families::Owner;
use super::filter::Filter;
use super::identity::{self, ClusterIdentity, Endpoint};
use super::meter::Meters;
use super::metric::write_each;
use super::node::{self, Node};
use super::scrape::{Scrape, text};
use super::subject::NodeSubject;

/// A node on which no broker runs.
#[derive(Debug, Clone)]
pub struct WithoutBroker {
    /// What there is of it in any case.
    pub node: NodeSubject,
    /// What the cluster is called, as far as the node knows without definitions.
    pub cluster_name: String,
    /// Where the memory alarm begins, in bytes.
    pub memory_limit_len: u64,
    /// Where the disk alarm begins, in bytes.
    pub disk_free_limit_len: u64,
    /// When it started.
    pub started_at: Instant,
}

impl WithoutBroker {
    /// What is short on its machine now. Nothing is stopped by it here, but a broker would.
    #[must_use]
    pub fn alarms(&self) -> Alarms {
        self.view().alarms
    }

    fn view(&self) -> NodeView {
        let memory_used_len = machine::resident_len().unwrap_or(0);
        // A disk whose free space is unknown is not full.
        let free_len = machine::free_len(&self.node.data_dir);
        let uptime = self.started_at.elapsed();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let ms = |time: std::time::Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        NodeView {
            memory_used_len,
            memory_limit_len: self.memory_limit_len,
            disk_free_len: free_len.unwrap_or(0),
            disk_free_limit_len: self.disk_free_limit_len,
            alarms: Alarms {
                is_memory_low: memory_used_len > self.memory_limit_len,
                is_disk_low: free_len.is_some_and(|free_len| free_len < self.disk_free_limit_len),
            },
            has_data_loss: false,
            connection_count: 0,
            started_at_ms: ms(now.saturating_sub(uptime)),
            uptime_ms: ms(uptime),
            churn: Churn::default(),
        }
    }

    fn now(&self) -> [Node; 1] {
        [Node::new(&self.node, self.view())]
    }

    fn write_identity(&self, out: &mut Vec<u8>, shown: Endpoint) {
        let cluster = ClusterIdentity { name: self.cluster_name.clone(), id: String::new() };
        identity::write(out, &self.node, &cluster, shown);
    }

    fn write(&self, out: &mut Vec<u8>, shown: Endpoint) {
        let (prefix, node) = (Owner::Node.prefix(false), self.now());
        write_each(out, &node::USED, prefix, &node);
        write_each(out, &node::LIMITS, prefix, &node);
        self.write_identity(out, shown);
        write_each(out, &node::ALARMS, prefix, &node);
        write_each(out, &node::PROCESS, "", &node);
        cluster::write(out, self.node.cluster.as_deref());
    }

    fn write_detailed(&self, out: &mut Vec<u8>, filter: &Filter) {
        let (prefix, node) = (Owner::Node.prefix(true), self.now());
        for (family, table) in [("node_coarse_metrics", &node::USED), ("node_metrics", &node::LIMITS)] {
            if filter.has(family) {
                write_each(out, table, prefix, &node);
            }
        }
        self.write_identity(out, Endpoint::Detailed);
    }

    fn write_memory(&self, out: &mut Vec<u8>) {
        write_each(out, &node::MEMORY, Owner::Node.prefix(false), &self.now());
        self.write_identity(out, Endpoint::MemoryBreakdown);
    }
}

impl Scrape {
    /// The answer of an endpoint where no broker runs, where `shown` is what it reports.
    pub fn without_broker(
        subject: WithoutBroker,
        meters: &Arc<Meters>,
        counted: Endpoint,
        shown: Endpoint,
        filter: Filter,
    ) -> Scrape {
        let part = text({
            let meters = meters.clone();
            move |out| {
                match shown {
                    Endpoint::Aggregated | Endpoint::PerObject => subject.write(out, shown),
                    Endpoint::Detailed => subject.write_detailed(out, &filter),
                    Endpoint::MemoryBreakdown => subject.write_memory(out),
                }
                meters.of(counted).write(out, counted);
            }
        });
        Scrape::new(VecDeque::from([part]), meters, counted)
    }
}
