//! What a shovel reports of itself.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use model::name::VhostName;
use parking_lot::Mutex;

/// Which shovel. Those of the configuration belong to no vhost.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ShovelId {
    /// Whose it is; `None`: the configuration's.
    pub vhost: Option<VhostName>,
    /// Its name.
    pub name: Box<str>,
}

impl fmt::Display for ShovelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.vhost {
            Some(vhost) => write!(f, "'{}' in vhost '{vhost}'", self.name),
            None => write!(f, "'{}'", self.name),
        }
    }
}

/// What a shovel does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// It connects, or declares.
    Starting,
    /// It moves messages.
    Running(Box<Ends>),
    /// It has failed, and begins again after its delay.
    Terminated {
        /// Why, without passwords.
        reason: Box<str>,
    },
    /// An operator has it wait.
    Paused,
}

impl State {
    /// What all states are called.
    pub const NAMES: [&str; 4] = ["paused", "running", "starting", "terminated"];

    /// RabbitMQ's word, but for `paused`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            State::Starting => "starting",
            State::Running(_) => "running",
            State::Terminated { .. } => "terminated",
            State::Paused => "paused",
        }
    }
}

/// Where a shovel that runs is connected. URIs have no users.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ends {
    /// The source that it has found.
    pub source_uri: Box<str>,
    /// The destination that it has found.
    pub destination_uri: Box<str>,
}

/// Whether a shovel's destination takes messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// It does.
    Running,
    /// It takes them more slowly than they come.
    Flow,
    /// It has said that it wants none (`connection.blocked`).
    Blocked,
}

impl Flow {
    /// RabbitMQ's word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Flow::Running => "running",
            Flow::Flow => "flow",
            Flow::Blocked => "blocked",
        }
    }
}

/// Counts of a shovel that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Messages published since it connected.
    pub forwarded_count: u64,
    /// Messages that it is still to move, and of these the ones that are still to be published; `None`: without an end.
    pub remaining: Option<(u64, u64)>,
    /// Messages that wait for the destination.
    pub pending_count: u64,
    /// Whether the destination takes messages.
    pub flow: Flow,
}

/// A shovel as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShovelStatus {
    /// Which.
    pub id: ShovelId,
    /// What it does.
    pub state: State,
    /// Since when.
    pub since: SystemTime,
    /// What it has done.
    pub progress: Progress,
}

/// What a shovel's task writes, and others read.
#[derive(Debug)]
pub(crate) struct StatusCell {
    state: Mutex<(State, SystemTime)>,
    forwarded_count: AtomicU64,
    pending_count: AtomicU64,
    /// One more than there are; 0: without an end.
    to_move: AtomicU64,
    to_take: AtomicU64,
    flow: AtomicU64,
}

impl StatusCell {
    pub(crate) fn new() -> Self {
        StatusCell {
            state: Mutex::new((State::Starting, SystemTime::now())),
            forwarded_count: AtomicU64::new(0),
            pending_count: AtomicU64::new(0),
            to_move: AtomicU64::new(0),
            to_take: AtomicU64::new(0),
            flow: AtomicU64::new(0),
        }
    }

    pub(crate) fn set_state(&self, state: State) {
        *self.state.lock() = (state, SystemTime::now());
    }

    pub(crate) fn set_progress(&self, progress: Progress) {
        let (to_move, to_take) = progress.remaining.map_or((0, 0), |(to_move, to_take)| (to_move + 1, to_take + 1));
        self.forwarded_count.store(progress.forwarded_count, Ordering::Relaxed);
        self.pending_count.store(progress.pending_count, Ordering::Relaxed);
        self.to_move.store(to_move, Ordering::Relaxed);
        self.to_take.store(to_take, Ordering::Relaxed);
        self.flow.store(progress.flow as u64, Ordering::Relaxed);
    }

    pub(crate) fn status(&self, id: ShovelId) -> ShovelStatus {
        let (state, since) = self.state.lock().clone();
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let remaining = read(&self.to_move).checked_sub(1).zip(read(&self.to_take).checked_sub(1));
        let flow = match read(&self.flow) {
            0 => Flow::Running,
            1 => Flow::Flow,
            _ => Flow::Blocked,
        };
        let progress = Progress {
            forwarded_count: read(&self.forwarded_count),
            remaining,
            pending_count: read(&self.pending_count),
            flow,
        };
        ShovelStatus { id, state, since, progress }
    }
}
