//! The invariants of [`Exchanges`], as code. Walks over everything: for tests.

use super::Exchanges;
use crate::target::Node;

impl Exchanges {
    /// Asserts that all lists of bindings agree. It takes time in proportion to all that there is.
    #[doc(hidden)]
    pub fn check(&self) {
        let mut incoming_count = 0;
        for (handle, queue) in self.queues.iter() {
            assert_eq!(self.find_queue(&queue.name), Some(handle), "{queue:?} is not found by its name");
            assert_eq!(self.queues_by_id.get(&queue.id), Some(&handle), "{queue:?} is not found by its id");
            incoming_count += queue.incoming.len();
        }
        let mut outgoing_count = 0;
        for (handle, entry) in self.exchanges.iter() {
            assert_eq!(self.find_exchange(&entry.exchange.name), Some(handle), "{entry:?} is not found by its name");
            incoming_count += entry.incoming.len();
            outgoing_count += entry.outgoing.len();
        }
        for (handle, binding) in self.bindings.iter() {
            let outgoing = &self.exchanges[binding.source].outgoing;
            assert_eq!(outgoing.get(binding.outgoing_position as usize), Some(&handle), "{binding:?} left its source");
            let incoming = match binding.destination {
                Node::Queue(queue, _) => &self.queues[queue].incoming,
                Node::Exchange(exchange) => &self.exchanges[exchange].incoming,
            };
            assert_eq!(incoming.get(binding.incoming_position as usize), Some(&handle), "{binding:?} left its end");
        }
        let counts = [self.queues_by_name.len(), self.queues_by_id.len(), self.exchanges_by_name.len()];
        assert_eq!(counts, [self.queues.len(), self.queues.len(), self.exchanges.len()], "names and entries");
        let counts = [incoming_count, outgoing_count, self.bindings_by_identity.len()];
        assert_eq!(counts, [self.bindings.len(); 3], "incoming, outgoing and identities");
    }
}
