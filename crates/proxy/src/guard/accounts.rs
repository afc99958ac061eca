//! Users or addresses that have connections, and those that had some and have not got all tokens back.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;

use super::Rate;
use super::bucket::Bucket;
use crate::limits::IDLE_ACCOUNT_COUNT_MAX;

/// Of users or of addresses. Invariant: no name is in both maps, and one in `busy` has a connection.
#[derive(Debug)]
pub(super) struct Accounts<K> {
    busy: HashMap<K, Account>,
    /// Without connections: remembered until the bucket is full again, and no more than so many.
    idle: HashMap<K, Bucket>,
}

#[derive(Debug)]
struct Account {
    connection_count: u64,
    bucket: Bucket,
}

impl<K: Eq + Hash> Accounts<K> {
    pub(super) fn new() -> Self {
        Accounts { busy: HashMap::new(), idle: HashMap::new() }
    }

    pub(super) fn connection_count<Q>(&self, key: &Q) -> u64
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        self.busy.get(key).map_or(0, |account| account.connection_count)
    }

    /// One connection more; and what to take of its tokens.
    pub(super) fn join<Q>(&mut self, key: &Q) -> &mut Bucket
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ToOwned<Owned = K> + ?Sized,
    {
        if !self.busy.contains_key(key) {
            let bucket = self.idle.remove(key).unwrap_or_default();
            self.busy.insert(key.to_owned(), Account { connection_count: 0, bucket });
        }
        let account = self.busy.get_mut(key).expect("inserted above if it was not there");
        account.connection_count += 1;
        &mut account.bucket
    }

    /// One connection less.
    pub(super) fn part<Q>(&mut self, key: &Q, rate: Rate, now_ms: u64)
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ToOwned<Owned = K> + ?Sized,
    {
        let Some(account) = self.busy.get_mut(key) else {
            debug_assert!(false, "a client left that was not there");
            return;
        };
        account.connection_count -= 1;
        if account.connection_count > 0 {
            return;
        }
        if let Some((key, mut account)) = self.busy.remove_entry(key)
            && !account.bucket.is_full(rate, now_ms)
            && self.idle.len() < IDLE_ACCOUNT_COUNT_MAX
        {
            self.idle.insert(key, account.bucket);
        }
    }

    /// The tokens of a known name; no other has taken any.
    pub(super) fn bucket<Q>(&mut self, key: &Q) -> Option<&mut Bucket>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        match self.busy.get_mut(key) {
            Some(account) => Some(&mut account.bucket),
            None => self.idle.get_mut(key),
        }
    }

    /// Forgets those that have neither connections nor tokens to get back.
    pub(super) fn forget_full(&mut self, rate: Rate, now_ms: u64) {
        self.idle.retain(|_, bucket| !bucket.is_full(rate, now_ms));
    }

    pub(super) fn busy(&self) -> impl Iterator<Item = (&K, u64)> {
        self.busy.iter().map(|(key, account)| (key, account.connection_count))
    }

    pub(super) fn busy_count(&self) -> usize {
        self.busy.len()
    }

    pub(super) fn idle_count(&self) -> usize {
        self.idle.len()
    }
}
