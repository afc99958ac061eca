//! Where is kept what cannot be sent, if anywhere, and the clients that wait for something about it.

use std::sync::Arc;

use super::ids::ClientId;
use crate::spool::Spool;

#[derive(Debug, Default)]
pub(super) struct SpoolAccess {
    spool: Option<Arc<Spool>>,
    waiters: Vec<ClientId>,
}

impl SpoolAccess {
    pub(super) fn set(&mut self, spool: Arc<Spool>) {
        self.spool = Some(spool);
    }

    #[inline]
    pub(super) fn is_there(&self) -> bool {
        self.spool.is_some()
    }

    #[inline]
    pub(super) fn get(&self) -> Option<&Spool> {
        self.spool.as_deref()
    }

    pub(super) fn add_waiter(&mut self, client: ClientId) {
        self.waiters.push(client);
    }

    pub(super) fn take_waiters(&mut self) -> Vec<ClientId> {
        std::mem::take(&mut self.waiters)
    }
}
