//! What an exchange is, apart from its bindings.

use amqp::table::{Table, TableBuf};

/// How an exchange chooses among its bindings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ExchangeType {
    /// By equal routing key.
    Direct,
    /// All of them.
    Fanout,
    /// By a pattern over the words of the routing key.
    Topic,
    /// By the message's headers.
    Headers,
    /// One of them, by a hash: as many messages as its weight says, and as few as possible move when another is bound or unbound.
    ConsistentHash,
    /// One of them, by a hash modulo their number.
    ModulusHash,
    /// Any one.
    Random,
    /// Any one of those on this node, which all of them are.
    LocalRandom,
    /// All of them; and the broker keeps the last messages for those that will be bound.
    RecentHistory,
    /// As its argument `x-delayed-type` says; the broker keeps messages until their time has come.
    DelayedMessage,
    /// All of them; the broker keeps duplicates away.
    MessageDeduplication,
    /// All of them, for messages that a federation link is to have.
    FederationUpstream,
}

/// No exchange type has this name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("unknown exchange type")]
pub struct UnknownExchangeType;

impl ExchangeType {
    /// All types, in the order of their names.
    pub const ALL: [ExchangeType; 12] = [
        Self::Direct,
        Self::Fanout,
        Self::Headers,
        Self::Topic,
        Self::ConsistentHash,
        Self::DelayedMessage,
        Self::FederationUpstream,
        Self::LocalRandom,
        Self::MessageDeduplication,
        Self::ModulusHash,
        Self::Random,
        Self::RecentHistory,
    ];

    /// The type of this name.
    pub fn parse(name: &[u8]) -> Result<Self, UnknownExchangeType> {
        Self::ALL.into_iter().find(|kind| kind.name().as_bytes() == name).ok_or(UnknownExchangeType)
    }

    /// The name by which clients declare it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Fanout => "fanout",
            Self::Topic => "topic",
            Self::Headers => "headers",
            Self::ConsistentHash => "x-consistent-hash",
            Self::ModulusHash => "x-modulus-hash",
            Self::Random => "x-random",
            Self::LocalRandom => "x-local-random",
            Self::RecentHistory => "x-recent-history",
            Self::DelayedMessage => "x-delayed-message",
            Self::MessageDeduplication => "x-message-deduplication",
            Self::FederationUpstream => "x-federation-upstream",
        }
    }

    /// As what an exchange of this type chooses among its bindings.
    #[must_use]
    pub fn routing_type(self, arguments: Table<'_>) -> Self {
        if self != Self::DelayedMessage {
            return self;
        }
        let named = arguments.get(DELAYED_TYPE).and_then(|value| Self::parse(value.as_bytes()?).ok());
        named.filter(|kind| *kind != Self::DelayedMessage).unwrap_or(Self::Direct)
    }
}

/// The argument that says as what an exchange routes that delays.
const DELAYED_TYPE: &str = "x-delayed-type";

/// What a client declares.
#[derive(Debug, Clone, Copy)]
pub struct Declaration<'a> {
    /// The exchange's name.
    pub name: &'a [u8],
    /// Its type.
    pub kind: ExchangeType,
    /// Whether it outlives a restart.
    pub is_durable: bool,
    /// Whether it is deleted with the last binding from it.
    pub is_auto_delete: bool,
    /// Whether clients may not publish to it. That is for the broker to refuse: routing does not look at it.
    pub is_internal: bool,
    /// Where messages are sent that match nothing: the value of the argument `alternate-exchange`.
    pub alternate: Option<&'a [u8]>,
    /// All arguments as declared, checked. Consistent hash, delayed message and federation upstream exchanges look into them; else they
    /// are only kept.
    pub arguments: Table<'a>,
}

/// An exchange as it was declared, and what policies add.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exchange {
    /// The exchange's name; empty for the default exchange.
    pub name: Box<[u8]>,
    /// Its type.
    pub kind: ExchangeType,
    /// Whether it outlives a restart.
    pub is_durable: bool,
    /// Whether it is deleted with the last binding from it.
    pub is_auto_delete: bool,
    /// Whether clients may not publish to it.
    pub is_internal: bool,
    /// Whether every vhost has it from its beginning.
    pub is_predeclared: bool,
    /// The alternate exchange that was declared.
    pub alternate: Option<Box<[u8]>>,
    /// The alternate exchange of the policy that applies.
    pub policy_alternate: Option<Box<[u8]>>,
    /// All arguments as declared.
    pub arguments: TableBuf,
    /// Whether messages that are to be delayed wait here. See [`Exchanges::set_delaying`](crate::Exchanges::set_delaying).
    pub is_delaying: bool,
}

impl Exchange {
    pub(crate) fn new(declaration: &Declaration<'_>) -> Self {
        Self {
            name: declaration.name.into(),
            kind: declaration.kind,
            is_durable: declaration.is_durable,
            is_auto_delete: declaration.is_auto_delete,
            is_internal: declaration.is_internal,
            is_predeclared: false,
            alternate: declaration.alternate.map(Into::into),
            policy_alternate: None,
            arguments: declaration.arguments.to_owned(),
            is_delaying: false,
        }
    }

    /// The name of the exchange that gets what matches nothing here; it need not exist. The argument precedes the policy.
    #[must_use]
    pub(crate) fn effective_alternate(&self) -> Option<&[u8]> {
        self.alternate.as_deref().or(self.policy_alternate.as_deref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_found_by_their_names() {
        for kind in ExchangeType::ALL {
            assert_eq!(ExchangeType::parse(kind.name().as_bytes()), Ok(kind));
        }
        for unknown in [&b""[..], b"Direct", b"x-lvc"] {
            assert_eq!(ExchangeType::parse(unknown), Err(UnknownExchangeType));
        }
    }
}
