//! What a task waits for.

use std::borrow::Cow;
use std::future::Future;
use std::sync::Arc;

use super::active::is_active;
use super::clock::now_ns;
use super::recorder::recorder;
use super::task::{self, Trail, Worker};
use super::wall::FrameKind;

/// What is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitKind {
    /// The disk.
    Disk,
    /// A peer, over a socket.
    Socket,
    /// Another task or thread of the broker.
    Task,
}

impl WaitKind {
    pub(super) fn frame(self) -> FrameKind {
        match self {
            WaitKind::Disk => FrameKind::Disk,
            WaitKind::Socket => FrameKind::Socket,
            WaitKind::Task => FrameKind::Task,
        }
    }
}

/// What a wait is for.
#[derive(Debug, Clone, Copy)]
pub struct WaitReason {
    /// Its kind.
    pub kind: WaitKind,
    /// Its name.
    pub name: &'static str,
    /// The threads whose work it is, by their names: what the first of them did meanwhile that did anything.
    pub threads: &'static [&'static str],
}

/// Waits for a future, and says what for.
pub async fn waiting<F: Future>(waited: WaitReason, future: F) -> F::Output {
    if !is_active() {
        return future.await;
    }
    let wait = OpenWait::begin(waited.kind.frame(), Cow::Borrowed(waited.name), Worker::default());
    let output = future.await;
    // It may have made its first call meanwhile.
    wait.end_with(Worker::threads(waited.threads));
    output
}

/// A wait that is open; it ends when dropped.
pub(super) struct OpenWait {
    trail: Arc<Trail>,
    depth: usize,
    kind: FrameKind,
    start_ns: u64,
    worker: Worker,
}

impl OpenWait {
    pub(super) fn begin(kind: FrameKind, name: Cow<'static, str>, worker: Worker) -> OpenWait {
        let (trail, start_ns) = (task::current(), now_ns());
        let depth = trail.enter(kind, name, start_ns, Vec::new());
        OpenWait { trail, depth, kind, start_ns, worker }
    }

    fn end_with(mut self, worker: Worker) {
        self.worker = worker;
    }
}

impl Drop for OpenWait {
    fn drop(&mut self) {
        let end_ns = now_ns();
        self.trail.exit(self.depth, end_ns, Some(&self.worker));
        let holder = self.worker.holder.as_deref().unwrap_or_default();
        recorder().record(self.kind.name(), holder, self.trail.id(), self.start_ns, end_ns);
    }
}
