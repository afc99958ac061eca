//! Messages between members: lost, doubled and reordered, on links that are cut one way or both.

use std::collections::BTreeMap;
use std::sync::Arc;

use consensus::Message;
use parking_lot::Mutex;
use store::Random;
use store::journal::SharedCommit;

use crate::Transport;

pub(super) type Sent = (Message, Vec<Arc<SharedCommit>>);

/// Keeps what a member sends until it is taken.
#[derive(Default)]
pub struct Wire(Mutex<Vec<Sent>>);

impl Wire {
    pub(super) fn take(&self) -> Vec<Sent> {
        std::mem::take(&mut *self.0.lock())
    }
}

impl Transport for Wire {
    fn send(&self, message: Message, commits: Vec<Arc<SharedCommit>>) -> bool {
        self.0.lock().push((message, commits));
        true
    }
}

/// What lies between the nodes.
pub struct Network {
    /// By sender and receiver: nothing gets through.
    pub cuts: Vec<Vec<bool>>,
    /// Of one hundred messages, how many get lost.
    pub lost_percent: u64,
    /// Of one hundred messages, how many arrive twice.
    pub doubled_percent: u64,
    /// How many steps a message may take.
    pub delay: u64,
    /// By when they arrive, and their numbers: sender, receiver, and what it is.
    on_the_way: BTreeMap<(u64, u64), (usize, usize, Sent)>,
    sent_count: u64,
}

impl Network {
    pub(super) fn new(node_count: usize) -> Network {
        Network {
            cuts: vec![vec![false; node_count]; node_count],
            lost_percent: 0,
            doubled_percent: 0,
            delay: 2,
            on_the_way: BTreeMap::new(),
            sent_count: 0,
        }
    }

    /// Whether nothing gets through in at least one direction.
    #[must_use]
    pub fn is_cut_between(&self, one: usize, other: usize) -> bool {
        self.cuts[one][other] || self.cuts[other][one]
    }

    /// Nothing gets through from a node to any other, nor back.
    pub fn isolate(&mut self, node: usize) {
        for other in 0..self.cuts.len() {
            self.cuts[node][other] = true;
            self.cuts[other][node] = true;
        }
    }

    /// All links are whole again.
    pub fn mend(&mut self) {
        self.cuts.iter_mut().flatten().for_each(|is_cut| *is_cut = false);
    }

    /// From now on nothing is lost, doubled or late.
    pub fn calm_down(&mut self) {
        self.mend();
        (self.lost_percent, self.doubled_percent, self.delay) = (0, 0, 2);
    }

    pub(super) fn send(&mut self, now: u64, random: &mut Random, from: usize, to: usize, sent: &Sent) {
        if self.cuts[from][to] || random.percent(self.lost_percent) {
            return;
        }
        let copies = 1 + u64::from(random.percent(self.doubled_percent));
        for _ in 0..copies {
            self.sent_count += 1;
            let at = now + 1 + random.below(self.delay);
            self.on_the_way.insert((at, self.sent_count), (from, to, sent.clone()));
        }
    }

    /// A message that has arrived by now: its receiver, and what it is.
    pub(super) fn take_arrived(&mut self, now: u64) -> Option<(usize, Sent)> {
        let first = self.on_the_way.first_entry().filter(|entry| entry.key().0 <= now)?;
        let (_, to, sent) = first.remove();
        Some((to, sent))
    }

    /// What is on its way never arrives.
    pub fn forget_all(&mut self) {
        self.on_the_way.clear();
    }

    /// What a node has sent never arrives.
    pub(super) fn forget_from(&mut self, node: usize) {
        self.on_the_way.retain(|_, (from, ..)| *from != node);
    }
}
