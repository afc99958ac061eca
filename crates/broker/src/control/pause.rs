//! Queues that operators pause and resume.

use super::{ControlError, not_found};
use crate::broker::Broker;
use crate::changed::Changed;
use crate::events::Event;
use crate::identity::Actor;

impl Broker {
    /// Pauses a queue: its consumers get nothing until it is resumed. Or resumes it.
    pub fn pause_queue(
        &self,
        actor: &Actor,
        vhost: &str,
        name: &str,
        is_paused: bool,
    ) -> Result<Changed, ControlError> {
        let missing = || not_found(format!("no queue '{name}' in vhost '{vhost}'"));
        let Some(queue) = self.vhosts.get(vhost).and_then(|vhost| vhost.queue(name.as_bytes())) else {
            return missing();
        };
        match self.engine.pause(&queue, is_paused) {
            None => missing(),
            // The request that has done it may wait still.
            Some((false, _)) => Ok(Changed { is_new: false, position: self.journal_end() }),
            Some((true, position)) => {
                self.emit_by(actor, Event::of_queue(if is_paused { "queue.paused" } else { "queue.resumed" }, &queue));
                Ok(Changed { is_new: false, position })
            }
        }
    }
}
