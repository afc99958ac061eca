//! Which links run: those that policies want, each with a task of its own.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::host::Host;
use crate::status::{Board, LinkId, LinkStatus};
use crate::wanted::Link;
use crate::worker::{Order, Worker};

/// How long what is under way may take to be settled when a link ends.
const SETTLING_PATIENCE: Duration = Duration::from_secs(2);

/// The links of a process.
pub struct Links {
    host: Arc<dyn Host>,
    runtime: Handle,
    running: Mutex<BTreeMap<LinkId, Running>>,
    /// Those that are wanted no more, and may still have to clean up.
    ending: Mutex<BTreeMap<LinkId, JoinHandle<()>>>,
    /// The URI with which the next one begins: the nodes of a cluster share the load.
    next_uri: AtomicUsize,
    has_stopped: AtomicBool,
}

impl fmt::Debug for Links {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Links").field("count", &self.running.lock().len()).finish_non_exhaustive()
    }
}

/// A link that has been started.
struct Running {
    link: Arc<Link>,
    board: Arc<Board>,
    orders: watch::Sender<Order>,
    task: JoinHandle<()>,
}

impl Links {
    /// None yet. They will run on this runtime.
    #[must_use]
    pub fn new(host: Arc<dyn Host>, runtime: Handle) -> Self {
        Links {
            host,
            runtime,
            running: Mutex::new(BTreeMap::new()),
            ending: Mutex::default(),
            next_uri: AtomicUsize::new(0),
            has_stopped: AtomicBool::new(false),
        }
    }

    /// Has those run that are wanted, and no others. One that has changed begins anew; the others notice nothing. What those have made at
    /// their upstreams that are wanted no more goes with them.
    pub fn reconcile(&self, wanted: Vec<Link>) {
        let mut running = self.running.lock();
        if self.has_stopped.load(Ordering::Acquire) {
            return;
        }
        let mut ending = self.ending.lock();
        ending.retain(|_, task| !task.is_finished());
        let mut gone = std::mem::take(&mut *running);
        for link in wanted {
            let id = link.id.clone();
            let entry = match gone.remove(&id) {
                Some(entry) if *entry.link == link => entry,
                before => {
                    let before = before.map(|before| {
                        let cleans_up = !before.link.makes_the_same(&link);
                        before.end(SETTLING_PATIENCE, cleans_up)
                    });
                    self.start(Arc::new(link), before.or_else(|| ending.remove(&id)))
                }
            };
            running.insert(id, entry);
        }
        drop(running);
        let mut removed = Vec::new();
        for (id, entry) in gone {
            removed.push(entry.board.status());
            ending.insert(id, entry.end(SETTLING_PATIENCE, true));
        }
        drop(ending);
        removed.iter().for_each(|status| self.host.removed(status));
    }

    fn start(&self, link: Arc<Link>, before: Option<JoinHandle<()>>) -> Running {
        let (orders, receiver) = watch::channel(Order::Run(0));
        let first_uri = self.next_uri.fetch_add(1, Ordering::Relaxed);
        let uri = link.uris.get(first_uri % link.uris.len().max(1)).map(|uri| uri.without_user().into());
        let board = Arc::new(Board::new(link.id.clone(), link.consumer_tag.clone(), uri.unwrap_or_default()));
        let worker = Worker {
            link: link.clone(),
            host: self.host.clone(),
            board: board.clone(),
            orders: receiver,
            first_uri,
            knows_type: true,
        };
        let task = self.runtime.spawn(async move {
            // Two of one name are not to bring the same messages at the same time.
            if let Some(before) = before {
                let _ = before.await;
            }
            worker.run().await;
        });
        Running { link, board, orders, task }
    }

    /// All of them as they are now, by vhost, kind, name and upstream.
    #[must_use]
    pub fn statuses(&self) -> Vec<LinkStatus> {
        self.running.lock().values().map(|entry| entry.board.status()).collect()
    }

    /// Has the links of this key ([`LinkId::key`]) in a vhost connect anew. Says whether there is one.
    pub fn restart(&self, vhost: &str, key: &str) -> bool {
        let running = self.running.lock();
        let mut is_found = false;
        for (_, entry) in running.iter().filter(|(id, _)| id.vhost.as_str() == vhost && id.key() == key) {
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

    /// Ends all of them, for good. What is under way is settled for so long. What they have made at their upstreams stays, so that nothing
    /// is lost until they run again.
    pub async fn stop(&self, patience: Duration) {
        let all = {
            let mut running = self.running.lock();
            self.has_stopped.store(true, Ordering::Release);
            std::mem::take(&mut *running)
        };
        std::mem::take(&mut *self.ending.lock()).into_values().for_each(|task| task.abort());
        let ending: Vec<_> = all.into_values().map(|entry| entry.end(patience, false)).collect();
        for task in ending {
            let _ = task.await;
        }
    }
}

impl Running {
    /// Has it end. Returns what to wait for, if it is to be waited for.
    fn end(self, patience: Duration, cleans_up: bool) -> JoinHandle<()> {
        let _ = self.orders.send(Order::Stop { patience, cleans_up });
        self.task
    }
}
