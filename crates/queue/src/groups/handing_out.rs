//! Dispatch and get in a queue with groups.
//!
//! The next message is the first one in the queue's order for which there is a consumer that may have it and can take it: one of those
//! passed over before, whose group is free by now or whose holder can take more, or the first that has not been looked at.

use super::{GroupAccess, Groups, Key, PassedMessage};
use crate::consumers::{ConsumerId, Consumers, Gate};
use crate::effects::Effects;
use crate::lane::Source;
use crate::message::Message;
use crate::queue::{Get, Queue};
use crate::ready::{Front, Ready};

impl<M: Message> Ready<M> {
    /// The next message to look at: of those passed over, which `choose` is asked for, and of those not looked at yet. `None` too if no
    /// more may be passed over.
    fn next_in_groups(
        &mut self,
        choose: impl Fn(&mut Groups) -> Option<(Key, PassedMessage)>,
    ) -> Option<(Front, Option<PassedMessage>)> {
        loop {
            let passed = choose(self.groups.as_mut()?);
            let unseen = self.first_unseen();
            let unseen_key = unseen.map(|front| self.key_of(&front));
            match passed {
                Some((key, entry)) if unseen_key.is_none_or(|unseen| key < unseen) => {
                    if let Some(front) = self.front_of(key.priority(), entry.lane, key.seq) {
                        return Some((front, Some(entry)));
                    }
                    // It has been taken out of its lane.
                    self.groups.as_mut()?.forget(key);
                }
                _ => return unseen.map(|front| (front, None)),
            }
        }
    }

    fn rest(&mut self, consumer: ConsumerId) {
        if let Some(groups) = &mut self.groups {
            groups.rest(consumer);
        }
    }

    fn pass_over(&mut self, front: &Front, entry: PassedMessage) {
        let key = self.key_of(front);
        if let Some(groups) = &mut self.groups {
            groups.pass_over(key, entry);
        }
    }
}

impl<M: Message, G: Gate> Queue<M, G> {
    /// As `hand_out`, by groups.
    pub(crate) fn hand_out_by_groups(
        &mut self,
        consumers: &mut Consumers<G>,
        now_ms: u64,
        effects: &mut Effects<M>,
    ) -> bool {
        let is_watchful = self.is_watchful();
        let timeout_ms = self.consumer_timeout_ms();
        let mut holds_up = false;
        while consumers.is_waiting() {
            let Some((front, known)) = self.ready.next_in_groups(Groups::first_open) else {
                holds_up = true;
                break;
            };
            if front.head.source == Source::Paged {
                if let Some(load) = self.ready.lane_at(&front).ask(true) {
                    effects.loads.push(load);
                    self.ready.set_held_up(false);
                    return false;
                }
                break;
            }
            if is_watchful {
                if Self::has_dropped_enough(effects) {
                    self.ready.set_held_up(false);
                    return false;
                }
                if self.passes_over(&front, now_ms, effects) {
                    continue;
                }
            }
            let entry = known.unwrap_or_else(|| self.ready.entry_of(&front));
            let access = self.ready.access(entry.group);
            let turn = match access {
                GroupAccess::Free => {
                    let Some(turn) = consumers.take_turn(front.head.delivered_len) else { break };
                    Some(turn)
                }
                GroupAccess::HeldBy(holder) => consumers.take_turn_of(holder, front.head.delivered_len),
                GroupAccess::Closed => None,
            };
            let Some(turn) = turn else {
                self.ready.pass_over(&front, entry);
                if let GroupAccess::HeldBy(holder) = access {
                    self.ready.rest(holder);
                }
                continue;
            };
            self.ready.see(&front);
            self.deliver(&front, turn, timeout_ms, now_ms, effects);
            if let Some(group) = entry.group.filter(|_| !turn.no_ack) {
                self.ready.hold(front.head.seq, group, Some(turn.id));
            }
        }
        self.ready.set_held_up(holds_up);
        true
    }

    /// As `get`, by groups: the first message whose group has no holder.
    pub(crate) fn get_by_groups(&mut self, no_ack: bool, now_ms: u64, effects: &mut Effects<M>) -> Get<M> {
        let is_watchful = self.is_watchful();
        loop {
            let Some((front, known)) = self.ready.next_in_groups(|groups| groups.first_free()) else {
                return Get::Empty;
            };
            if front.head.source == Source::Paged {
                return Get::Loading(self.ready.lane_at(&front).ask(true));
            }
            if is_watchful {
                if Self::has_dropped_enough(effects) {
                    self.drops_more = true;
                    return Get::Loading(None);
                }
                if self.passes_over(&front, now_ms, effects) {
                    continue;
                }
            }
            let entry = known.unwrap_or_else(|| self.ready.entry_of(&front));
            if self.ready.access(entry.group) != GroupAccess::Free {
                self.ready.pass_over(&front, entry);
                continue;
            }
            self.ready.see(&front);
            let got = self.take_front(&front, no_ack, now_ms, effects);
            if let Some(group) = entry.group.filter(|_| !no_ack) {
                self.ready.hold(got.seq, group, None);
            }
            return Get::Message(got);
        }
    }
}
