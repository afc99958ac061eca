//! How many messages a consumer may be handed before something else happens.
//!
//! | credit | a delivery takes | a settlement gives back | raised and lowered by |
//! |---|---|---|---|
//! | window: the prefetch of AMQP 0-9-1 and STOMP, the receive maximum of MQTT | 1 | 1 | nothing |
//! | granted: the link credit of AMQP 1.0 | 1 | 0 | [`Grant`] |
//! | unlimited | 0 | 0 | nothing |
//!
//! So one counter is enough for all three, and what is asked for each delivery is whether it is zero.
//!
//! **Grants are absolute.** Deliveries of granted credit are counted, with a counter that wraps. A grant says up to which count the
//! consumer may get deliveries, not how many more: what is on its way when the consumer grants is counted already. The count itself is not
//! kept: it is the limit without what is left of it.
//!
//! **A drain gives back what cannot be used at once.** It lasts while the consumer may still get messages that are ready, and ends when
//! there is none for it or nothing is left. What is given back counts as delivered, as in AMQP 1.0, so delivered, given back and left are
//! always as much as was granted.
//!
//! Deliberately absent: which consumer grants when, and echoes. Sessions do that.

/// What a consumer may still be handed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Credit {
    /// What is left, or far more than ever counts where it is unlimited.
    left: u32,
    /// Where it is granted: the delivery count at which nothing is left.
    limit: u32,
    /// Whether a delivery takes of it.
    is_limited: bool,
    /// Whether a settlement gives back to it.
    is_window: bool,
    is_draining: bool,
}

/// What a consumer grants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grant {
    /// The delivery count up to which it may get messages: in AMQP 1.0 `delivery-count` + `link-credit`, wrapping. One at or behind the
    /// present count, or 2^31 and more before it, leaves nothing.
    pub limit: u32,
    /// What cannot be used at once is given back.
    pub is_draining: bool,
}

impl Credit {
    /// No limit.
    pub const UNLIMITED: Credit =
        Credit { left: u32::MAX, limit: 0, is_limited: false, is_window: false, is_draining: false };

    /// So many messages that are not settled, at most. 0 is no limit, as in all protocols that have windows.
    #[must_use]
    pub const fn window(count: u16) -> Self {
        match count {
            0 => Credit::UNLIMITED,
            _ => Credit { left: count as u32, is_limited: true, is_window: true, ..Credit::UNLIMITED },
        }
    }

    /// Nothing yet: what is granted ([`Queue::grant`](crate::Queue::grant)), with deliveries counted from `delivery_count` on.
    #[must_use]
    pub const fn granted(delivery_count: u32) -> Self {
        Credit { left: 0, limit: delivery_count, is_limited: true, ..Credit::UNLIMITED }
    }

    /// Whether one more message may be handed out.
    #[inline]
    #[must_use]
    pub const fn has_room(&self) -> bool {
        self.left > 0
    }

    /// How many more messages may be handed out; `None`: any number.
    #[must_use]
    pub fn left(&self) -> Option<u32> {
        self.is_limited.then_some(self.left)
    }

    /// Whether it is granted.
    #[must_use]
    pub const fn is_granted(&self) -> bool {
        self.is_limited && !self.is_window
    }

    /// Deliveries so far, and what was given back. Of account only where credit is granted.
    #[must_use]
    pub const fn delivery_count(&self) -> u32 {
        self.limit.wrapping_sub(self.left)
    }

    /// Whether a drain is running.
    #[inline]
    #[must_use]
    pub const fn is_draining(&self) -> bool {
        self.is_draining
    }

    /// The credit of a consumer whose messages are settled by being handed out: a window never closes then.
    pub(crate) const fn without_acks(self) -> Self {
        if self.is_window { Credit::UNLIMITED } else { self }
    }

    /// A message is handed out.
    #[inline(always)]
    pub(crate) fn take(&mut self) {
        self.left -= u32::from(self.is_limited);
    }

    /// A message that was handed out is settled or has come back. Whether there is more room than before.
    #[inline(always)]
    pub(crate) fn give_back(&mut self) -> bool {
        if self.is_window {
            self.left += 1;
        }
        self.is_window
    }

    /// Grants, instead of what was granted before.
    pub(crate) fn grant(&mut self, grant: Grant) {
        assert!(self.is_granted(), "a window is not granted");
        let delivery_count = self.delivery_count();
        let ahead = grant.limit.wrapping_sub(delivery_count);
        self.left = if ahead <= i32::MAX.cast_unsigned() { ahead } else { 0 };
        self.limit = delivery_count.wrapping_add(self.left);
        self.is_draining = grant.is_draining;
    }

    /// Ends a drain. Says how much is given back.
    pub(crate) fn end_drain(&mut self) -> u32 {
        self.is_draining = false;
        std::mem::take(&mut self.left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UP_TO: fn(u32) -> Grant = |limit| Grant { limit, is_draining: false };

    /// What is left of this credit after so many deliveries, and then after as many settlements.
    #[track_caller]
    fn check(mut credit: Credit, delivered: u32, left: Option<u32>, left_after_settling: Option<u32>) {
        (0..delivered).for_each(|_| credit.take());
        assert_eq!(credit.left(), left);
        (0..delivered).for_each(|_| {
            credit.give_back();
        });
        assert_eq!(credit.left(), left_after_settling);
    }

    fn granted(limit: u32) -> Credit {
        let mut credit = Credit::granted(0);
        credit.grant(UP_TO(limit));
        credit
    }

    #[test]
    fn settlements_give_back_to_a_window_only() {
        check(Credit::window(3), 3, Some(0), Some(3));
        check(granted(3), 2, Some(1), Some(1));
        check(Credit::UNLIMITED, 1000, None, None);
        check(Credit::window(0), 1000, None, None);
    }

    #[test]
    fn a_window_is_of_no_account_where_nothing_is_settled() {
        assert_eq!(Credit::window(3).without_acks(), Credit::UNLIMITED);
        assert_eq!(granted(3).without_acks(), granted(3));
    }

    #[test]
    fn nothing_is_granted_at_first() {
        assert!(!Credit::granted(7).has_room());
        assert_eq!(Credit::granted(7).delivery_count(), 7);
    }

    #[test]
    fn a_grant_counts_what_was_delivered_since_the_consumer_looked() {
        let mut credit = granted(5);
        (0..4).for_each(|_| credit.take());
        // It had seen two when it asked for five more.
        credit.grant(UP_TO(2 + 5));
        assert_eq!((credit.left(), credit.delivery_count()), (Some(3), 4));
    }

    #[test]
    fn a_grant_may_be_lowered_below_what_was_delivered() {
        let mut credit = granted(5);
        (0..4).for_each(|_| credit.take());
        credit.grant(UP_TO(2));
        assert_eq!((credit.left(), credit.delivery_count()), (Some(0), 4));
        credit.grant(UP_TO(6));
        assert_eq!((credit.left(), credit.delivery_count()), (Some(2), 4));
    }

    #[test]
    fn delivery_counts_wrap() {
        let mut credit = Credit::granted(u32::MAX - 1);
        credit.grant(UP_TO(2));
        assert_eq!(credit.left(), Some(4));
        (0..3).for_each(|_| credit.take());
        assert_eq!((credit.left(), credit.delivery_count()), (Some(1), 1));
        credit.grant(UP_TO(u32::MAX));
        assert_eq!((credit.left(), credit.delivery_count()), (Some(0), 1));
    }

    #[test]
    fn what_is_given_back_counts_as_delivered() {
        let mut credit = Credit::granted(0);
        credit.grant(Grant { limit: 5, is_draining: true });
        credit.take();
        assert!(credit.is_draining());
        assert_eq!((credit.end_drain(), credit.delivery_count(), credit.left()), (4, 5, Some(0)));
        assert!(!credit.is_draining());
    }
}
