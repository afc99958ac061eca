//! How peers are, once a second, and what time it is in the cluster.

use std::time::{Duration, Instant};

use super::NodeTask;
use crate::node::inbox::Event;
use crate::node::time::clock_ms;
use crate::node::vitals::{CALL_VITALS, Vitals};
use crate::peers::{CallAnswer, CallError};
use crate::wire::{Identity, NodeName};

/// How long an answer may take.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

impl NodeTask {
    /// Asks all peers how they are, when it is time to, and looks at its own clock.
    pub(super) fn exchange_vitals(&mut self) {
        let now = Instant::now();
        if !self.vitals.is_due(now) {
            return;
        }
        if let Some(broker_ms) = self.io.host().broker_ms() {
            self.vitals.time().set(broker_ms);
        }
        if !self.phase.is_member() {
            return;
        }
        self.keep_time();
        self.note_progress(now);
        let names = self.membership.nodes().map(|(name, _)| name).filter(|name| *name != self.own.name());
        let names: Vec<_> = names.cloned().collect();
        self.vitals.retain(&names);
        names.iter().for_each(|name| self.ask_vitals(name));
    }

    /// The leader knows how far the others are.
    fn note_progress(&mut self, now: Instant) {
        let Some(driver) = self.phase.leading() else { return self.vitals.forget_progress() };
        let (last, peers) = (driver.status().last.index.0, driver.peers());
        for (name, node) in self.membership.nodes() {
            if let Some(peer) = peers.iter().find(|peer| peer.member == node.member) {
                self.vitals.note_progress(name, peer.upto.0, last, now);
            }
        }
    }

    fn ask_vitals(&mut self, peer: &NodeName) {
        let asked_at = Instant::now();
        if !self.vitals.ask(peer, asked_at) {
            return;
        }
        let asked = peer.clone();
        let event = move |answer| Event::VitalsAnswered { peer: asked, asked_at, answered_at: Instant::now(), answer };
        self.io.call(peer, CALL_VITALS, Vitals::question(), ANSWER_TIMEOUT, event);
    }

    pub(super) fn answer_vitals(&self, from: &Identity, payload: &[u8], answer: CallAnswer) {
        if !self.membership.is_peer(from) || !Vitals::is_question(payload) {
            return;
        }
        let host = self.io.host();
        let broker_ms = self.phase.leading().and_then(|_| host.broker_ms());
        answer.give(&Vitals { wall_ms: clock_ms(), broker_ms, figures: host.figures() }.encode());
    }

    pub(super) fn take_vitals_answer(
        &mut self,
        peer: &NodeName,
        (asked_at, answered_at): (Instant, Instant),
        answer: Result<Vec<u8>, CallError>,
    ) {
        let ours_ms = clock_ms().saturating_sub(answered_at.elapsed().as_millis() as u64);
        let broker_ms = self.vitals.answered(peer, answer, ours_ms, (asked_at, answered_at));
        // The answer of another node that thinks it leads is old.
        if let Some(broker_ms) = broker_ms.filter(|_| self.leadership.leader() == Some(peer)) {
            self.vitals.time().add_answer(broker_ms, asked_at, answered_at);
            self.keep_time();
        }
    }

    /// Keeps how far this machine's clock is off, for a start at which no other node reports what time it is.
    fn keep_time(&mut self) {
        let Some(ahead_ms) = self.vitals.time().take_change(clock_ms()) else { return };
        if let Err(error) = self.durable.files().write_ahead(ahead_ms) {
            tracing::warn!(%error, "the cluster's time was not written");
        }
    }
}
