//! What has been released and is not settled.

use std::collections::VecDeque;

use model::ids::{QueueId, QueueSeq};

use super::DelayId;
use super::key::Key;

/// Released messages, in the order in which they were due. That is how they come, and how they go: at the ends nothing is searched.
#[derive(Debug)]
pub(super) struct ReleasedMessages<M> {
    entries: VecDeque<(Key, M)>,
}

impl<M> ReleasedMessages<M> {
    pub(super) fn new() -> Self {
        ReleasedMessages { entries: VecDeque::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Adds a message. One with its key is not here.
    #[inline]
    pub(super) fn insert(&mut self, key: Key, message: M) {
        match self.entries.back() {
            Some((last, _)) if *last > key => {
                let at = self.entries.partition_point(|(other, _)| *other < key);
                self.entries.insert(at, (key, message));
            }
            _ => self.entries.push_back((key, message)),
        }
    }

    #[inline]
    pub(super) fn remove(&mut self, id: DelayId) -> Option<M> {
        let key = Key::from(id);
        let (_, message) = match self.entries.front() {
            Some((first, _)) if *first == key => self.entries.pop_front(),
            _ => self.entries.remove(self.find(key)?),
        }?;
        Some(message)
    }

    pub(super) fn contains(&self, id: DelayId) -> bool {
        self.find(id.into()).is_some()
    }

    pub(super) fn get_mut(&mut self, id: DelayId) -> Option<&mut M> {
        let at = self.find(id.into())?;
        self.entries.get_mut(at).map(|(_, message)| message)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (DelayId, &M)> {
        self.entries.iter().map(|(key, message)| (key.id(), message))
    }

    /// The positions of a generation's messages behind one and before another, by rising seq.
    pub(super) fn between(
        &self,
        generation: QueueId,
        first: QueueSeq,
        end: QueueSeq,
    ) -> impl Iterator<Item = QueueSeq> {
        let end = Key::new(generation, end);
        let start = self.entries.partition_point(|(key, _)| *key < Key::new(generation, first));
        let near = self.entries.range(start..).map(|(key, _)| *key).take_while(move |key| *key < end);
        near.filter(move |key| key.generation() == generation).map(|key| key.id().seq)
    }

    fn find(&self, key: Key) -> Option<usize> {
        self.entries.binary_search_by_key(&key, |(key, _)| *key).ok()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::delays::key::seq_of;

    fn id((generation, due, arrival): (u64, u64, u32)) -> DelayId {
        DelayId { generation: QueueId(generation), seq: seq_of(due, arrival) }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn it_is_a_map(steps in prop::collection::vec((any::<bool>(), (1u64..4, 0u64..5, 1u32..4)), 0..80)) {
            let (mut leaving, mut model) = (ReleasedMessages::new(), BTreeMap::new());
            for (number, (is_added, id_parts)) in steps.into_iter().enumerate() {
                let id = id(id_parts);
                if is_added && !model.contains_key(&id) {
                    leaving.insert(id.into(), number);
                    model.insert(id, number);
                } else {
                    prop_assert_eq!(leaving.contains(id), model.contains_key(&id));
                    prop_assert_eq!(leaving.get_mut(id).copied(), model.get(&id).copied());
                    prop_assert_eq!(leaving.remove(id), model.remove(&id));
                }
                let mut all: Vec<_> = leaving.iter().map(|(id, number)| (id, *number)).collect();
                prop_assert!(all.is_sorted_by_key(|(id, _)| Key::from(*id)));
                all.sort_unstable();
                prop_assert_eq!(all, model.iter().map(|(id, number)| (*id, *number)).collect::<Vec<_>>());
                prop_assert_eq!(leaving.len(), model.len());
                for generation in 1..4 {
                    let (first, end) = (seq_of(1, 2), seq_of(4, 1));
                    let id = |seq| DelayId { generation: QueueId(generation), seq };
                    let span = id(first)..id(end);
                    let expected: Vec<_> = model.range(span).map(|(id, _)| id.seq).collect();
                    prop_assert_eq!(leaving.between(QueueId(generation), first, end).collect::<Vec<_>>(), expected);
                }
            }
        }
    }
}
