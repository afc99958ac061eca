//! What a link's queue and exchanges at its upstream are called: as RabbitMQ calls them, so that one broker takes over from the other.

/// Which of the two exchanges: while one is in use the other is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Side {
    A,
    B,
}

impl Side {
    pub(crate) fn other(self) -> Side {
        match self {
            Side::A => Side::B,
            Side::B => Side::A,
        }
    }

    fn letter(self) -> &'static str {
        match self {
            Side::A => "A",
            Side::B => "B",
        }
    }
}

/// Both ends of an exchange's link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ends<'a> {
    pub(crate) cluster_name: &'a str,
    pub(crate) vhost: &'a str,
    pub(crate) exchange: &'a str,
    pub(crate) upstream_vhost: &'a str,
    pub(crate) upstream_exchange: &'a str,
}

/// The queue in which messages wait for the link.
pub(crate) fn queue(ends: Ends<'_>) -> String {
    let Ends { cluster_name, vhost, exchange, upstream_vhost, upstream_exchange } = ends;
    let here = match (vhost == upstream_vhost, exchange == upstream_exchange) {
        (true, true) => String::new(),
        (true, false) => format!(":{exchange}"),
        (false, _) => format!(":{vhost}:{exchange}"),
    };
    format!("federation: {upstream_exchange} -> {cluster_name}{here}")
}

/// The exchange that is bound as the exchange here is, and leads to that queue.
pub(crate) fn exchange(queue: &str, side: Side) -> String {
    format!("{queue} {}", side.letter())
}

/// What a binding says of the exchange here.
pub(crate) fn bound_from(ends: Ends<'_>, side: Side) -> String {
    format!("{}:{} {}", ends.vhost, ends.exchange, side.letter())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_what_is_not_the_same_at_both_ends() {
        let ends = Ends { cluster_name: "c", vhost: "/", exchange: "x", upstream_vhost: "/", upstream_exchange: "x" };
        assert_eq!(queue(ends), "federation: x -> c");
        assert_eq!(queue(Ends { upstream_exchange: "y", ..ends }), "federation: y -> c:x");
        assert_eq!(queue(Ends { upstream_vhost: "v", ..ends }), "federation: x -> c:/:x");
        assert_eq!(exchange(&queue(ends), Side::B), "federation: x -> c B");
        assert_eq!(bound_from(ends, Side::A), "/:x A");
    }
}
