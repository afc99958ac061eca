//! Names of clients, upstream connections, logins and pools, for whatever does not hold them.

use super::slots::SlotId;

/// A client, as long as it is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId(u64);

/// An upstream connection, from the wish to have it until it is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UpstreamConnectionId(u64);

/// A user's name and secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct LoginId(pub(super) usize);

/// A login and a vhost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct PoolId(pub(super) usize);

impl SlotId for ClientId {
    #[inline]
    fn from_number(number: u64) -> Self {
        ClientId(number)
    }

    #[inline]
    fn number(self) -> u64 {
        self.0
    }
}

impl SlotId for UpstreamConnectionId {
    #[inline]
    fn from_number(number: u64) -> Self {
        UpstreamConnectionId(number)
    }

    #[inline]
    fn number(self) -> u64 {
        self.0
    }
}
