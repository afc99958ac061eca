//! Names of clients, lines, logins and pools, for whatever does not hold them.

use super::slots::SlotId;

/// A client, as long as it is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId(u64);

/// A line, from the wish to have it until it is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LineId(u64);

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

impl SlotId for LineId {
    #[inline]
    fn from_number(number: u64) -> Self {
        LineId(number)
    }

    #[inline]
    fn number(self) -> u64 {
        self.0
    }
}
