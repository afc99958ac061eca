//! A fake cluster, for tests of what stands over [`Control`]: those of `management` and `warren` include this file, too.

use std::sync::{Arc, Mutex, PoisonError};

use cluster::control::{ClusterMetrics, ClusterView, Control, ControlError, LogView, MemberView, Outcome, Role};
use cluster::wire::{ClusterId, NodeName};
use cluster::{Address, MemberId};

/// Answers with what it was given, and remembers what it was ordered.
#[derive(Debug)]
pub(crate) struct FakeControl {
    view: Mutex<Arc<ClusterView>>,
    metrics: Mutex<ClusterMetrics>,
    error: Mutex<Option<ControlError>>,
    orders: Mutex<Vec<String>>,
}

#[allow(dead_code, reason = "three crates include this file, and not each calls all of these")]
impl FakeControl {
    /// Nodes of these names, of which the first one leads and is the one that is asked. Names are node names.
    ///
    /// # Panics
    ///
    /// A name is not valid, or there are no names.
    #[must_use]
    pub(crate) fn of(names: &[&str]) -> Self {
        let name = |text: &str| NodeName::new(text).expect("a node's name");
        let members = (1..).zip(names).map(|(number, text)| MemberView {
            name: name(text),
            member: MemberId::new(number).expect("from 1 on"),
            role: if number == 1 { Role::Leader } else { Role::Follower },
            is_running: true,
            is_draining: false,
            address: text.split_once('@').and_then(|(_, host)| Address::new(host, 25_672)),
            version: "1.0.0".to_owned(),
            level: 1,
            silent_ms: None,
            clock_ahead_ms: None,
            figures: None,
            last_seen_ms: 1_700_000_000_000,
            log: Some(LogView {
                last: 120,
                written: 119,
                committed: 118,
                applied: 117,
                base: 100,
                ..LogView::default()
            }),
            links: Vec::new(),
        });
        let view = ClusterView {
            own: name(names[0]),
            cluster: ClusterId::new(7),
            term: 3,
            leader: Some(name(names[0])),
            level: 1,
            has_majority: true,
            waiting: None,
            members: members.collect(),
        };
        let metrics = ClusterMetrics { term: 3, is_leading: true, ..ClusterMetrics::default() };
        FakeControl {
            view: Mutex::new(Arc::new(view)),
            metrics: Mutex::new(metrics),
            error: Mutex::default(),
            orders: Mutex::default(),
        }
    }

    /// Changes what it shows.
    pub(crate) fn show(&self, change: impl FnOnce(&mut ClusterView)) {
        change(Arc::make_mut(&mut self.view.lock().unwrap_or_else(PoisonError::into_inner)));
    }

    /// Changes what it measures.
    pub(crate) fn measure(&self, change: impl FnOnce(&mut ClusterMetrics)) {
        change(&mut self.metrics.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Every order fails so from now on, or none does.
    pub(crate) fn refuse(&self, error: Option<ControlError>) {
        *self.error.lock().unwrap_or_else(PoisonError::into_inner) = error;
    }

    /// What it was ordered, in short: `forget rabbit@b`; `drain` where no node is named.
    #[must_use]
    pub(crate) fn orders(&self) -> Vec<String> {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn order<T: Send + 'static>(&self, order: String, outcome: T) -> Outcome<T> {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner).push(order);
        let result = match self.error.lock().unwrap_or_else(PoisonError::into_inner).clone() {
            Some(error) => Err(error),
            None => Ok(outcome),
        };
        Box::pin(std::future::ready(result))
    }
}

impl Control for FakeControl {
    fn view(&self) -> Arc<ClusterView> {
        self.view.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn metrics(&self) -> ClusterMetrics {
        self.metrics.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn join(&self, seed: &str, force: bool) -> Outcome<()> {
        self.order(format!("join {seed}{}", if force { " by force" } else { "" }), ())
    }

    fn forget(&self, name: &str) -> Outcome<()> {
        self.order(format!("forget {name}"), ())
    }

    fn reset(&self, node: Option<&str>, force: bool) -> Outcome<()> {
        let order = about("reset", node);
        self.order(format!("{order}{}", if force { " by force" } else { "" }), ())
    }

    fn drain(&self, node: Option<&str>) -> Outcome<()> {
        self.order(about("drain", node), ())
    }

    fn revive(&self, node: Option<&str>) -> Outcome<()> {
        self.order(about("revive", node), ())
    }

    fn run_app(&self, node: Option<&str>, runs: bool) -> Outcome<()> {
        self.order(about(if runs { "start_app" } else { "stop_app" }, node), ())
    }

    fn transfer(&self, to: Option<&str>) -> Outcome<String> {
        let to = to
            .map_or_else(|| self.view().members.last().map_or_else(String::new, |m| m.name.to_string()), str::to_owned);
        self.order(format!("transfer to {to}"), to.clone())
    }
}

fn about(order: &str, node: Option<&str>) -> String {
    node.map_or_else(|| order.to_owned(), |node| format!("{order} {node}"))
}
