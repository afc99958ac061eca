//! A node that runs, for those who own it and for operators.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Instant;

use parking_lot::Mutex;
use store::{RecoveredStore, Store};
use tokio::sync::oneshot;

use super::files::NodeFiles;
use super::inbox::{Event, Inbox, Order, Reply};
use super::memory::Memory;
use super::orders::draw_cluster;
use super::shell::{Door, Phase, Shell, clock_ms, local};
use super::starts::{EarlierStarts, OwnId};
use super::time::GroupTime;
use super::view::Shown;
use super::{Host, NodeAlarms, NodeError, NodeSetup};
use crate::address::Address;
use crate::control::{ClusterMetrics, ClusterView, Control, ControlError, Outcome};
use crate::formation::{Formation, NodeState, Own};
use crate::link::{ClusterId, Identity, NodeName};
use crate::links::{Links, Setup};
use crate::roster::Roster;
use crate::switchboard::Switchboard;

/// A node that runs. Dropped, it ends as by [`ClusterNode::stop`].
pub struct ClusterNode {
    inbox: Arc<Inbox>,
    links: Arc<Links>,
    shown: Arc<Shown>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl fmt::Debug for ClusterNode {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("ClusterNode").field("links", &self.links.address()).finish_non_exhaustive()
    }
}

impl ClusterNode {
    /// Opens the directory, listens for peers, and goes on from there. The host is called from now on.
    ///
    /// # Errors
    ///
    /// The directory or the port cannot be used, or the node has another name than the directory's.
    pub fn start(setup: NodeSetup, host: Arc<dyn Host>) -> Result<ClusterNode, NodeError> {
        let (disk, dir) = (setup.disk.clone(), setup.store.dir.clone());
        if store::member::finish_emptying(&*disk, &dir)? {
            tracing::info!("what was left of an emptied data directory was removed");
        }
        let identity = store::member::identity_of(&*disk, &dir)?;
        let opened = match &identity {
            Some(_) => None,
            None => Some(Store::open(setup.store.clone(), disk)?),
        };
        let files = NodeFiles::open(&dir)?;
        let (own, earlier) = begin(&files, identity.as_ref(), &setup.name, &dir)?;
        let cluster = identity.as_ref().and_then(|identity| ClusterId::new(identity.cluster));
        let state = state_of(cluster, opened.as_ref());
        let (inbox, events) = Inbox::new();
        let inbox = Arc::new(inbox);
        let board = Switchboard::wary(Arc::new(Door { inbox: inbox.clone(), host: host.clone() }));
        let on_links = Identity {
            cluster,
            name: setup.name.clone(),
            member: Some(own.member),
            incarnation: own.incarnation,
            level: setup.level,
        };
        let links = Setup {
            listen: setup.listen,
            local: local(on_links, setup.secret.as_ref()),
            tls: setup.tls.clone(),
            peers: Vec::new(),
        };
        let links = Arc::new(Links::start(links, board.clone())?);
        let address = match &setup.advertise {
            Some(address) => address.clone(),
            None => own_address(&setup.name, links.address().port())
                .ok_or_else(|| NodeError::NoAddress(setup.name.clone()))?,
        };
        let roster = match cluster {
            Some(cluster) => Some(own_roster(&files, cluster, &setup, own, &address)?),
            None => None,
        };
        let of_own =
            Own { name: setup.name.clone(), member: own.member, level: setup.level, version: setup.version.clone() };
        let formation = Formation::new(of_own, state, setup.formation, files.consent()?, draw_cluster()?);
        // An empty directory that is to be in a cluster is opened again when it is known in which.
        let is_kept = state == NodeState::HasData || !setup.formation.is_configured;
        let shown = Shown::of(&setup.name, setup.level);
        let now = Instant::now();
        let mut shell = Shell {
            address,
            host,
            links: links.clone(),
            board,
            inbox: inbox.clone(),
            time: own_time(&files),
            memory: Memory::open(files.clone()),
            files,
            own,
            earlier,
            sealed_at: (now, 0),
            phase: Phase::Forming(opened.filter(|_| is_kept)),
            formation,
            listed: Vec::new(),
            roster,
            told: BTreeMap::new(),
            report_number: 0,
            asked: BTreeSet::new(),
            gone: BTreeMap::new(),
            next_exchange: now,
            vitals: BTreeMap::new(),
            next_vitals: now,
            plans: Vec::new(),
            next_hand_over: now,
            waiting: Vec::new(),
            joining: None,
            postponed: Vec::new(),
            leaving: None,
            leader: None,
            leaderless_since: now,
            leader_changes: 0,
            standing: None,
            is_draining: false,
            is_app_stopped: false,
            alarms: NodeAlarms::default(),
            peer_alarms: Vec::new(),
            emptied_at: None,
            removed: None,
            shown: shown.clone(),
            started_at: now,
            setup,
        };
        if cluster.is_some() {
            shell.start_member()?;
        }
        shell.show();
        let thread = std::thread::Builder::new().name("cluster node".to_owned()).spawn(move || {
            sampler::does(sampler::Work::Cluster);
            shell.run(&events);
        })?;
        Ok(ClusterNode { inbox, links, shown, thread: Mutex::new(Some(thread)) })
    }

    /// The links to its peers.
    #[must_use]
    pub fn links(&self) -> &Arc<Links> {
        &self.links
    }

    /// Hands over if it leads and another node can, and ends: the host is told to stop, and not called any more when this returns.
    pub fn stop(&self) {
        self.inbox.put(Event::Stop);
        if let Some(thread) = self.thread.lock().take() {
            // A panic has been told.
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
    identity: Option<&store::member::Identity>,
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
fn state_of(cluster: Option<ClusterId>, opened: Option<&(Arc<Store>, RecoveredStore)>) -> NodeState {
    if let Some(cluster) = cluster {
        return NodeState::Member(cluster);
    }
    let has_data = |(store, recovered): &(Arc<Store>, RecoveredStore)| {
        store.appended() > model::ids::JournalPosition::START || !recovered.definitions.is_empty()
    };
    if opened.is_some_and(has_data) { NodeState::HasData } else { NodeState::Empty }
}

/// What time it is in the cluster, as far as this node has kept it.
fn own_time(files: &NodeFiles) -> Arc<GroupTime> {
    let kept_ms = files.ahead().inspect_err(|error| tracing::warn!(%error, "it is asked anew what time it is"));
    Arc::new(GroupTime::new(kept_ms.ok().flatten()))
}

/// Where peers reach a node whose name says it.
fn own_address(name: &NodeName, port: u16) -> Option<Address> {
    Address::new(name.as_str().split_once('@')?.1, port)
}

/// What was known of the others, with this node where it is now.
fn own_roster(
    files: &NodeFiles,
    cluster: ClusterId,
    setup: &NodeSetup,
    own: OwnId,
    address: &Address,
) -> Result<Roster, NodeError> {
    let (name, member) = (&setup.name, own.member);
    let kept = files.roster().inspect_err(|error| tracing::warn!(%error, "the list of nodes is made anew"));
    let kept = kept.ok().flatten().filter(|roster| roster.cluster() == cluster);
    let mut roster = kept.unwrap_or_else(|| Roster::new(cluster));
    if roster.node(name).is_some_and(|node| node.member != member) {
        let _ = roster.replace(name, member);
    }
    enter(&mut roster, setup, own, address);
    Ok(roster)
}

/// Puts a node into a roster of its own.
pub(super) fn enter(roster: &mut Roster, setup: &NodeSetup, own: OwnId, address: &Address) {
    let identity = Identity {
        cluster: Some(roster.cluster()),
        name: setup.name.clone(),
        member: Some(own.member),
        incarnation: own.incarnation,
        level: setup.level,
    };
    // It cannot be another's: then the roster would be another node's.
    let _ = roster.add(&setup.name, own.member, address.clone());
    let _ = roster.hear(&identity, Some(&setup.version), clock_ms(), |_| true);
}

impl Control for ClusterNode {
    fn view(&self) -> Arc<ClusterView> {
        self.shown.view.lock().clone()
    }

    fn metrics(&self) -> ClusterMetrics {
        (**self.shown.metrics.lock()).clone()
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
