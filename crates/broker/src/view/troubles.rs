//! What keeps messages from getting on, as far as it can be asked often.

use std::sync::Arc;

pub use engine::statistics::DeadLetterLoop;

use crate::broker::Broker;
use crate::connections::{ConnectionHandle, ConnectionState};

impl Broker {
    /// Queues to which dead letters come back, where they died before, the fastest first. As of the last look at what has changed.
    #[must_use]
    pub fn dead_letter_loops(&self) -> Vec<DeadLetterLoop> {
        self.engine.statistics.dead_letter_loops()
    }

    /// Connections that published during an alarm, and are stopped. Looks at each connection, while an alarm is on.
    #[must_use]
    pub fn blocked_connection_count(&self) -> usize {
        if !self.alarms.is_on() {
            return 0;
        }
        let is_blocked = |connection: &Arc<ConnectionHandle>| connection.state() == ConnectionState::Blocked;
        self.connections.all().iter().filter(|connection| is_blocked(connection)).count()
    }
}
