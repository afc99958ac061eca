//! The messages of a queue that the journal holds, while it is replayed.

use std::collections::VecDeque;

use model::ids::QueueSeq;

use super::replay::SeqRuns;
use crate::Content;

/// So many strays are put in order together, or as many as there were already.
const STRAYS_LEN_MIN: usize = 1 << 16;

/// The messages of a queue that the journal holds.
#[derive(Default)]
pub(super) struct Messages {
    /// By rising seq, as a queue's arrive. `None`: settled.
    in_order: VecDeque<(QueueSeq, Option<Content>)>,
    /// Those that arrived behind one with a higher seq, as messages do whose seq is when they are due. In no order.
    strays: Vec<(QueueSeq, Content)>,
    /// What was settled, perhaps of strays. No seq is published after it was settled.
    settled: SeqRuns,
    /// Strays that were left when they were last put in order.
    left_len: usize,
}

impl Messages {
    pub(super) fn insert(&mut self, seq: QueueSeq, content: Content) {
        if self.in_order.back().is_none_or(|(last, _)| *last < seq) {
            self.in_order.push_back((seq, Some(content)));
            return;
        }
        if self.in_order.binary_search_by_key(&seq, |(seq, _)| *seq).is_err() {
            self.strays.push((seq, content));
            self.thin_out();
        }
    }

    pub(super) fn remove(&mut self, first: QueueSeq, last: QueueSeq) {
        let mut at = self.in_order.partition_point(|(seq, _)| *seq < first);
        while let Some((_, content)) = self.in_order.get_mut(at).filter(|(seq, _)| *seq <= last) {
            *content = None;
            at += 1;
        }
        while let Some((_, None)) = self.in_order.front() {
            self.in_order.pop_front();
        }
        if !self.strays.is_empty() {
            self.settled.push(first, last);
            self.thin_out();
        }
    }

    /// Lets go of settled strays when there may be many: so they take no more memory than twice what is left.
    fn thin_out(&mut self) {
        if self.strays.len() + self.settled.len() >= STRAYS_LEN_MIN.max(self.left_len * 2) {
            self.sort_strays();
        }
    }

    fn sort_strays(&mut self) {
        self.settled.sort();
        self.strays.sort_unstable_by_key(|(seq, _)| *seq);
        self.strays.dedup_by_key(|(seq, _)| *seq);
        let settled = std::mem::take(&mut self.settled);
        let mut settled = settled.iter().peekable();
        self.strays.retain(|(seq, _)| {
            while settled.next_if(|(_, last)| last < seq).is_some() {}
            settled.peek().is_none_or(|(first, _)| seq < first)
        });
        self.left_len = self.strays.len();
    }

    /// Puts all in order, once everything has been replayed.
    pub(super) fn sort(&mut self) {
        if self.strays.is_empty() {
            return;
        }
        self.sort_strays();
        let strays = std::mem::take(&mut self.strays);
        self.in_order.extend(strays.into_iter().map(|(seq, content)| (seq, Some(content))));
        // Two sorted runs: this merges them.
        self.in_order.make_contiguous().sort_by_key(|(seq, _)| *seq);
    }

    /// Of sorted ones, whether any may be between these seqs.
    pub(super) fn has_some(&self, first: QueueSeq, last: QueueSeq) -> bool {
        let at = self.in_order.partition_point(|(seq, _)| *seq < first);
        self.in_order.get(at).is_some_and(|(seq, _)| *seq <= last)
    }

    /// Takes those of the sorted ones out that turn out to be in a segment. `seqs` rise.
    pub(super) fn forget(&mut self, seqs: impl Iterator<Item = QueueSeq>) {
        let all = self.in_order.make_contiguous();
        let mut at = 0;
        for seq in seqs {
            at += gallop(&all[at..], seq);
            match all.get_mut(at) {
                Some((found, content)) if *found == seq => *content = None,
                Some(_) => {}
                None => break,
            }
        }
    }

    /// All that are left, by rising seq.
    pub(super) fn into_sorted(mut self) -> Vec<(QueueSeq, Content)> {
        self.sort();
        self.in_order.into_iter().filter_map(|(seq, content)| Some((seq, content?))).collect()
    }
}

/// How many at the front have lower seqs. Quick if they are few.
fn gallop<T>(sorted: &[(QueueSeq, T)], seq: QueueSeq) -> usize {
    let is_below = |at: usize| sorted.get(at).is_some_and(|(other, _)| *other < seq);
    let mut step = 1;
    while is_below(step - 1) {
        step *= 2;
    }
    let (start, end) = (step / 2, (step - 1).min(sorted.len()));
    start + sorted[start..end].partition_point(|(other, _)| *other < seq)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::{ChunkBudget, ChunkWriter};

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn they_are_a_sorted_map(
            steps in prop::collection::vec((any::<bool>(), 0u64..300, 1u64..20), 0..60),
            forgotten in prop::collection::btree_set(0u64..300, 0..100),
            range in (0u64..300, 0u64..100),
        ) {
            let mut contents = ChunkWriter::new(ChunkBudget::new());
            let (mut messages, mut model) = (Messages::default(), BTreeMap::new());
            let mut seen = std::collections::BTreeSet::new();
            for (is_insert, first, count) in steps {
                for seq in first..first + count {
                    // No seq is given out twice.
                    if is_insert && seen.insert(seq) {
                        let content = contents.copy(&[&seq.to_le_bytes()]);
                        messages.insert(QueueSeq(seq), content.clone());
                        model.insert(seq, content);
                    }
                }
                if !is_insert {
                    seen.extend(first..=first + count);
                    messages.remove(QueueSeq(first), QueueSeq(first + count));
                    model.retain(|seq, _| !(first..=first + count).contains(seq));
                }
            }
            messages.sort();
            let (first, last) = (range.0, range.0 + range.1);
            prop_assert!(messages.has_some(QueueSeq(first), QueueSeq(last)) || model.range(first..=last).next().is_none());
            messages.forget(forgotten.iter().map(|seq| QueueSeq(*seq)));
            model.retain(|seq, _| !forgotten.contains(seq));
            let left: Vec<_> = messages.into_sorted().iter().map(|(seq, content)| (seq.0, content.bytes().to_vec())).collect();
            prop_assert_eq!(left, model.iter().map(|(seq, content)| (*seq, content.bytes().to_vec())).collect::<Vec<_>>());
        }
    }
}
