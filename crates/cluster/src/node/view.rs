//! What operators and metrics see of a node: made by its task, read by all.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::control::{ClusterMetrics, ClusterView};
use crate::wire::{ClusterId, NodeName};

/// How often it is made anew, unless another node leads.
const INTERVAL: Duration = Duration::from_millis(200);

/// See the module.
pub(super) struct NodeView {
    view: Mutex<Arc<ClusterView>>,
    metrics: Mutex<Arc<ClusterMetrics>>,
    made_at: Mutex<Option<Instant>>,
}

impl NodeView {
    /// Of a node that has just begun.
    pub(super) fn of(own: &NodeName, level: u32) -> Arc<Self> {
        let view = ClusterView {
            own: own.clone(),
            cluster: None,
            term: 0,
            leader: None,
            level,
            has_majority: true,
            waiting: None,
            members: Vec::new(),
        };
        Arc::new(NodeView { view: Mutex::new(Arc::new(view)), metrics: Mutex::default(), made_at: Mutex::default() })
    }

    pub(super) fn view(&self) -> Arc<ClusterView> {
        self.view.lock().clone()
    }

    pub(super) fn metrics(&self) -> Arc<ClusterMetrics> {
        self.metrics.lock().clone()
    }

    /// Whether it is to be made anew: after a while, and at once if it has another leader or cluster than this.
    pub(super) fn is_due(&self, leader: Option<&NodeName>, cluster: Option<ClusterId>, now: Instant) -> bool {
        let is_same = {
            let view = self.view.lock();
            view.leader.as_ref() == leader && view.cluster == cluster
        };
        let is_new = |made_at: Instant| now.saturating_duration_since(made_at) < INTERVAL;
        !(is_same && self.made_at.lock().is_some_and(is_new))
    }

    pub(super) fn set(&self, view: ClusterView, metrics: ClusterMetrics, now: Instant) {
        *self.view.lock() = Arc::new(view);
        *self.metrics.lock() = Arc::new(metrics);
        *self.made_at.lock() = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_is_made_anew_after_a_while_and_at_once_for_another_leader() {
        let (own, start) = (NodeName::new("rabbit@a").unwrap(), Instant::now());
        let view = NodeView::of(&own, 1);
        assert!(view.is_due(None, None, start), "it was never made");
        view.set((*view.view()).clone(), ClusterMetrics::default(), start);
        assert!(!view.is_due(None, None, start));
        assert!(view.is_due(Some(&own), None, start));
        assert!(view.is_due(None, ClusterId::new(1), start));
        assert!(view.is_due(None, None, start + INTERVAL));
    }
}
