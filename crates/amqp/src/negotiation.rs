//! What both sides of a connection agree on (AMQP 0-9-1, 4.2.3, and RabbitMQ's texts).

/// What a server can do that is RabbitMQ's peer, as RabbitMQ lists it (`server-properties.capabilities`). Client libraries branch on these.
pub const SERVER_CAPABILITIES: [&str; 9] = [
    "publisher_confirms",
    "exchange_exchange_bindings",
    "basic.nack",
    "consumer_cancel_notify",
    "connection.blocked",
    "consumer_priorities",
    "authentication_failure_close",
    "per_consumer_qos",
    "direct_reply_to",
];

/// The lesser of two limits, of which 0 is none.
#[must_use]
pub fn lesser(ours: u32, theirs: u32) -> u32 {
    if ours == 0 || theirs == 0 { ours.max(theirs) } else { ours.min(theirs) }
}

/// Why a server does not agree to what a client answers: it may lower what was offered, not raise it, and not below `floor`. 0 means no
/// limit, which is more than any.
#[must_use]
pub fn refusal(name: &str, client: u32, server: u32, floor: u32) -> Option<String> {
    if client != 0 && client < floor {
        return Some(format!("negotiated {name} = {client} is lower than the minimum allowed value ({floor})"));
    }
    if server != 0 && (client == 0 || client > server) {
        let hint = if (name, client) == ("channel_max", 0) { " (no limit)" } else { "" };
        return Some(format!("negotiated {name} = {client}{hint} is higher than the maximum allowed value ({server})"));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_names_a_limit_wins() {
        assert_eq!((lesser(0, 7), lesser(7, 0), lesser(0, 0), lesser(7, 8)), (7, 7, 0, 7));
        assert_eq!(refusal("channel_max", 0, 0, 0), None);
        assert_eq!(refusal("channel_max", 7, 0, 0), None);
        assert_eq!(refusal("channel_max", 7, 2047, 0), None);
        let text = "negotiated channel_max = 0 (no limit) is higher than the maximum allowed value (2047)";
        assert_eq!(refusal("channel_max", 0, 2047, 0).as_deref(), Some(text));
        let text = "negotiated frame_max = 0 is higher than the maximum allowed value (131072)";
        assert_eq!(refusal("frame_max", 0, 131_072, 8192).as_deref(), Some(text));
        let text = "negotiated channel_max = 2048 is higher than the maximum allowed value (2047)";
        assert_eq!(refusal("channel_max", 2048, 2047, 0).as_deref(), Some(text));
    }
}
