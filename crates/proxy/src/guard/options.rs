//! What operators allow.

/// So much a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rate {
    /// In the long run; 0 for no limit.
    pub per_s: u64,
    /// At once, after a time of less; 0 for as much as in a second.
    pub burst: u64,
}

/// All that operators set here. Where a number is 0 there is no such limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Whether nothing is refused, only counted and reported.
    pub is_alarm_only: bool,
    /// Connections in all.
    pub connection_max: u64,
    /// Connections of one user.
    pub user_connection_max: u64,
    /// Connections of one address.
    pub address_connection_max: u64,
    /// How many leading bits of an IPv6 address count: all addresses that begin with the same bits are one. What it was when the guard was
    /// made stays.
    pub ipv6_prefix_len: u8,
    /// Connections that come, in all.
    pub connection_rate: Rate,
    /// Connections that come from one address.
    pub address_connection_rate: Rate,
    /// Bytes that clients send, in all.
    pub byte_rate: Rate,
    /// Bytes that the clients of one user send.
    pub user_byte_rate: Rate,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            is_alarm_only: false,
            connection_max: 0,
            user_connection_max: 0,
            address_connection_max: 0,
            ipv6_prefix_len: 64,
            connection_rate: Rate::default(),
            address_connection_rate: Rate::default(),
            byte_rate: Rate::default(),
            user_byte_rate: Rate::default(),
        }
    }
}
