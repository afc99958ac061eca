//! Vhosts that an upstream refuses to every user for now, though it is well otherwise: RabbitMQ's vhosts go down one by one.
//!
//! Each has a circuit of its own that the first refusal opens: an upstream that says no means it. It is forgotten when an upstream
//! connection of the vhost opens there, or when no client has asked for a while.

use std::collections::BTreeMap;

use super::Options;
use super::breaker::Breaker;
use crate::limits::{ERROR_LEN_MAX, REFUSED_VHOST_COUNT_MAX, REFUSED_VHOST_MEMORY_MS};

#[derive(Debug, Default)]
pub(super) struct Refusals {
    by_vhost: BTreeMap<Box<str>, Refusal>,
}

#[derive(Debug)]
struct Refusal {
    breaker: Breaker,
    /// The upstream's words.
    text: String,
}

/// A vhost that an upstream refuses to every user, for reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedVhost {
    /// Its name.
    pub name: String,
    /// The upstream's words.
    pub text: String,
    /// When the upstream is asked again.
    pub until_ms: u64,
}

impl Refusals {
    /// Whether the upstream may be asked for an upstream connection of this vhost.
    pub(super) fn admits(&self, vhost: Option<&str>, now_ms: u64) -> bool {
        self.get(vhost).is_none_or(|refusal| refusal.breaker.admits(now_ms))
    }

    /// When to ask again whether it may, if it may not.
    pub(super) fn look_again_ms(&self, vhost: Option<&str>, now_ms: u64) -> Option<u64> {
        let refusal = self.get(vhost).filter(|refusal| !refusal.breaker.admits(now_ms))?;
        Some(refusal.breaker.look_again_ms(now_ms))
    }

    /// What the upstream said last when it was asked for this vhost, if it has let no user in since.
    pub(super) fn text(&self, vhost: Option<&str>) -> Option<&str> {
        self.get(vhost).map(|refusal| &*refusal.text)
    }

    /// An attempt begins.
    pub(super) fn tried(&mut self, vhost: Option<&str>, options: &Options, now_ms: u64) {
        if let Some(refusal) = self.get_mut(vhost) {
            refusal.breaker.tried(options, now_ms);
        }
    }

    /// The attempt has not heard what the upstream says of this vhost: another one may begin. Where several did, that is one too many,
    /// which does no harm.
    pub(super) fn left_untried(&mut self, vhost: Option<&str>, now_ms: u64) {
        if let Some(refusal) = self.get_mut(vhost) {
            refusal.breaker.left_untried(now_ms);
        }
    }

    /// A user was let in.
    pub(super) fn succeeded(&mut self, vhost: Option<&str>) {
        if let Some(vhost) = vhost {
            self.by_vhost.remove(vhost);
        }
    }

    pub(super) fn refused(&mut self, vhost: &str, why: &str, options: &Options, now_ms: u64, random: u64) {
        if !self.by_vhost.contains_key(vhost) && self.by_vhost.len() >= REFUSED_VHOST_COUNT_MAX {
            let first = self.by_vhost.iter().min_by_key(|(_, refusal)| refusal.breaker.until_ms());
            if let Some(first) = first.map(|(vhost, _)| vhost.clone()) {
                self.by_vhost.remove(&first);
            }
        }
        let refusal = self
            .by_vhost
            .entry(vhost.into())
            .or_insert_with(|| Refusal { breaker: Breaker::default(), text: String::new() });
        refusal.breaker.refused(options, now_ms, random);
        why[..why.floor_char_boundary(ERROR_LEN_MAX)].clone_into(&mut refusal.text);
    }

    /// Forgets those for which no client has asked for long. Whether there were any.
    pub(super) fn forget(&mut self, now_ms: u64) -> bool {
        let before = self.by_vhost.len();
        self.by_vhost.retain(|_, refusal| {
            refusal.breaker.until_ms().is_some_and(|until_ms| now_ms < until_ms.saturating_add(REFUSED_VHOST_MEMORY_MS))
        });
        self.by_vhost.len() < before
    }

    pub(super) fn snapshot(&self) -> Vec<RefusedVhost> {
        let shown = self.by_vhost.iter().map(|(name, Refusal { breaker, text })| RefusedVhost {
            name: name.to_string(),
            text: text.clone(),
            until_ms: breaker.until_ms().unwrap_or_default(),
        });
        shown.collect()
    }

    fn get(&self, vhost: Option<&str>) -> Option<&Refusal> {
        self.by_vhost.get(vhost?)
    }

    fn get_mut(&mut self, vhost: Option<&str>) -> Option<&mut Refusal> {
        self.by_vhost.get_mut(vhost?)
    }
}
