//! What the cluster's threads ask of the process.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use broker::view::{Alarms, PeerAlarms};
use broker::{Actor, Broker};
use cluster::control::NodeFigures;
use cluster::wire::NodeName;
use cluster::{ClientSituation, Contents, ForwardedClient, Host, NodeAlarms};
use store::{RecoveredStore, Store};
use tokio::runtime::Handle;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{oneshot, watch};

use super::figures::OwnFigures;
use super::forward::entry_of;
use crate::node::Ingress;

/// What is to be done, in this order.
pub(super) enum Command {
    /// A broker is to run on this store.
    Serve { store: Arc<Store>, recovered: Box<RecoveredStore>, reply: oneshot::Sender<Result<(), String>> },
    /// The broker receives nothing more.
    Pause { reply: oneshot::Sender<()> },
    /// The broker stops, and nothing of it is left.
    Stop { reason: String, reply: oneshot::Sender<()> },
    /// Where clients go while none runs.
    SetSituation(ClientSituation),
    /// The process is to end.
    Failed(String),
}

/// The process, as the cluster's threads see it.
pub(super) struct ProcessHost {
    commands: UnboundedSender<Command>,
    ingress: Arc<Ingress>,
    runtime: Handle,
    broker: Mutex<Weak<Broker>>,
    /// Whose limits count while no broker runs.
    options: broker::Options,
    data_dir: PathBuf,
    figures: OwnFigures,
    /// Why this node's own listeners take no clients.
    own_refusal: watch::Sender<Option<Arc<str>>>,
}

impl fmt::Debug for ProcessHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProcessHost").finish_non_exhaustive()
    }
}

impl ProcessHost {
    /// To be made inside the runtime where clients are served.
    pub(super) fn new(
        ingress: Arc<Ingress>,
        options: broker::Options,
        data_dir: &Path,
        figures: OwnFigures,
    ) -> (Arc<Self>, UnboundedReceiver<Command>) {
        let (commands, received) = unbounded_channel();
        let host = ProcessHost {
            commands,
            ingress,
            runtime: Handle::current(),
            broker: Mutex::new(Weak::new()),
            options,
            data_dir: data_dir.to_owned(),
            figures,
            own_refusal: watch::channel(None).0,
        };
        (Arc::new(host), received)
    }

    pub(super) fn set_broker(&self, broker: Option<Arc<Broker>>) {
        *self.broker.lock().unwrap_or_else(PoisonError::into_inner) =
            broker.as_ref().map_or_else(Weak::new, Arc::downgrade);
    }

    fn broker(&self) -> Option<Arc<Broker>> {
        self.broker.lock().unwrap_or_else(PoisonError::into_inner).upgrade()
    }

    /// Why this node's own clients are to disconnect, as long as that lasts.
    pub(super) fn own_refusal(&self) -> watch::Receiver<Option<Arc<str>>> {
        self.own_refusal.subscribe()
    }

    /// Has the process do something, and waits until it has. A process that ends does not.
    fn order<T>(&self, command: impl FnOnce(oneshot::Sender<T>) -> Command) -> Option<T> {
        let (tx, rx) = oneshot::channel();
        self.commands.send(command(tx)).ok()?;
        rx.blocking_recv().ok()
    }
}

impl Host for ProcessHost {
    fn serve(&self, store: Arc<Store>, mut recovered: RecoveredStore, ahead_ms: Option<i64>) -> Result<(), String> {
        if let Some(ahead_ms) = ahead_ms {
            broker::go_on_by_time(&mut recovered, ahead_ms);
        }
        let recovered = Box::new(recovered);
        let served = self.order(|reply| Command::Serve { store, recovered, reply });
        served.unwrap_or_else(|| Err("the process is ending".to_owned()))
    }

    fn pause(&self) {
        self.order(|reply| Command::Pause { reply });
    }

    fn stop(&self, reason: &str) {
        let reason = reason.to_owned();
        self.order(|reply| Command::Stop { reason, reply });
    }

    fn set_situation(&self, situation: ClientSituation) {
        let _ = self.commands.send(Command::SetSituation(situation));
    }

    fn refuse_own(&self, reason: Option<&str>) {
        let reason: Option<Arc<str>> = reason.map(Into::into);
        self.ingress.refuse_own(reason.clone());
        self.own_refusal.send_replace(reason);
    }

    fn close_clients(&self, reason: &str) {
        if let Some(broker) = self.broker() {
            broker.close_all_connections(&Actor::broker(), reason);
        }
    }

    fn forwarded(&self, client: ForwardedClient) {
        let ingress = self.ingress.clone();
        self.runtime.spawn(async move {
            let (entry, by) = (entry_of(&client.header), client.by.clone());
            let admitted = match (entry, client.attach()) {
                (Some(entry), Ok(stream)) => ingress.admit_forwarded(entry, stream, by.as_str()),
                (None, _) => Err(anyhow::anyhow!("this node does not accept forwarded clients")),
                (_, Err(error)) => Err(error.into()),
            };
            if let Err(error) = admitted {
                tracing::debug!(%error, "forwarded connection closed");
            }
        });
    }

    fn contents(&self) -> Option<Contents> {
        let broker = self.broker()?;
        let totals = broker.totals(|_| true);
        let vhosts = broker.vhost_names();
        let messages = vhosts.iter().flat_map(|vhost| broker.queue_views(vhost.as_str()));
        let messages = messages.map(|queue| queue.ready_count() + queue.unacked_count()).sum();
        // What a first start makes: one vhost, one user, and nothing in them.
        let is_as_made = totals.queues == 0 && vhosts.len() <= 1 && broker.users().len() <= 1;
        (!is_as_made).then_some(Contents { queues: totals.queues, messages })
    }

    fn alarms(&self) -> NodeAlarms {
        // A broker checks them itself, and against limits that may have been set since the start.
        let alarms = match self.broker() {
            Some(broker) => broker.alarms(),
            None => broker::look_at_resources(&self.options, &self.data_dir),
        };
        NodeAlarms { is_memory_low: alarms.is_memory_low, is_disk_low: alarms.is_disk_low }
    }

    fn peer_alarms(&self, alarms: &[(NodeName, NodeAlarms)]) {
        let Some(broker) = self.broker() else { return };
        let of_peer = |(node, alarms): &(NodeName, NodeAlarms)| PeerAlarms {
            node: node.to_string(),
            alarms: Alarms { is_memory_low: alarms.is_memory_low, is_disk_low: alarms.is_disk_low },
        };
        broker.set_peer_alarms(alarms.iter().map(of_peer).collect());
    }

    fn broker_ms(&self) -> Option<u64> {
        self.broker().map(|broker| broker.now_ms())
    }

    fn figures(&self) -> NodeFigures {
        match self.broker() {
            Some(broker) => {
                let view = broker.node_view(&self.data_dir);
                let limits = (view.memory_limit_len, view.disk_free_limit_len);
                let figures = self.figures.now(limits, view.alarms);
                NodeFigures { connection_count: view.connection_count as u64, ..figures }
            }
            None => {
                let limits = (self.options.memory_limit_len, self.options.disk_free_limit_len);
                self.figures.now(limits, broker::look_at_resources(&self.options, &self.data_dir))
            }
        }
    }

    fn failed(&self, reason: &str) {
        let _ = self.commands.send(Command::Failed(reason.to_owned()));
    }
}
