//! Which messages outlive a restart where they are: what a queue or a waiting place promises, whatever the publisher asked for.

/// None, those that are persistent, or all of them. A bit for each of the two kinds, so that asking costs no branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Durability(u8);

impl Durability {
    /// What is exclusive, or not durable, does not survive a restart.
    pub(crate) const NONE: Self = Self(0);
    /// A durable classic queue's.
    pub(crate) const PERSISTENT: Self = Self(0b10);
    /// A quorum queue's, as RabbitMQ's: the delivery mode says nothing there.
    pub(crate) const ALL: Self = Self(0b11);

    /// Whether such a message lasts.
    #[inline(always)]
    pub(crate) fn keeps(self, is_persistent: bool) -> bool {
        (self.0 >> u8::from(is_persistent)) & 1 != 0
    }

    /// Of a message that is in both places.
    pub(crate) fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_delivery_mode_decides_in_classic_queues_only() {
        let kept_of = |durability: Durability| [false, true].map(|is_persistent| durability.keeps(is_persistent));
        assert_eq!(kept_of(Durability::NONE), [false, false]);
        assert_eq!(kept_of(Durability::PERSISTENT), [false, true]);
        assert_eq!(kept_of(Durability::ALL), [true, true]);
        assert_eq!(Durability::PERSISTENT.or(Durability::NONE), Durability::PERSISTENT);
        assert_eq!(Durability::PERSISTENT.or(Durability::ALL), Durability::ALL);
    }
}
