//! How much memory a queue takes, beside the contents of its messages.
//!
//! It is added up when an operator asks, from what its parts have room for.

use crate::message::Message;
use crate::queue::Queue;

impl<M: Message, G> Queue<M, G> {
    /// Bytes that it takes beside itself and beside the contents of its messages.
    pub fn memory_len(&self) -> usize {
        let boxed = [
            self.rules.as_ref().map_or(0, |_| size_of::<crate::rules::Rules>()),
            self.set_aside.as_ref().map_or(0, |set_aside| set_aside.memory_len()),
            self.consumers.as_ref().map_or(0, |consumers| consumers.memory_len()),
            self.held_deliveries.as_ref().map_or(0, |held_deliveries| held_deliveries.memory_len()),
        ];
        self.ready.memory_len() + self.unacked.memory_len() + boxed.iter().sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use model::ids::QueueSeq;

    use crate::queue::Settings;
    use crate::{Gate, Queue};

    struct Open;

    impl Gate for Open {
        fn try_acquire(&self, _: u32) -> bool {
            true
        }
    }

    #[derive(Debug, Clone)]
    struct Sized16(#[expect(dead_code, reason = "it has a length")] u64);

    impl crate::Message for Sized16 {
        fn len(&self) -> u32 {
            16
        }

        fn is_journaled(&self) -> bool {
            false
        }

        fn place(&self) -> Option<model::ids::Place> {
            None
        }

        fn release_body(&mut self) {}

        fn without_body(&self) -> Self {
            self.clone()
        }

        fn has_body(&self) -> bool {
            true
        }

        fn set_place(&mut self, _: model::ids::Place) {}
    }

    #[test]
    fn a_message_counts_for_its_entry() {
        let mut queue: Queue<Sized16, Open> = Queue::new(Settings::default());
        assert_eq!(queue.memory_len(), 0, "an empty queue takes nothing beside itself");
        let last = (0..10_000).map(|number| queue.publish(Sized16(number))).last();
        assert_eq!(last, Some(QueueSeq(10_000)));
        let len = queue.memory_len();
        assert!((160_000..320_000).contains(&len), "{len}");
        queue.purge(&mut crate::PurgedMessages::default());
        assert!(queue.memory_len() < 20_000);
    }
}
