//! What a client waits for, and with which patience.

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
    /// With which patience that is waited for.
    fn patience(self) -> Option<Patience> {
        match self {
            Waits::Nothing => None,
            Waits::Login | Waits::Pool(_) | Waits::OwnConnection | Waits::SpoolRoom | Waits::SpoolEnd => {
                Some(Patience::Upstream)
            }
            Waits::Quiet => Some(Patience::Quiet),
            Waits::Room | Waits::Answer => Some(Patience::Turn),
        }
    }
}

/// Whose patience it is that a client has: how long it has waited for one thing says nothing of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Patience {
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
    /// With which patience it has waited since when. It outlasts `what`: a client that looks again and waits on has waited all along.
    patience: Option<(Patience, u64)>,
}

impl Wait {
    pub(super) fn new() -> Self {
        Wait { what: Waits::Nothing, patience: None }
    }

    pub(super) fn what(&self) -> Waits {
        self.what
    }

    /// Since when it has waited with patience that ends.
    pub(super) fn since_ms(&self) -> Option<u64> {
        self.patience.map(|(_, since_ms)| since_ms)
    }

    /// It waits for this from now on, unless it has waited with the same patience before.
    pub(super) fn begin(&mut self, what: Waits, now_ms: u64) {
        self.what = what;
        let since_ms = |(before, since_ms)| (Some(before) == what.patience()).then_some(since_ms);
        let since_ms = self.patience.and_then(since_ms).unwrap_or(now_ms);
        self.patience = what.patience().map(|patience| (patience, since_ms));
    }

    /// It looks again at what it waits with. It may have to wait on.
    pub(super) fn interrupt(&mut self) {
        self.what = Waits::Nothing;
    }

    /// It has what its patience was for. Gives since when it has waited.
    pub(super) fn end_patience(&mut self) -> Option<u64> {
        self.patience.take().map(|(_, since_ms)| since_ms)
    }

    /// Its patience begins anew.
    pub(super) fn renew_patience(&mut self, now_ms: u64) {
        self.patience = self.patience.map(|(patience, _)| (patience, now_ms));
    }
}
