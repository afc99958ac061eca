//! Types and arguments of an exchange.

use amqp::table::{Table, TableBuf};

use super::equivalence::check_arguments;
use super::exchange_options::check_options;
use super::invalid_type;
use crate::name::ExchangeName;
use crate::resource::{PreconditionFailed, Resource};

/// The argument that names where messages go that an exchange cannot route.
pub const ALTERNATE_EXCHANGE: &str = "alternate-exchange";

/// How an exchange routes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ExchangeType {
    /// By equal routing key.
    Direct,
    /// To all.
    Fanout,
    /// By a pattern of words.
    Topic,
    /// By headers.
    Headers,
    /// By a hash of the routing key, weighted.
    ConsistentHash,
    /// By a hash of the routing key.
    ModulusHash,
    /// To any one.
    Random,
    /// To any one on this node.
    LocalRandom,
    /// To all, and the last few to those that bind later.
    RecentHistory,
    /// Later.
    DelayedMessage,
    /// By a selector.
    JmsTopic,
    /// The broker's own events.
    Event,
    /// To all, and the last of each routing key to those that bind later.
    LastValueCache,
}

impl ExchangeType {
    /// All types.
    pub const ALL: [ExchangeType; 13] = [
        ExchangeType::Direct,
        ExchangeType::Fanout,
        ExchangeType::Topic,
        ExchangeType::Headers,
        ExchangeType::ConsistentHash,
        ExchangeType::ModulusHash,
        ExchangeType::Random,
        ExchangeType::LocalRandom,
        ExchangeType::RecentHistory,
        ExchangeType::DelayedMessage,
        ExchangeType::JmsTopic,
        ExchangeType::Event,
        ExchangeType::LastValueCache,
    ];

    /// The type that a declaration names.
    pub fn parse(name: &[u8]) -> Result<ExchangeType, PreconditionFailed> {
        let found = ExchangeType::ALL.into_iter().find(|t| t.name().as_bytes() == name);
        found.ok_or_else(|| PreconditionFailed(format!("unknown exchange type '{}'", String::from_utf8_lossy(name))))
    }

    /// The name as in `exchange.declare`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            ExchangeType::Direct => "direct",
            ExchangeType::Fanout => "fanout",
            ExchangeType::Topic => "topic",
            ExchangeType::Headers => "headers",
            ExchangeType::ConsistentHash => "x-consistent-hash",
            ExchangeType::ModulusHash => "x-modulus-hash",
            ExchangeType::Random => "x-random",
            ExchangeType::LocalRandom => "x-local-random",
            ExchangeType::RecentHistory => "x-recent-history",
            ExchangeType::DelayedMessage => "x-delayed-message",
            ExchangeType::JmsTopic => "x-jms-topic",
            ExchangeType::Event => "x-event",
            ExchangeType::LastValueCache => "x-lvc",
        }
    }

    /// Whether such exchanges route yet; others are to be refused with 540 NOT_IMPLEMENTED.
    #[must_use]
    pub fn is_built(self) -> bool {
        matches!(self, ExchangeType::Direct | ExchangeType::Fanout | ExchangeType::Topic | ExchangeType::Headers)
    }
}

/// An exchange's arguments.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ExchangeArguments {
    table: TableBuf,
}

impl ExchangeArguments {
    /// Checks the arguments of an exchange that is to be created.
    pub fn parse(table: Table<'_>, exchange: Resource<'_>) -> Result<ExchangeArguments, PreconditionFailed> {
        if let Some(value) = table.get(ALTERNATE_EXCHANGE) {
            let name = value.as_bytes().ok_or_else(|| invalid_type(&value, ALTERNATE_EXCHANGE, exchange))?;
            ExchangeName::parse(name).map_err(|error| {
                PreconditionFailed(format!("invalid arg '{ALTERNATE_EXCHANGE}' for {exchange}: {error}"))
            })?;
        }
        check_options(table, exchange)?;
        Ok(ExchangeArguments { table: table.to_owned() })
    }

    /// Takes arguments that were checked when they were stored.
    #[must_use]
    pub fn from_stored(table: TableBuf) -> ExchangeArguments {
        ExchangeArguments { table }
    }

    /// Whether a second declaration's arguments mean the same: only `alternate-exchange` is compared.
    pub fn check_equivalent(&self, received: Table<'_>, exchange: Resource<'_>) -> Result<(), PreconditionFailed> {
        check_arguments(exchange, [ALTERNATE_EXCHANGE], self.table(), received)
    }

    /// All arguments, as they came.
    #[must_use]
    pub fn table(&self) -> Table<'_> {
        self.table.as_table()
    }

    /// Where messages go that the exchange cannot route.
    #[must_use]
    pub fn alternate_exchange(&self) -> Option<ExchangeName> {
        self.table().get(ALTERNATE_EXCHANGE)?.as_bytes().and_then(|name| ExchangeName::parse(name).ok())
    }
}

#[cfg(test)]
mod tests {
    use amqp::table::Value;

    use super::*;
    use crate::name::VhostName;

    fn with_exchange<T>(run: impl FnOnce(Resource<'_>) -> T) -> T {
        let (vhost, exchange) = (VhostName::parse(b"/").unwrap(), ExchangeName::parse(b"x").unwrap());
        run(Resource::exchange(&vhost, &exchange))
    }

    #[test]
    fn types_are_known_by_name() {
        for exchange_type in ExchangeType::ALL {
            assert_eq!(ExchangeType::parse(exchange_type.name().as_bytes()), Ok(exchange_type));
        }
        assert_eq!(ExchangeType::parse(b"bogus").unwrap_err().to_string(), "unknown exchange type 'bogus'");
        assert_eq!(ExchangeType::ALL.into_iter().filter(|t| t.is_built()).count(), 4);
    }

    #[test]
    fn the_alternate_exchange_is_a_name() {
        let table = TableBuf::new().with(ALTERNATE_EXCHANGE, Value::LongStr(b"ae")).with("x", Value::Void);
        let arguments = with_exchange(|x| ExchangeArguments::parse(table.as_table(), x)).unwrap();
        assert_eq!(arguments.alternate_exchange().unwrap().as_str(), "ae");
        assert_eq!(arguments.table(), table.as_table());
        assert_eq!(ExchangeArguments::default().alternate_exchange(), None);
        let wrong = TableBuf::new().with(ALTERNATE_EXCHANGE, Value::Bool(true));
        assert_eq!(
            with_exchange(|x| ExchangeArguments::parse(wrong.as_table(), x)).unwrap_err().to_string(),
            "invalid type 'bool' for arg 'alternate-exchange' in exchange 'x' in vhost '/'"
        );
    }

    #[test]
    fn only_the_alternate_exchange_is_compared() {
        let table = TableBuf::new().with(ALTERNATE_EXCHANGE, Value::LongStr(b"ae")).with("hash-header", Value::Void);
        let arguments = ExchangeArguments::from_stored(table);
        let same = TableBuf::new().with(ALTERNATE_EXCHANGE, Value::LongStr(b"ae"));
        assert_eq!(with_exchange(|x| arguments.check_equivalent(same.as_table(), x)), Ok(()));
        assert_eq!(
            with_exchange(|x| arguments.check_equivalent(Table::EMPTY, x)).unwrap_err().to_string(),
            "inequivalent arg 'alternate-exchange' for exchange 'x' in vhost '/': \
             received none but current is the value 'ae' of type 'longstr'"
        );
    }
}
