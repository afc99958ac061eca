//! What a client makes of a server's offer (AMQP 0-9-1, 4.2.3). The server's part is in [`server`](crate::server).

/// The lesser of two limits, of which 0 is none.
#[must_use]
pub fn lesser(ours: u32, theirs: u32) -> u32 {
    if ours == 0 || theirs == 0 { ours.max(theirs) } else { ours.min(theirs) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_limit_wins_over_none() {
        assert_eq!((lesser(0, 7), lesser(7, 0), lesser(0, 0), lesser(7, 8)), (7, 7, 0, 7));
    }
}
