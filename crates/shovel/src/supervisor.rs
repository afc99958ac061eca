//! Which shovels run: those that are wanted, each with a task of its own.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use model::shovel::Shovel;
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::host::Host;
use crate::status::{ShovelId, ShovelStatus, State, StatusCell};
use crate::worker::{Order, Worker};

/// How long what is under way may take to be settled when a shovel ends.
const SETTLING_TIMEOUT: Duration = Duration::from_secs(2);

/// A shovel that is to be.
#[derive(Clone, Debug, PartialEq)]
pub struct DesiredShovel {
    /// Which.
    pub id: ShovelId,
    /// What it does, or why that cannot be.
    pub shovel: Result<Arc<Shovel>, Box<str>>,
    /// An operator has it wait.
    pub is_paused: bool,
}

/// The shovels of a process.
pub struct Shovels {
    host: Arc<dyn Host>,
    runtime: Handle,
    running: Mutex<BTreeMap<ShovelId, Running>>,
    /// The URI with which the next one begins: the nodes of a cluster share the load.
    next_uri: AtomicUsize,
    has_stopped: AtomicBool,
}

impl fmt::Debug for Shovels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shovels").field("count", &self.running.lock().len()).finish_non_exhaustive()
    }
}

/// A shovel that has been started, or cannot be.
struct Running {
    shovel: Result<Arc<Shovel>, Box<str>>,
    status_cell: Arc<StatusCell>,
    orders: watch::Sender<Order>,
    task: Option<JoinHandle<()>>,
}

impl Shovels {
    /// None yet. They will run on this runtime.
    #[must_use]
    pub fn new(host: Arc<dyn Host>, runtime: Handle) -> Self {
        Shovels {
            host,
            runtime,
            running: Mutex::new(BTreeMap::new()),
            next_uri: AtomicUsize::new(0),
            has_stopped: AtomicBool::new(false),
        }
    }

    /// Has those run that are wanted, and no others. One whose definition has changed begins anew; the others notice nothing.
    pub fn reconcile(&self, wanted: Vec<DesiredShovel>) {
        let mut running = self.running.lock();
        if self.has_stopped.load(Ordering::Acquire) {
            return;
        }
        let mut removed = std::mem::take(&mut *running);
        for DesiredShovel { id, shovel, is_paused } in wanted {
            let same = removed.remove(&id);
            let entry = match same {
                Some(entry) if entry.shovel == shovel => entry,
                before => {
                    let before = before.and_then(|before| before.end(SETTLING_TIMEOUT));
                    self.start(&id, shovel, is_paused, before)
                }
            };
            entry.orders.send_if_modified(|order| order.pause(is_paused));
            running.insert(id, entry);
        }
        drop(running);
        for (_, entry) in removed {
            entry.end(SETTLING_TIMEOUT);
        }
    }

    fn start(
        &self,
        id: &ShovelId,
        shovel: Result<Arc<Shovel>, Box<str>>,
        is_paused: bool,
        before: Option<JoinHandle<()>>,
    ) -> Running {
        let (orders, receiver) = watch::channel(if is_paused { Order::Pause } else { Order::Run(0) });
        let status_cell = Arc::new(StatusCell::new());
        let task = match &shovel {
            Ok(shovel) => {
                let worker = Worker {
                    id: id.clone(),
                    shovel: shovel.clone(),
                    host: self.host.clone(),
                    status_cell: status_cell.clone(),
                    orders: receiver,
                    first_uri: self.next_uri.fetch_add(1, Ordering::Relaxed),
                };
                Some(self.runtime.spawn(async move {
                    // Two of one name are not to move the same messages at the same time.
                    if let Some(before) = before {
                        let _ = before.await;
                    }
                    worker.run().await;
                }))
            }
            Err(reason) => {
                let state = State::Terminated { reason: reason.clone() };
                status_cell.set_state(state.clone());
                self.host.state_changed(id, &state);
                None
            }
        };
        Running { shovel, status_cell, orders, task }
    }

    /// All of them as they are now, by vhost and name.
    #[must_use]
    pub fn statuses(&self) -> Vec<ShovelStatus> {
        self.running.lock().iter().map(|(id, entry)| entry.status_cell.status(id.clone())).collect()
    }

    /// One of them as it is now.
    #[must_use]
    pub fn status(&self, id: &ShovelId) -> Option<ShovelStatus> {
        self.running.lock().get(id).map(|entry| entry.status_cell.status(id.clone()))
    }

    /// What a shovel does, by its definition.
    #[must_use]
    pub fn definition(&self, id: &ShovelId) -> Option<Arc<Shovel>> {
        self.running.lock().get(id).and_then(|entry| entry.shovel.clone().ok())
    }

    /// Has a shovel connect anew. Says whether there is one.
    pub fn restart(&self, id: &ShovelId) -> bool {
        let running = self.running.lock();
        let Some(entry) = running.get(id) else { return false };
        entry.orders.send_if_modified(|order| match order {
            Order::Run(number) => {
                *number = number.wrapping_add(1);
                true
            }
            Order::Pause | Order::Stop(_) => false,
        });
        true
    }

    /// Ends all of them, for good. What is under way is settled for so long, and goodbyes may take as long again.
    pub async fn stop(&self, timeout: Duration) {
        let all = {
            let mut running = self.running.lock();
            self.has_stopped.store(true, Ordering::Release);
            std::mem::take(&mut *running)
        };
        let mut ending: Vec<_> = all.into_values().filter_map(|entry| entry.end(timeout)).collect();
        let ended = async {
            while let Some(task) = ending.last_mut() {
                let _ = task.await;
                ending.pop();
            }
        };
        if tokio::time::timeout(2 * timeout, ended).await.is_err() {
            ending.iter().for_each(JoinHandle::abort);
            for task in ending {
                let _ = task.await;
            }
        }
    }
}

impl Running {
    /// Has it end. Returns what to wait for, if it is to be waited for.
    fn end(self, timeout: Duration) -> Option<JoinHandle<()>> {
        let _ = self.orders.send(Order::Stop(timeout));
        self.task
    }
}

impl Order {
    /// Whether that is a change.
    fn pause(&mut self, is_paused: bool) -> bool {
        let next = match (*self, is_paused) {
            (Order::Run(_), true) => Order::Pause,
            (Order::Pause, false) => Order::Run(0),
            _ => return false,
        };
        *self = next;
        true
    }
}
