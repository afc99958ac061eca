//! Types and arguments of an exchange.

use amqp::table::{Table, TableBuf, Value};

use super::check::invalid_type;
use super::equivalence::check_arguments;
use super::exchange_options::{check_options, parse_delayed_type};
use crate::erlang;
use crate::name::ExchangeName;
use crate::resource::{PreconditionFailed, Resource};

/// The argument that names the exchange for messages that an exchange cannot route.
pub(crate) const ALTERNATE_EXCHANGE: &str = "alternate-exchange";

/// How many messages a recent-history exchange keeps, unless its arguments say something else.
pub const HISTORY_COUNT: u64 = 20;

const HASH_HEADER: &str = "hash-header";
const HASH_PROPERTY: &str = "hash-property";
/// The properties that a consistent hash exchange can hash.
const HASH_PROPERTIES: [&[u8]; 3] = [b"message_id", b"correlation_id", b"timestamp"];
/// Over how many links a message may have come that a federation upstream exchange routes.
const HOPS_MAX: &str = "x-max-hops";
const HISTORY_LENGTH: &str = "x-recent-history-length";

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
    /// To all, but each only once.
    MessageDeduplication,
    /// To all, what a federation link is to have.
    FederationUpstream,
    /// By a selector.
    JmsTopic,
    /// The broker's own events.
    Event,
    /// To all, and the last of each routing key to those that bind later.
    LastValueCache,
}

impl ExchangeType {
    /// All types.
    pub const ALL: [ExchangeType; 15] = [
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
        ExchangeType::MessageDeduplication,
        ExchangeType::FederationUpstream,
        ExchangeType::JmsTopic,
        ExchangeType::Event,
        ExchangeType::LastValueCache,
    ];

    /// The type that a declaration names.
    pub fn parse(name: &[u8]) -> Result<ExchangeType, PreconditionFailed> {
        if name.is_empty() {
            return Err(PreconditionFailed("invalid exchange type ''".to_owned()));
        }
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
            ExchangeType::MessageDeduplication => "x-message-deduplication",
            ExchangeType::FederationUpstream => "x-federation-upstream",
            ExchangeType::JmsTopic => "x-jms-topic",
            ExchangeType::Event => "x-event",
            ExchangeType::LastValueCache => "x-lvc",
        }
    }

    /// What only RabbitMQ's own parts declare it for.
    #[must_use]
    pub fn internal_purpose(self) -> Option<&'static str> {
        (self == ExchangeType::FederationUpstream).then_some("federation")
    }

    /// What the HTTP API says of it, in RabbitMQ's words.
    #[must_use]
    pub fn description(self) -> &'static str {
        match self {
            ExchangeType::Direct => "AMQP direct exchange, as per the AMQP specification",
            ExchangeType::Fanout => "AMQP fanout exchange, as per the AMQP specification",
            ExchangeType::Topic => "AMQP topic exchange, as per the AMQP specification",
            ExchangeType::Headers => "AMQP headers exchange, as per the AMQP specification",
            ExchangeType::ConsistentHash => "Consistent Hashing Exchange",
            ExchangeType::ModulusHash => "Modulus Hashing Exchange",
            ExchangeType::Random => "Randomly picks a binding (queue) to route via (to).",
            ExchangeType::LocalRandom => "Picks one random local binding (queue) to route via (to).",
            ExchangeType::RecentHistory => "Recent History Exchange.",
            ExchangeType::DelayedMessage => "Delayed Message Exchange.",
            ExchangeType::MessageDeduplication => "Message Deduplication Exchange.",
            ExchangeType::FederationUpstream => "Federation upstream helper exchange",
            ExchangeType::JmsTopic => "JMS selector exchange",
            ExchangeType::Event => "Event exchange",
            ExchangeType::LastValueCache => "Last-value cache exchange.",
        }
    }

    /// Whether such exchanges route yet; others are to be refused with 540 NOT_IMPLEMENTED.
    #[must_use]
    pub fn is_built(self) -> bool {
        match self {
            ExchangeType::Direct
            | ExchangeType::Fanout
            | ExchangeType::Topic
            | ExchangeType::Headers
            | ExchangeType::ConsistentHash
            | ExchangeType::ModulusHash
            | ExchangeType::Random
            | ExchangeType::LocalRandom
            | ExchangeType::RecentHistory
            | ExchangeType::DelayedMessage
            | ExchangeType::MessageDeduplication
            | ExchangeType::FederationUpstream => true,
            ExchangeType::JmsTopic | ExchangeType::Event | ExchangeType::LastValueCache => false,
        }
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

    /// Checks what only exchanges of one type look at. As in RabbitMQ, that is not done to a second declaration, whose
    /// arguments are not used.
    pub fn check_for(&self, exchange_type: ExchangeType, exchange: Resource<'_>) -> Result<(), PreconditionFailed> {
        match exchange_type {
            ExchangeType::ConsistentHash => self.check_hashed(exchange),
            ExchangeType::RecentHistory => self.check_history(),
            ExchangeType::MessageDeduplication => self.check_deduplication(),
            ExchangeType::FederationUpstream => self.check_hops(),
            ExchangeType::DelayedMessage => self.check_for(parse_delayed_type(self.table())?, exchange),
            _ => Ok(()),
        }
    }

    /// As RabbitMQ's federation checks them.
    fn check_hops(&self) -> Result<(), PreconditionFailed> {
        match self.table().get(HOPS_MAX) {
            Some(Value::I64(_)) => Ok(()),
            Some(_) => Err(PreconditionFailed(format!("Argument {HOPS_MAX} must be of type long"))),
            None => Err(PreconditionFailed(format!("Argument {HOPS_MAX} missing"))),
        }
    }

    /// As the plugin checks them, besides what is checked of any exchange.
    fn check_deduplication(&self) -> Result<(), PreconditionFailed> {
        if self.table().get("x-cache-size").is_none() {
            let text = "Missing or invalid argument, 'x-cache-size' must be an integer greater than 0";
            return Err(PreconditionFailed(text.to_owned()));
        }
        match self.table().get("x-cache-persistence") {
            None | Some(Value::LongStr(b"disk" | b"memory")) => Ok(()),
            Some(_) => {
                let text = "Invalid argument, 'x-cache-persistence' must be either 'disk' or 'memory'";
                Err(PreconditionFailed(text.to_owned()))
            }
        }
    }

    fn check_hashed(&self, exchange: Resource<'_>) -> Result<(), PreconditionFailed> {
        let text = |name| match self.table().get(name) {
            Some(Value::LongStr(text)) => Ok(Some(text)),
            Some(other) => Err(invalid_type(&other, name, exchange)),
            None => Ok(None),
        };
        match (text(HASH_HEADER)?, text(HASH_PROPERTY)?) {
            (Some(_), Some(_)) => {
                Err(PreconditionFailed(format!("{HASH_HEADER} and {HASH_PROPERTY} are mutually exclusive")))
            }
            (None, Some(property)) if !HASH_PROPERTIES.contains(&property) => {
                Err(PreconditionFailed(format!("Unsupported property: {}", String::from_utf8_lossy(property))))
            }
            _ => Ok(()),
        }
    }

    fn check_history(&self) -> Result<(), PreconditionFailed> {
        match self.table().get(HISTORY_LENGTH) {
            Some(value) if value.as_i64().is_none_or(|length| length <= 0) => Err(PreconditionFailed(format!(
                "Invalid argument {}, '{HISTORY_LENGTH}' must be a positive integer",
                erlang::value_term(&value)
            ))),
            _ => Ok(()),
        }
    }

    /// Takes arguments that were checked when they were stored.
    #[must_use]
    pub fn from_stored(table: TableBuf) -> ExchangeArguments {
        ExchangeArguments { table }
    }

    /// Whether a second declaration's arguments mean the same: only `alternate-exchange` is compared, and of federation
    /// upstream exchanges `x-max-hops`.
    pub(crate) fn check_equivalent(
        &self,
        exchange_type: ExchangeType,
        received: Table<'_>,
        exchange: Resource<'_>,
    ) -> Result<(), PreconditionFailed> {
        let of_type = (exchange_type == ExchangeType::FederationUpstream).then_some(HOPS_MAX);
        check_arguments(exchange, of_type.into_iter().chain([ALTERNATE_EXCHANGE]), self.table(), received)
    }

    /// All arguments, as they came.
    #[must_use]
    pub fn table(&self) -> Table<'_> {
        self.table.as_table()
    }

    /// How many messages a recent-history exchange keeps.
    #[must_use]
    pub fn history_count(&self) -> u64 {
        let declared = self.table().get(HISTORY_LENGTH).and_then(|value| value.as_i64());
        declared.and_then(|length| u64::try_from(length).ok()).unwrap_or(HISTORY_COUNT)
    }

    /// The exchange for messages that this exchange cannot route.
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
        assert_eq!(ExchangeType::ALL.into_iter().filter(|t| t.is_built()).count(), 12);
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

    #[track_caller]
    fn check_refusal(exchange_type: ExchangeType, arguments: &[(&str, Value<'_>)], text: &str) {
        let table = arguments.iter().fold(TableBuf::new(), |table, (name, value)| table.with(name, *value));
        let arguments = ExchangeArguments::from_stored(table);
        let checked = with_exchange(|x| arguments.check_for(exchange_type, x));
        assert_eq!(checked.map_or_else(|error| error.to_string(), |()| String::new()), text);
        assert_eq!(with_exchange(|x| arguments.check_for(ExchangeType::Fanout, x)), Ok(()));
    }

    #[test]
    fn a_consistent_hash_exchange_hashes_one_header_or_one_of_three_properties() {
        let (header, kind) = ((HASH_HEADER, Value::LongStr(b"h")), ExchangeType::ConsistentHash);
        check_refusal(kind, &[], "");
        check_refusal(kind, &[header], "");
        for property in HASH_PROPERTIES {
            check_refusal(kind, &[(HASH_PROPERTY, Value::LongStr(property))], "");
        }
        let bogus = (HASH_PROPERTY, Value::LongStr(b"bogus"));
        check_refusal(kind, &[bogus], "Unsupported property: bogus");
        check_refusal(kind, &[header, bogus], "hash-header and hash-property are mutually exclusive");
        let text = "invalid type 'signedint' for arg 'hash-header' in exchange 'x' in vhost '/'";
        check_refusal(kind, &[(HASH_HEADER, Value::I32(5))], text);
    }

    #[test]
    fn a_deduplication_exchange_names_the_size_of_its_cache() {
        let (kind, size) = (ExchangeType::MessageDeduplication, ("x-cache-size", Value::I32(5)));
        check_refusal(kind, &[], "Missing or invalid argument, 'x-cache-size' must be an integer greater than 0");
        check_refusal(kind, &[size], "");
        check_refusal(kind, &[size, ("x-cache-persistence", Value::LongStr(b"disk"))], "");
        let text = "Invalid argument, 'x-cache-persistence' must be either 'disk' or 'memory'";
        check_refusal(kind, &[size, ("x-cache-persistence", Value::LongStr(b"tape"))], text);
    }

    #[test]
    fn a_federation_upstream_exchange_has_a_maximum_of_hops() {
        let kind = ExchangeType::FederationUpstream;
        check_refusal(kind, &[(HOPS_MAX, Value::I64(1))], "");
        check_refusal(kind, &[], "Argument x-max-hops missing");
        check_refusal(kind, &[(HOPS_MAX, Value::I32(1))], "Argument x-max-hops must be of type long");
    }

    #[test]
    fn a_history_has_a_positive_length() {
        let length_of = |value| {
            let table = TableBuf::new().with(HISTORY_LENGTH, value);
            ExchangeArguments::from_stored(table).history_count()
        };
        for (value, length) in [(Value::I32(1), 1), (Value::U8(20), 20), (Value::I64(1 << 40), 1 << 40)] {
            check_refusal(ExchangeType::RecentHistory, &[(HISTORY_LENGTH, value)], "");
            assert_eq!(length_of(value), length);
        }
        assert_eq!(ExchangeArguments::default().history_count(), HISTORY_COUNT);
        let wrong = [
            (Value::I32(0), "0"),
            (Value::I64(-1), "-1"),
            (Value::LongStr(b"5"), "<<\"5\">>"),
            (Value::Bool(true), "true"),
            (Value::Void, "undefined"),
        ];
        for (value, shown) in wrong {
            let text = format!("Invalid argument {shown}, 'x-recent-history-length' must be a positive integer");
            check_refusal(ExchangeType::RecentHistory, &[(HISTORY_LENGTH, value)], &text);
        }
    }

    #[test]
    fn only_the_alternate_exchange_is_compared() {
        let table = TableBuf::new().with(ALTERNATE_EXCHANGE, Value::LongStr(b"ae")).with("hash-header", Value::Void);
        let arguments = ExchangeArguments::from_stored(table);
        let same = TableBuf::new().with(ALTERNATE_EXCHANGE, Value::LongStr(b"ae"));
        let compared = |kind, received| with_exchange(|x| arguments.check_equivalent(kind, received, x));
        assert_eq!(compared(ExchangeType::ConsistentHash, same.as_table()), Ok(()));
        assert_eq!(
            compared(ExchangeType::ConsistentHash, Table::EMPTY).unwrap_err().to_string(),
            "inequivalent arg 'alternate-exchange' for exchange 'x' in vhost '/': \
             received none but current is the value 'ae' of type 'longstr'"
        );
        let hops = same.clone().with(HOPS_MAX, Value::I64(2));
        assert_eq!(compared(ExchangeType::ConsistentHash, hops.as_table()), Ok(()));
        assert_eq!(
            compared(ExchangeType::FederationUpstream, hops.as_table()).unwrap_err().to_string(),
            "inequivalent arg 'x-max-hops' for exchange 'x' in vhost '/': received the value '2' of type 'long' but current is none"
        );
    }
}
