//! Which links run: those that policies want, each with a task of its own.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::host::Host;
use crate::status::{LinkId, LinkStatus, StatusCell};
use crate::wanted::Link;
use crate::worker::{Order, Worker};

/// How long what is under way may take to be settled when a link ends.
const SETTLING_TIMEOUT: Duration = Duration::from_secs(2);

/// The links of a process.
pub struct Links {
    host: Arc<dyn Host>,
    runtime: Handle,
    known: Mutex<Known>,
    /// The URI with which the next one begins: the nodes of a cluster share the load.
    next_uri: AtomicUsize,
}

/// Which there are.
#[derive(Default)]
struct Known {
    running: BTreeMap<LinkId, Running>,
    /// Those that are wanted no more, and may still have to clean up.
    ending: BTreeMap<LinkId, Ending>,
    /// What all of them do.
    tasks: JoinSet<()>,
    has_stopped: bool,
}

impl fmt::Debug for Links {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Links").field("count", &self.known.lock().running.len()).finish_non_exhaustive()
    }
}

/// A link that has been started.
struct Running {
    link: Arc<Link>,
    status_cell: Arc<StatusCell>,
    orders: watch::Sender<Order>,
    /// Nothing is sent over it: it closes when the link has ended.
    over: watch::Receiver<()>,
}

/// A link that was ordered to end.
struct Ending {
    link: Arc<Link>,
    over: watch::Receiver<()>,
}

impl Links {
    /// None yet. They will run on this runtime.
    #[must_use]
    pub fn new(host: Arc<dyn Host>, runtime: Handle) -> Self {
        Links { host, runtime, known: Mutex::default(), next_uri: AtomicUsize::new(0) }
    }

    /// Has those run that are wanted, and no others. One that has changed begins anew; the others notice nothing. What links that are no
    /// longer wanted have made at their upstreams is deleted, unless others still use it: an upstream may have got another name.
    pub fn reconcile(&self, wanted: Vec<Link>) {
        let removed = self.replace(&mut self.known.lock(), wanted);
        removed.iter().for_each(|status| self.host.removed(status));
    }

    /// Returns which have been removed, as they were.
    fn replace(&self, known: &mut Known, wanted: Vec<Link>) -> Vec<LinkStatus> {
        if known.has_stopped {
            return Vec::new();
        }
        while known.tasks.try_join_next().is_some() {}
        known.ending.retain(|_, ending| ending.over.has_changed().is_ok());
        let mut before = std::mem::take(&mut known.running);
        let mut changed = Vec::new();
        for link in wanted {
            match before.remove(&link.id) {
                Some(entry) if *entry.link == link => drop(known.running.insert(link.id.clone(), entry)),
                entry => changed.push((link, entry)),
            }
        }
        // What is left is wanted no more.
        let statuses: Vec<_> = before.values().map(|entry| entry.status_cell.status()).collect();
        let mut removed = before;
        for (link, before) in changed {
            let id = link.id.clone();
            let before =
                before.or_else(|| sharing(&removed, &link, |entry| &entry.link).and_then(|id| removed.remove(&id)));
            let before = before.map(|before| {
                let cleans_up = !before.link.makes_the_same(&link);
                before.end(SETTLING_TIMEOUT, cleans_up)
            });
            let before = before.or_else(|| {
                let of_same_id = known.ending.remove(&id);
                of_same_id.or_else(|| known.ending.remove(&sharing(&known.ending, &link, |ending| &ending.link)?))
            });
            let entry = self.start(&mut known.tasks, Arc::new(link), before);
            known.running.insert(id, entry);
        }
        for (id, entry) in removed {
            let is_in_use = sharing(&known.running, &entry.link, |running| &running.link).is_some();
            known.ending.insert(id, entry.end(SETTLING_TIMEOUT, !is_in_use));
        }
        statuses
    }

    fn start(&self, tasks: &mut JoinSet<()>, link: Arc<Link>, before: Option<Ending>) -> Running {
        let (orders, receiver) = watch::channel(Order::Run(0));
        let first_uri = self.next_uri.fetch_add(1, Ordering::Relaxed);
        let uri = link.uris.get(first_uri % link.uris.len().max(1)).map(|uri| uri.without_user().into());
        let status_cell =
            Arc::new(StatusCell::new(link.id.clone(), link.consumer_tag.clone(), uri.unwrap_or_default()));
        let worker = Worker {
            link: link.clone(),
            host: self.host.clone(),
            status_cell: status_cell.clone(),
            orders: receiver,
            first_uri,
            knows_type: true,
        };
        let (ends, over) = watch::channel(());
        let task = async move {
            // Two of one name are not to bring the same messages at the same time.
            if let Some(Ending { mut over, .. }) = before {
                let _ = over.changed().await;
            }
            worker.run().await;
            drop(ends);
        };
        tasks.spawn_on(task, &self.runtime);
        Running { link, status_cell, orders, over }
    }

    /// All of them as they are now, by vhost, kind, name and upstream.
    #[must_use]
    pub fn statuses(&self) -> Vec<LinkStatus> {
        self.known.lock().running.values().map(|entry| entry.status_cell.status()).collect()
    }

    /// Has the links of this key ([`LinkId::key`]) in a vhost connect anew. Says whether there is one.
    pub fn restart(&self, vhost: &str, key: &str) -> bool {
        let known = self.known.lock();
        let mut is_found = false;
        for (_, entry) in known.running.iter().filter(|(id, _)| id.vhost.as_str() == vhost && id.key() == key) {
            is_found = true;
            entry.orders.send_if_modified(|order| match order {
                Order::Run(number) => {
                    *number = number.wrapping_add(1);
                    true
                }
                Order::Stop { .. } => false,
            });
        }
        is_found
    }

    /// Ends all of them, for good. What is under way is settled for so long, what is being deleted at upstreams may take as long, and
    /// goodbyes as long again. What the links have made at their upstreams stays, so that nothing is lost until they run again.
    pub async fn stop(&self, timeout: Duration) {
        let mut tasks = {
            let mut known = self.known.lock();
            known.has_stopped = true;
            for (_, entry) in std::mem::take(&mut known.running) {
                entry.end(timeout, false);
            }
            std::mem::take(&mut known.tasks)
        };
        let ended = async { while tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(2 * timeout, ended).await.is_err() {
            tasks.shutdown().await;
        }
    }
}

impl Running {
    /// Has it end. Returns what signals that it has.
    fn end(self, timeout: Duration, cleans_up: bool) -> Ending {
        let _ = self.orders.send(Order::Stop { timeout, cleans_up });
        Ending { link: self.link, over: self.over }
    }
}

/// One of these that makes at its upstream what has the names of what another link makes there.
fn sharing<T>(links: &BTreeMap<LinkId, T>, with: &Link, link: impl Fn(&T) -> &Arc<Link>) -> Option<LinkId> {
    let LinkId { vhost, kind, name, .. } = &with.id;
    let first = LinkId { upstream: "".into(), upstream_name: "".into(), ..with.id.clone() };
    let of_same = links.range(first..).take_while(|(id, _)| (&id.vhost, &id.kind, &id.name) == (vhost, kind, name));
    of_same.filter(|(_, entry)| link(entry).shares_with(with)).map(|(id, _)| id.clone()).next()
}

#[cfg(test)]
mod tests;
