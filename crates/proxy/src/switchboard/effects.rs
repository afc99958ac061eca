//! What the switchboard asks of the shell and reports to it, in its order, until the shell takes it.

use std::collections::BTreeMap;
use std::mem;
use std::rc::Rc;

use super::effect::{Effect, Notice};
use super::ids::{ClientId, UpstreamConnectionId};

#[derive(Debug, Default)]
pub(super) struct Effects {
    effects: Vec<Effect>,
    /// Clients that were closed because they had waited for too long, by user and reason.
    given_up: BTreeMap<(Rc<str>, String), usize>,
}

impl Effects {
    pub(super) fn push(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    pub(super) fn log(&mut self, notice: Notice) {
        self.effects.push(Effect::Log(notice));
    }

    #[inline]
    pub(super) fn client_changed(&mut self, id: ClientId) {
        self.push_once(Effect::ClientChanged(id));
    }

    #[inline]
    pub(super) fn upstream_changed(&mut self, id: UpstreamConnectionId) {
        self.push_once(Effect::UpstreamChanged(id));
    }

    /// A client was closed because it had waited for too long.
    pub(super) fn gave_up(&mut self, user: Rc<str>, text: String) {
        *self.given_up.entry((user, text)).or_default() += 1;
    }

    /// One word for all that have waited in vain for the same: there may be thousands.
    pub(super) fn log_given_up(&mut self) {
        for ((user, text), count) in mem::take(&mut self.given_up) {
            self.log(Notice::GaveUp { user: user.to_string(), text, count });
        }
    }

    pub(super) fn take(&mut self) -> Vec<Effect> {
        mem::take(&mut self.effects)
    }

    fn push_once(&mut self, effect: Effect) {
        if self.effects.last() != Some(&effect) {
            self.effects.push(effect);
        }
    }
}
