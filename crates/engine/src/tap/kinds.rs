//! The kinds of what happens to messages, and sets of them.

/// A kind of what happens to messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// It came, and was routed.
    Published,
    /// Its publisher has it back.
    Returned,
    /// Its queues have it, or have refused it.
    Stored,
    /// Its publisher has got the confirm.
    Confirmed,
    /// A consumer was sent it.
    Delivered,
    /// It was sent as the answer to `basic.get`.
    Got,
    /// Its consumer has acknowledged it.
    Acked,
    /// Its consumer does not want it, and no other is to get it.
    Rejected,
    /// Its consumer gave it back.
    Requeued,
    /// Its time was over.
    Expired,
    /// Its queue gave it up for another reason.
    Dropped,
    /// It was brought to a dead-letter exchange.
    DeadLettered,
    /// It waits at an exchange.
    SetAside,
    /// It has waited for long enough.
    Released,
    /// Its queue was purged.
    Purged,
    /// An operator brought it to other queues.
    Moved,
    /// An operator deleted it.
    Deleted,
}

impl Kind {
    /// All there are.
    pub const ALL: [Kind; 17] = [
        Kind::Published,
        Kind::Returned,
        Kind::Stored,
        Kind::Confirmed,
        Kind::Delivered,
        Kind::Got,
        Kind::Acked,
        Kind::Rejected,
        Kind::Requeued,
        Kind::Expired,
        Kind::Dropped,
        Kind::DeadLettered,
        Kind::SetAside,
        Kind::Released,
        Kind::Purged,
        Kind::Moved,
        Kind::Deleted,
    ];

    /// As traces name it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Kind::Published => "published",
            Kind::Returned => "returned",
            Kind::Stored => "stored",
            Kind::Confirmed => "confirmed",
            Kind::Delivered => "delivered",
            Kind::Got => "got",
            Kind::Acked => "acked",
            Kind::Rejected => "rejected",
            Kind::Requeued => "requeued",
            Kind::Expired => "expired",
            Kind::Dropped => "dropped",
            Kind::DeadLettered => "dead_lettered",
            Kind::SetAside => "delayed",
            Kind::Released => "released",
            Kind::Purged => "purged",
            Kind::Moved => "moved",
            Kind::Deleted => "deleted",
        }
    }
}

/// A set of kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Kinds(pub(super) u32);

impl Kinds {
    /// All there are.
    pub const ALL: Kinds = Kinds::of(&Kind::ALL);

    /// These.
    #[must_use]
    pub const fn of(kinds: &[Kind]) -> Kinds {
        let (mut bits, mut at) = (0, 0);
        while at < kinds.len() {
            bits |= 1 << kinds[at] as u8;
            at += 1;
        }
        Kinds(bits)
    }

    /// Whether one is among them.
    #[must_use]
    #[inline(always)]
    pub fn has(self, kind: Kind) -> bool {
        self.0 & (1 << kind as u8) != 0
    }

    /// These and those.
    #[must_use]
    pub const fn and(self, other: Kinds) -> Kinds {
        Kinds(self.0 | other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_a_bit_and_a_name_of_its_own() {
        let names: std::collections::BTreeSet<_> = Kind::ALL.iter().map(|kind| kind.name()).collect();
        assert_eq!(names.len(), Kind::ALL.len());
        assert_eq!(Kinds::ALL.0.count_ones() as usize, Kind::ALL.len());
        assert!(Kinds::of(&[Kind::Acked]).has(Kind::Acked) && !Kinds::of(&[Kind::Acked]).has(Kind::Got));
    }
}
