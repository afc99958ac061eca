//! The user of one request, and the vhosts that it may enter. Back ends may have to be asked about that, over a network: what needs
//! their answer is done again when it is there.

use std::collections::BTreeMap;
use std::sync::Arc;

use broker::{Actor, Broker, VhostAccess};
use model::name::VhostName;
use parking_lot::Mutex;

use crate::tags::is_administrator;

/// The user of a request, and the vhosts that it has entered since the request came.
pub(crate) struct RequestContext {
    broker: Arc<Broker>,
    pub(crate) actor: Actor,
    known: Mutex<BTreeMap<String, VhostAccess>>,
}

impl RequestContext {
    pub(crate) fn new(broker: Arc<Broker>, actor: Actor) -> Self {
        Self { broker, actor, known: Mutex::default() }
    }

    /// The access to a vhost. None when there is no such vhost, or when the user may not enter it.
    pub(crate) fn enter(&self, vhost: &str) -> Option<VhostAccess> {
        let known = self.known.lock().get(vhost).cloned();
        let inside = match known {
            Some(inside) => inside,
            None => {
                let inside = self.broker.open_vhost(&self.actor, vhost)?;
                self.known.lock().insert(vhost.to_owned(), inside.clone());
                inside
            }
        };
        inside.still_allowed().then_some(inside)
    }

    /// The vhosts whose contents the user sees, by name: an administrator all, others those that they may enter.
    pub(crate) fn vhosts(&self) -> Vec<VhostName> {
        let mut names = self.broker.vhost_names();
        if is_administrator(&self.actor.identity) {
            return names;
        }
        names.retain(|name| self.enter(name.as_str()).is_some());
        names
    }

    /// Calls `act`, again whenever back ends had to be asked for it.
    pub(crate) async fn retry_until_authorized<T>(&self, mut act: impl FnMut() -> T) -> T {
        loop {
            let result = act();
            let known: Vec<VhostAccess> = self.known.lock().values().cloned().collect();
            let mut was_asked = false;
            for inside in known {
                was_asked |= inside.await_authorization().await;
            }
            if !was_asked {
                return result;
            }
        }
    }
}
