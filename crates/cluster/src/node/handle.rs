//! A node that runs, for its owner and for operators.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;

use parking_lot::Mutex;
use store::Store;
use tokio::sync::oneshot;

use super::error::NodeError;
use super::files::NodeFiles;
use super::host::Host;
use super::inbox::{Event, Inbox, Order, Reply};
use super::io::NodeIo;
use super::own::{OwnNode, local};
use super::phase::OpenedStore;
use super::setup::NodeSetup;
use super::sources::LinkEvents;
use super::starts::{EarlierStarts, OwnId};
use super::task::{FoundDirectory, NodeTask};
use super::time::GroupTime;
use super::view::NodeView;
use crate::address::Address;
use crate::call_router::CallRouter;
use crate::control::{ClusterMetrics, ClusterView, Control, ControlError, Outcome};
use crate::formation::NodeState;
use crate::peers::{self, Links};
use crate::wire::{ClusterId, NodeName};

/// A node that runs. Dropped, it ends as by [`ClusterNode::stop`].
pub struct ClusterNode {
    inbox: Arc<Inbox>,
    links: Arc<Links>,
    view: Arc<NodeView>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl fmt::Debug for ClusterNode {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("ClusterNode").field("links", &self.links.address()).finish_non_exhaustive()
    }
}

impl ClusterNode {
    /// Opens the directory, listens for peers, and continues from there. The host is called from now on.
    ///
    /// # Errors
    ///
    /// The directory or the port cannot be used, or the node has another name than the directory's.
    pub fn start(setup: NodeSetup, host: Arc<dyn Host>) -> Result<ClusterNode, NodeError> {
        let (disk, dir) = (setup.disk.clone(), setup.store.dir.clone());
        if store::group::finish_emptying(&*disk, &dir)? {
            tracing::info!("what was left of an emptied data directory was removed");
        }
        let identity = store::group::identity_of(&*disk, &dir)?;
        let opened = match &identity {
            Some(_) => None,
            None => Some(Store::open(setup.store.clone(), disk)?),
        };
        let files = NodeFiles::open(&dir)?;
        let (id, earlier) = begin(&files, identity.as_ref(), &setup.name, &dir)?;
        let cluster = identity.as_ref().and_then(|identity| ClusterId::new(identity.cluster));
        let state = state_of(cluster, opened.as_ref());
        let (inbox, events) = Inbox::new();
        let inbox = Arc::new(inbox);
        let router = CallRouter::wary(Arc::new(LinkEvents::new(inbox.clone(), host.clone())));
        let links = peers::Setup {
            listen: setup.listen,
            local: local(&setup, id, cluster),
            tls: setup.tls.clone(),
            peers: Vec::new(),
        };
        let links = Arc::new(Links::start(links, router.clone())?);
        let address = match &setup.advertise {
            Some(address) => address.clone(),
            None => own_address(&setup.name, links.address().port())
                .ok_or_else(|| NodeError::NoAddress(setup.name.clone()))?,
        };
        // An empty directory that is to be in a cluster is opened again when it is known in which.
        let is_kept = state == NodeState::HasData || !setup.formation.is_configured;
        let view = NodeView::of(&setup.name, setup.level);
        let settings = setup.formation;
        let own = OwnNode::new(setup, address, id, earlier);
        let formation = own.formation(state, settings, files.consent()?)?;
        let found = FoundDirectory {
            opened: opened.filter(|_| is_kept),
            roster: cluster.map(|cluster| own.roster(&files, cluster)),
            time: own_time(&files),
            files,
        };
        let io = NodeIo::new(host, links.clone(), router, inbox.clone());
        let task = NodeTask::start(own, io, found, formation, view.clone())?;
        let thread = std::thread::Builder::new().name("cluster node".to_owned()).spawn(move || {
            sampler::does(sampler::Work::Cluster);
            task.run(&events);
        })?;
        Ok(ClusterNode { inbox, links, view, thread: Mutex::new(Some(thread)) })
    }

    /// The links to its peers.
    #[must_use]
    pub fn links(&self) -> &Arc<Links> {
        &self.links
    }

    /// Hands over if it leads and another node can, and ends: the host is stopped, and no longer called when this returns.
    pub fn stop(&self) {
        self.inbox.put(Event::Stop);
        if let Some(thread) = self.thread.lock().take() {
            // A panic has been logged.
            let _ = thread.join();
        }
    }

    fn order(&self, order: Order) -> Outcome<()> {
        let outcome = self.order_text(order);
        Box::pin(async move { outcome.await.map(drop) })
    }

    fn order_text(&self, order: Order) -> Outcome<String> {
        let (tx, rx) = oneshot::channel();
        self.inbox.put(Event::Ordered { order, reply: Reply::Here(tx) });
        Box::pin(async move { rx.await.unwrap_or_else(|_| Err(ControlError::Impossible("the node ends".to_owned()))) })
    }
}

impl Drop for ClusterNode {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Begins another start of a directory, if it may go on as the member that it is, where it is one.
fn begin(
    files: &NodeFiles,
    identity: Option<&store::group::Identity>,
    name: &NodeName,
    dir: &Path,
) -> Result<(OwnId, EarlierStarts), NodeError> {
    let Some(identity) = identity else { return Ok(files.begin()?) };
    if identity.name != name.as_str() {
        return Err(NodeError::Renamed { was: identity.name.clone(), is: name.clone() });
    }
    if let Some(why) = files.lost()? {
        return Err(NodeError::Lost(why));
    }
    if !files.is_original()? {
        return Err(NodeError::Copy { name: name.clone(), dir: dir.to_owned() });
    }
    let (own, earlier) = files.begin()?;
    Ok((OwnId { member: identity.member, ..own }, earlier))
}

/// What a directory holds.
fn state_of(cluster: Option<ClusterId>, opened: Option<&OpenedStore>) -> NodeState {
    if let Some(cluster) = cluster {
        return NodeState::Member(cluster);
    }
    let has_data = |(store, recovered): &OpenedStore| {
        store.appended() > model::ids::JournalPosition::START || !recovered.definitions.is_empty()
    };
    if opened.is_some_and(has_data) { NodeState::HasData } else { NodeState::Empty }
}

/// What time it is in the cluster, as far as this node has kept it.
fn own_time(files: &NodeFiles) -> Arc<GroupTime> {
    let kept_ms =
        files.ahead().inspect_err(|error| tracing::warn!(%error, "the cluster's time cannot be read: peers are asked"));
    Arc::new(GroupTime::new(kept_ms.ok().flatten()))
}

/// Where peers reach a node whose name says it.
fn own_address(name: &NodeName, port: u16) -> Option<Address> {
    Address::new(name.as_str().split_once('@')?.1, port)
}

impl Control for ClusterNode {
    fn view(&self) -> Arc<ClusterView> {
        self.view.view()
    }

    fn metrics(&self) -> ClusterMetrics {
        (*self.view.metrics()).clone()
    }

    fn join(&self, seed: &str, force: bool) -> Outcome<()> {
        self.order(Order::Join { seed: seed.to_owned(), force })
    }

    fn forget(&self, name: &str) -> Outcome<()> {
        self.order(Order::Forget { name: name.to_owned() })
    }

    fn reset(&self, node: Option<&str>, force: bool) -> Outcome<()> {
        self.order(Order::Reset { node: node.map(str::to_owned), force })
    }

    fn drain(&self, node: Option<&str>) -> Outcome<()> {
        self.order(Order::Drain { node: node.map(str::to_owned) })
    }

    fn revive(&self, node: Option<&str>) -> Outcome<()> {
        self.order(Order::Revive { node: node.map(str::to_owned) })
    }

    fn run_app(&self, node: Option<&str>, runs: bool) -> Outcome<()> {
        self.order(Order::App { node: node.map(str::to_owned), runs })
    }

    fn transfer(&self, to: Option<&str>) -> Outcome<String> {
        self.order_text(Order::Transfer { to: to.map(str::to_owned) })
    }
}
