//! What a client waits for, and with which timeout.

use super::lane::Kind;

/// What the next frame of a client waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Waits {
    Nothing,
    /// That an upstream has a word on its login or its vhost, or the guard on its user.
    Login,
    /// An upstream connection of its pool of this kind, or a channel on one.
    Pool(Kind),
    /// Room in an upstream connection's output.
    Room,
    /// An upstream connection of its own.
    OwnConnection,
    /// The answers and confirms that are to come over shared upstream connections before it can leave them.
    Quiet,
    /// The answer to what it asked before.
    Answer,
    /// Room in the spool.
    SpoolRoom,
    /// That what was kept of its user and vhost is sent on.
    SpoolEnd,
}

impl Waits {
    /// With which timeout.
    fn timeout(self) -> Option<TimeoutKind> {
        match self {
            Waits::Nothing => None,
            Waits::Login | Waits::Pool(_) | Waits::OwnConnection | Waits::SpoolRoom | Waits::SpoolEnd => {
                Some(TimeoutKind::Upstream)
            }
            Waits::Quiet => Some(TimeoutKind::Quiet),
            Waits::Room | Waits::Answer => Some(TimeoutKind::Turn),
        }
    }
}

/// Which timeout a wait has: how long a client has waited for one thing says nothing about another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TimeoutKind {
    /// For upstreams: an upstream connection, a word on a login, room in the spool.
    Upstream,
    /// For confirms and answers.
    Quiet,
    /// For an upstream connection that takes more, or an answer that comes before the next question: no client that is there is closed for
    /// that.
    Turn,
}

/// A client's wait.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wait {
    what: Waits,
    /// The kind, and since when. It outlasts `what`: a client that looks again and waits on has waited all along.
    timeout: Option<(TimeoutKind, u64)>,
}

impl Wait {
    pub(super) fn new() -> Self {
        Wait { what: Waits::Nothing, timeout: None }
    }

    pub(super) fn what(&self) -> Waits {
        self.what
    }

    /// Since when its timeout runs.
    pub(super) fn since_ms(&self) -> Option<u64> {
        self.timeout.map(|(_, since_ms)| since_ms)
    }

    /// It waits for this from now on, unless a timeout of the same kind runs already.
    pub(super) fn begin(&mut self, what: Waits, now_ms: u64) {
        self.what = what;
        let since_ms = |(before, since_ms)| (Some(before) == what.timeout()).then_some(since_ms);
        let since_ms = self.timeout.and_then(since_ms).unwrap_or(now_ms);
        self.timeout = what.timeout().map(|kind| (kind, since_ms));
    }

    /// It looks again at what it waits with. It may have to wait on.
    pub(super) fn interrupt(&mut self) {
        self.what = Waits::Nothing;
    }

    /// It has what it waited for. Returns since when it has waited.
    pub(super) fn end_timeout(&mut self) -> Option<u64> {
        self.timeout.take().map(|(_, since_ms)| since_ms)
    }

    /// Its timeout begins anew.
    pub(super) fn restart_timeout(&mut self, now_ms: u64) {
        self.timeout = self.timeout.map(|(kind, _)| (kind, now_ms));
    }
}
