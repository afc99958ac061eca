//! Opens and drops the store as the member is elected and no longer leads.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use member::{MemberError, Situation};

use super::shared::DriverShared;

/// How long handing over may take, once all that was received is durable.
const HAND_OVER_TIMEOUT: Duration = Duration::from_secs(1);
/// How long at most it takes until a change is seen.
const LOOK_INTERVAL: Duration = Duration::from_millis(20);

pub(super) fn run(shared: &Arc<DriverShared>) {
    let mut known = None;
    while !shared.is_stopping() {
        let situation = shared.member.situation();
        match &situation {
            Situation::Elected => {
                // Clients wait here from now on, and are not passed on to the one before.
                shared.owner.leader_changed(None);
                shared.take_over();
            }
            Situation::Lost => shared.step_back(),
            Situation::Failed(reason) => {
                shared.stop_serving();
                return shared.owner.failed(reason);
            }
            Situation::Leading => {
                if let Some(to) = shared.handing_over.lock().take() {
                    shared.hand_over(to);
                }
            }
            Situation::Following { .. } => *shared.handing_over.lock() = None,
        }
        if shared.member.is_to_be_rebuilt()
            && let Err(error) = shared.member.rebuild()
        {
            tracing::error!(%error, "the journal cannot be opened again");
        }
        if known.as_ref() != Some(&situation) {
            if let Situation::Following { leader } = &situation {
                shared.has_leader_ended.store(false, Ordering::Relaxed);
                shared.owner.leader_changed(leader.and_then(|leader| shared.transport.find(leader)));
            }
            known = Some(situation);
        }
        shared.ship();
        shared.member.wait_for_change(LOOK_INTERVAL);
    }
}

impl DriverShared {
    fn take_over(&self) {
        let opened = match self.member.take_over() {
            Ok(opened) => opened,
            Err(MemberError::NotLeader) => return,
            Err(error) => return tracing::error!(%error, "this node was elected and cannot lead"),
        };
        let (store, recovered) = opened;
        *self.store.lock() = Some(store.clone());
        let since = Instant::now();
        match self.owner.serve(store, recovered) {
            Ok(()) => {
                let term = self.member.status().term().0;
                tracing::info!(
                    term,
                    after_ms = since.elapsed().as_millis() as u64,
                    "this node leads, and serves clients"
                );
            }
            Err(error) => {
                tracing::error!(error, "this node was elected and cannot serve");
                self.step_back();
            }
        }
    }

    /// Has another member lead, once that has all that this one has received.
    fn hand_over(&self, to: consensus::MemberId) {
        // Before the broker is paused, which does not go on then.
        if !self.member.could_lead(to) {
            return tracing::warn!(member = to.get(), "a node that has not caught up cannot take over");
        }
        self.owner.pause();
        self.member.transfer(to);
        let until = Instant::now() + HAND_OVER_TIMEOUT;
        while self.member.situation() == Situation::Leading && !self.is_stopping() {
            if Instant::now() >= until {
                tracing::warn!(member = to.get(), "another node did not take over: this one begins anew");
                // A broker that was paused does not go on.
                return self.step_back();
            }
            self.member.wait_for_change(LOOK_INTERVAL);
        }
    }

    pub(super) fn stop_serving(&self) {
        if self.store.lock().take().is_some() {
            tracing::info!("this node leads no more");
            // Without a majority the store could not be closed: nothing more becomes durable.
            self.member.resign();
            self.owner.stop();
        }
    }

    fn step_back(&self) {
        self.stop_serving();
        self.shipments.lock().clear();
        if let Err(error) = self.member.step_back() {
            tracing::error!(%error, "the journal cannot be opened again");
        }
    }
}
