//! One look at the broker: its numbers become facts.

use alerts::{Needs, NodeFacts, QueueFacts};
use broker::ConnectionState;

use super::Alerting;

impl Alerting {
    /// Looks at all that rules are about, and tells what has changed. The time is in milliseconds since 1970.
    pub(crate) fn look(&self, now_ms: u64) {
        self.reload(now_ms);
        let mut state = self.state.lock();
        let needs = state.engine.needs();
        let facts = self.node_facts(needs);
        let mut pass = state.engine.start(now_ms, &facts);
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
        let notices = pass.end();
        self.ages.end_of_look();
        self.count_firing(&state);
        self.tell(state, notices, now_ms);
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
            connection_count: self.broker.connection_count() as u64,
            flow_count,
            connection_max: self.connection_max,
            lockout_count: self.broker.lockout_count(),
            unroutable_count,
        }
    }
}
