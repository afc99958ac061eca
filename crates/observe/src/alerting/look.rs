//! One look at the broker: its numbers become facts.

use alerts::{Engine, Needs, NodeFacts, Notice, QueueFacts};
use broker::ConnectionState;

use super::Alerting;

impl Alerting {
    /// Looks at all that rules are about, and reports what has changed. The time is in milliseconds since 1970.
    pub fn look(&self, now_ms: u64) {
        self.reload(now_ms);
        let notices = {
            let mut work = self.work.lock();
            let notices = self.pass(&mut work.engine, now_ms);
            self.show(&work.engine);
            notices
        };
        self.ages.end_of_look();
        self.tell(&notices, now_ms);
    }

    fn pass(&self, engine: &mut Engine, now_ms: u64) -> Vec<Notice> {
        let needs = engine.needs();
        let facts = self.node_facts(needs);
        let mut pass = engine.start(now_ms, &facts);
        if needs.queues {
            for vhost in self.broker.vhost_views() {
                let vhost = vhost.facts.name.as_str();
                if !pass.vhost(vhost) {
                    continue;
                }
                for queue in self.broker.unsorted_queue_views(vhost) {
                    let definition = queue.definition();
                    let facts = QueueFacts {
                        id: definition.id.0,
                        name: definition.name.as_str(),
                        ready_count: queue.ready_count(),
                        unacked_count: queue.unacked_count(),
                        consumer_count: queue.consumer_count(),
                    };
                    pass.queue(vhost, &facts, || self.ages.of(&self.broker, &queue));
                }
            }
        }
        pass.end()
    }

    fn node_facts(&self, needs: Needs) -> NodeFacts {
        let alarms = self.broker.alarms();
        let is_in_flow = |state: ConnectionState| state == ConnectionState::Flow;
        let flow_count = match needs.flow {
            true => self.broker.connection_views().iter().filter(|view| is_in_flow(view.state)).count() as u64,
            false => 0,
        };
        let unroutable_count = match needs.unroutable {
            true => {
                let messages = self.broker.all_messages();
                messages.returned + messages.dropped
            }
            false => 0,
        };
        NodeFacts {
            is_memory_low: alarms.is_memory_low,
            is_disk_low: alarms.is_disk_low,
            has_data_loss: self.broker.has_data_loss(),
            cluster_trouble_count: self.cluster.as_ref().map_or(0, |control| control.view().troubles().len() as u64),
            connection_count: self.broker.connection_count() as u64,
            flow_count,
            connection_max: self.connection_max,
            lockout_count: self.broker.lockout_count(),
            unroutable_count,
        }
    }
}
