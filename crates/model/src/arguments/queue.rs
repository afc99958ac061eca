//! Arguments of a queue.

use amqp::table::{Table, TableBuf, Value};

use super::equivalence::check_arguments;
use super::{
    Argument, Checked, check, check_bool, check_integer, check_non_negative, check_one, check_positive, check_text,
    integer, invalid_type, text,
};
use crate::erlang;
use crate::name::ExchangeName;
use crate::resource::{PreconditionFailed, Resource};

/// The argument that names a queue's type.
pub const QUEUE_TYPE: &str = "x-queue-type";
const DEAD_LETTER_EXCHANGE: &str = "x-dead-letter-exchange";
/// The highest `x-max-priority`.
const MAX_PRIORITY_MAX: i64 = 255;

/// Which kind of queue this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum QueueType {
    /// On one node.
    Classic,
    /// Replicated.
    Quorum,
    /// Replicated, read without removing.
    Stream,
}

impl QueueType {
    /// The name as in `x-queue-type`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            QueueType::Classic => "classic",
            QueueType::Quorum => "quorum",
            QueueType::Stream => "stream",
        }
    }

    /// The type of this name.
    #[must_use]
    pub fn parse(name: &[u8]) -> Option<QueueType> {
        [QueueType::Classic, QueueType::Quorum, QueueType::Stream].into_iter().find(|t| t.name().as_bytes() == name)
    }

    /// RabbitMQ's module, which its texts and events name.
    #[must_use]
    pub fn module(self) -> &'static str {
        match self {
            QueueType::Classic => "rabbit_classic_queue",
            QueueType::Quorum => "rabbit_quorum_queue",
            QueueType::Stream => "rabbit_stream_queue",
        }
    }

    pub(super) const fn bit(self) -> u8 {
        1 << self as u8
    }

    fn of(table: Table<'_>) -> Option<QueueType> {
        match table.get(QUEUE_TYPE) {
            None => Some(QueueType::Classic),
            Some(value) => QueueType::parse(value.as_bytes()?),
        }
    }
}

/// What happens to messages beyond a queue's length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Overflow {
    /// The oldest goes.
    #[default]
    DropHead,
    /// The new one is refused.
    RejectPublish,
    /// The new one is refused and dead-lettered.
    RejectPublishDlx,
}

impl Overflow {
    const ALL: [Overflow; 3] = [Overflow::DropHead, Overflow::RejectPublish, Overflow::RejectPublishDlx];

    /// The name as in `x-overflow`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Overflow::DropHead => "drop-head",
            Overflow::RejectPublish => "reject-publish",
            Overflow::RejectPublishDlx => "reject-publish-dlx",
        }
    }

    /// What is called so.
    #[must_use]
    pub fn parse(name: &[u8]) -> Option<Overflow> {
        Overflow::ALL.into_iter().find(|overflow| overflow.name().as_bytes() == name)
    }
}

/// A queue's arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueArguments {
    table: TableBuf,
    queue_type: QueueType,
}

impl Default for QueueArguments {
    fn default() -> QueueArguments {
        QueueArguments { table: TableBuf::new(), queue_type: QueueType::Classic }
    }
}

impl QueueArguments {
    /// Checks the arguments of a queue that is to be created.
    pub fn parse(table: Table<'_>, queue: Resource<'_>) -> Result<QueueArguments, PreconditionFailed> {
        if let Some(value) = table.get(DEAD_LETTER_EXCHANGE).filter(|value| value.as_bytes().is_none()) {
            return Err(invalid_type(&value, DEAD_LETTER_EXCHANGE, queue));
        }
        check_one(&TYPE_ARGUMENT, table, queue)?;
        let queue_type = QueueType::of(table).expect("the type was checked on the line before");
        check(ARGUMENTS, queue_type, table, queue)?;
        Ok(QueueArguments { table: table.to_owned(), queue_type })
    }

    /// Takes arguments that were checked when they were stored; None if they name no queue type that we know.
    #[must_use]
    pub fn from_stored(table: TableBuf) -> Option<QueueArguments> {
        let queue_type = QueueType::of(table.as_table())?;
        Some(QueueArguments { table, queue_type })
    }

    /// Whether a second declaration's arguments mean the same. Only those that this queue's type takes are compared.
    pub fn check_equivalent(&self, received: Table<'_>, queue: Resource<'_>) -> Result<(), PreconditionFailed> {
        let bit = self.queue_type.bit();
        let names = ARGUMENTS.iter().filter(|argument| argument.types & bit != 0).map(|argument| argument.name);
        check_arguments(queue, names, self.table(), received)
    }

    /// The first argument that asks for what is not built yet: to be refused with 540 NOT_IMPLEMENTED.
    #[must_use]
    pub fn unbuilt(&self) -> Option<&'static str> {
        if self.queue_type != QueueType::Classic {
            return Some(QUEUE_TYPE);
        }
        let known = |name: &[u8]| ARGUMENTS.iter().find(|argument| argument.name.as_bytes() == name);
        self.table().iter().filter_map(|(name, _)| known(name)).find(|argument| !argument.is_built).map(|a| a.name)
    }

    /// All arguments, as they came.
    #[must_use]
    pub fn table(&self) -> Table<'_> {
        self.table.as_table()
    }

    /// The queue's type.
    #[must_use]
    pub fn queue_type(&self) -> QueueType {
        self.queue_type
    }

    /// `x-expires`: the queue goes after this many milliseconds without use.
    #[must_use]
    pub fn expires_ms(&self) -> Option<u64> {
        self.number("x-expires")
    }

    /// `x-message-ttl`: a message goes after this many milliseconds.
    #[must_use]
    pub fn message_ttl_ms(&self) -> Option<u64> {
        self.number("x-message-ttl")
    }

    /// `x-max-length`: the most ready messages.
    #[must_use]
    pub fn max_length(&self) -> Option<u64> {
        self.number("x-max-length")
    }

    /// `x-max-length-bytes`: the most bytes in bodies of ready messages.
    #[must_use]
    pub fn max_length_bytes(&self) -> Option<u64> {
        self.number("x-max-length-bytes")
    }

    /// `x-max-priority`: the highest priority, if the queue has priorities.
    #[must_use]
    pub fn max_priority(&self) -> Option<u8> {
        self.number("x-max-priority").and_then(|priority| u8::try_from(priority).ok())
    }

    /// `x-overflow`.
    #[must_use]
    pub fn overflow(&self) -> Overflow {
        self.table().get("x-overflow").and_then(|value| Overflow::parse(value.as_bytes()?)).unwrap_or_default()
    }

    /// `x-dead-letter-exchange`.
    #[must_use]
    pub fn dead_letter_exchange(&self) -> Option<ExchangeName> {
        self.table().get(DEAD_LETTER_EXCHANGE)?.as_bytes().and_then(|name| ExchangeName::parse(name).ok())
    }

    /// `x-dead-letter-routing-key`.
    #[must_use]
    pub fn dead_letter_routing_key(&self) -> Option<&[u8]> {
        self.table().get("x-dead-letter-routing-key")?.as_bytes()
    }

    /// `x-single-active-consumer`.
    #[must_use]
    pub fn is_single_active_consumer(&self) -> bool {
        self.table().get("x-single-active-consumer").and_then(|value| value.as_bool()).unwrap_or_default()
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.table().get(name)?.as_i64().and_then(|number| u64::try_from(number).ok())
    }
}

const C: u8 = QueueType::Classic.bit();
const Q: u8 = QueueType::Quorum.bit();
const S: u8 = QueueType::Stream.bit();

const TYPE_ARGUMENT: Argument = built(QUEUE_TYPE, C | Q | S, check_queue_type);

/// All arguments that RabbitMQ knows, in the order in which it checks them.
const ARGUMENTS: &[Argument] = &[
    unbuilt("x-expires", C | Q, check_positive),
    unbuilt("x-message-ttl", C | Q, check_non_negative),
    unbuilt(DEAD_LETTER_EXCHANGE, C | Q, check_exchange_name),
    unbuilt("x-dead-letter-routing-key", C | Q, check_dead_letter_routing_key),
    unbuilt("x-dead-letter-strategy", Q, |v, _| one_of(v, &["at-most-once", "at-least-once"], "invalid_dlx_strategy")),
    unbuilt("x-max-length", C | Q, check_non_negative),
    unbuilt("x-max-length-bytes", C | Q | S, check_non_negative),
    unbuilt("x-max-in-memory-length", Q, check_non_negative),
    unbuilt("x-max-in-memory-bytes", Q, check_non_negative),
    unbuilt("x-max-priority", C, check_max_priority),
    unbuilt("x-overflow", C | Q, |v, _| {
        one_of(v, &["drop-head", "reject-publish", "reject-publish-dlx"], "invalid_overflow")
    }),
    built("x-queue-mode", C, check_queue_mode),
    built("x-queue-version", C, check_queue_version),
    unbuilt("x-single-active-consumer", C | Q, check_bool),
    TYPE_ARGUMENT,
    unbuilt("x-quorum-initial-group-size", Q, check_positive),
    unbuilt("x-quorum-target-group-size", Q, check_positive),
    unbuilt("x-max-age", S, check_max_age),
    unbuilt("x-stream-max-segment-size-bytes", S, check_non_negative),
    unbuilt("x-stream-filter-size-bytes", S, check_non_negative),
    unbuilt("x-initial-cluster-size", S, check_positive),
    built("x-queue-leader-locator", C | Q | S, |v, _| one_of(v, LEADER_LOCATORS, "invalid_queue_locator_arg")),
    built("x-queue-master-locator", C, check_text),
    unbuilt("x-delivery-limit", Q, check_integer),
    unbuilt("x-consumer-timeout", Q, check_positive),
    unbuilt("x-consumer-disconnected-timeout", Q, check_non_negative),
    unbuilt("x-delayed-retry-type", Q, |v, _| one_of(v, DELAYED_RETRY_TYPES, "invalid_delayed_retry_type")),
    unbuilt("x-delayed-retry-min", Q, check_non_negative),
    unbuilt("x-delayed-retry-max", Q, check_non_negative),
    unbuilt("x-member-placement-tag", Q, check_text),
];

const LEADER_LOCATORS: &[&str] = &["client-local", "balanced", "random", "least-leaders"];
const DELAYED_RETRY_TYPES: &[&str] = &["disabled", "all", "failed", "returned"];

type Check = fn(&Value<'_>, Table<'_>) -> Checked;

const fn built(name: &'static str, types: u8, check: Check) -> Argument {
    Argument { name, types, is_built: true, check }
}

const fn unbuilt(name: &'static str, types: u8, check: Check) -> Argument {
    Argument { name, types, is_built: false, check }
}

fn one_of(value: &Value<'_>, words: &[&str], otherwise: &str) -> Checked {
    let given = text(value)?;
    if words.iter().any(|word| word.as_bytes() == given) { Ok(()) } else { Err(otherwise.to_owned()) }
}

fn check_exchange_name(value: &Value<'_>, _: Table<'_>) -> Checked {
    ExchangeName::parse(text(value)?).map(drop).map_err(|error| erlang::quoted(&error.to_string()))
}

fn check_dead_letter_routing_key(value: &Value<'_>, table: Table<'_>) -> Checked {
    text(value)?;
    if table.get(DEAD_LETTER_EXCHANGE).is_none() { Err("routing_key_but_no_dlx_defined".to_owned()) } else { Ok(()) }
}

fn check_max_priority(value: &Value<'_>, table: Table<'_>) -> Checked {
    check_non_negative(value, table)?;
    match integer(value)? {
        number if number > MAX_PRIORITY_MAX => Err(format!("{{max_value_exceeded,{number}}}")),
        _ => Ok(()),
    }
}

fn check_queue_mode(value: &Value<'_>, _: Table<'_>) -> Checked {
    one_of(value, &["default", "lazy"], &unsupported("queue mode", value))
}

fn check_queue_version(value: &Value<'_>, table: Table<'_>) -> Checked {
    check_non_negative(value, table)?;
    match integer(value)? {
        1 | 2 => Ok(()),
        _ => Err(unsupported("queue version", value)),
    }
}

fn check_queue_type(value: &Value<'_>, _: Table<'_>) -> Checked {
    QueueType::parse(text(value)?).map(drop).ok_or_else(|| unsupported("queue type", value))
}

fn unsupported(what: &str, value: &Value<'_>) -> String {
    erlang::quoted(&format!("unsupported {what} '{}'", erlang::in_sentence(value)))
}

/// `7D`: a positive number and one of the units Y M D h m s.
fn check_max_age(value: &Value<'_>, _: Table<'_>) -> Checked {
    let is_age = |text: &[u8]| {
        let (unit, digits) = text.split_last()?;
        let number: u64 = std::str::from_utf8(digits).ok()?.parse().ok()?;
        (number > 0 && digits[0].is_ascii_digit() && b"YMDhms".contains(unit)).then_some(())
    };
    is_age(text(value)?).ok_or_else(|| "invalid_max_age".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::{QueueName, VhostName};

    fn parse(table: &TableBuf) -> Result<QueueArguments, String> {
        let (vhost, queue) = (VhostName::parse(b"/").unwrap(), QueueName::parse(b"q").unwrap());
        QueueArguments::parse(table.as_table(), Resource::queue(&vhost, &queue)).map_err(|e| e.0)
    }

    #[track_caller]
    fn check_refused(name: &str, value: Value<'_>, reason: &str) {
        let expected = format!("invalid arg '{name}' for queue 'q' in vhost '/': {reason}");
        assert_eq!(parse(&TableBuf::new().with(name, value)), Err(expected));
    }

    #[track_caller]
    fn check_accepted(name: &str, value: Value<'_>) {
        assert!(parse(&TableBuf::new().with(name, value)).is_ok(), "{name} = {value:?}");
    }

    fn text(text: &str) -> Value<'_> {
        Value::LongStr(text.as_bytes())
    }

    #[test]
    fn any_integer_type_is_a_number() {
        for value in
            [Value::I8(5), Value::U8(5), Value::I16(5), Value::U16(5), Value::I32(5), Value::U32(5), Value::I64(5)]
        {
            check_accepted("x-message-ttl", value);
        }
        check_refused("x-message-ttl", text("5"), "\"expected integer, got longstr\"");
        check_refused("x-message-ttl", Value::F64(5.0), "\"expected integer, got double\"");
        check_refused("x-message-ttl", Value::Timestamp(5), "\"expected integer, got timestamp\"");
    }

    #[test]
    fn numbers_out_of_range_are_terms() {
        check_refused("x-expires", Value::I32(0), "{value_zero,0}");
        check_refused("x-expires", Value::I32(-1), "{value_negative,-1}");
        check_refused("x-message-ttl", Value::I32(-5), "{value_negative,-5}");
        check_refused("x-max-length", Value::I64(-1), "{value_negative,-1}");
        check_refused("x-max-length-bytes", Value::I64(-1), "{value_negative,-1}");
        check_refused("x-max-priority", Value::I32(256), "{max_value_exceeded,256}");
        check_accepted("x-message-ttl", Value::I32(0));
        check_accepted("x-max-length", Value::I32(0));
        check_accepted("x-max-priority", Value::U8(255));
    }

    #[test]
    fn words_are_one_of_a_list() {
        check_refused("x-overflow", text("drop-tail"), "invalid_overflow");
        check_refused("x-overflow", Value::Bool(true), "{unacceptable_type,bool}");
        check_refused("x-queue-mode", text("eager"), "\"unsupported queue mode 'eager'\"");
        check_refused("x-queue-version", Value::I32(3), "\"unsupported queue version '3'\"");
        check_refused("x-queue-type", text("bogus"), "\"unsupported queue type 'bogus'\"");
        check_refused("x-queue-type", Value::I32(1), "{unacceptable_type,signedint}");
        check_refused("x-single-active-consumer", text("true"), "{unacceptable_type,longstr}");
        check_refused("x-queue-leader-locator", text("nowhere"), "invalid_queue_locator_arg");
    }

    #[test]
    fn a_dead_letter_routing_key_needs_an_exchange() {
        check_refused("x-dead-letter-routing-key", text("k"), "routing_key_but_no_dlx_defined");
        let both =
            TableBuf::new().with("x-dead-letter-exchange", text("")).with("x-dead-letter-routing-key", text("k"));
        let arguments = parse(&both).unwrap();
        assert!(arguments.dead_letter_exchange().unwrap().is_default());
        assert_eq!(arguments.dead_letter_routing_key(), Some(&b"k"[..]));
    }

    #[test]
    fn a_dead_letter_exchange_is_text() {
        assert_eq!(
            parse(&TableBuf::new().with("x-dead-letter-exchange", Value::I32(1))).unwrap_err(),
            "invalid type 'signedint' for arg 'x-dead-letter-exchange' in queue 'q' in vhost '/'"
        );
    }

    #[test]
    fn an_argument_of_another_type_is_refused_by_name() {
        assert_eq!(
            parse(&TableBuf::new().with("x-delivery-limit", Value::I32(3))).unwrap_err(),
            "invalid arg 'x-delivery-limit' for queue 'q' in vhost '/' of queue type rabbit_classic_queue"
        );
        let stream = TableBuf::new().with("x-queue-type", text("stream")).with("x-max-priority", Value::I32(3));
        assert_eq!(
            parse(&stream).unwrap_err(),
            "invalid arg 'x-max-priority' for queue 'q' in vhost '/' of queue type rabbit_stream_queue"
        );
    }

    #[test]
    fn stream_ages_have_a_number_and_a_unit() {
        let stream = |age| TableBuf::new().with("x-queue-type", text("stream")).with("x-max-age", text(age));
        for age in ["7D", "1Y", "30s"] {
            assert!(parse(&stream(age)).is_ok(), "{age}");
        }
        for age in ["", "D", "0D", "7", "7d", "-1D", "+1D", "7DD"] {
            assert_eq!(
                parse(&stream(age)).unwrap_err(),
                "invalid arg 'x-max-age' for queue 'q' in vhost '/': invalid_max_age"
            );
        }
    }

    #[test]
    fn unknown_arguments_are_kept_and_ignored() {
        let table = TableBuf::new().with("x-foo", Value::Void).with("whatever", text("v"));
        let arguments = parse(&table).unwrap();
        assert_eq!(arguments.table(), table.as_table());
        assert_eq!(arguments.unbuilt(), None);
    }

    #[test]
    fn what_is_not_built_is_named() {
        let unbuilt = |name, value| parse(&TableBuf::new().with(name, value)).unwrap().unbuilt();
        assert_eq!(unbuilt("x-message-ttl", Value::I32(5)), Some("x-message-ttl"));
        assert_eq!(unbuilt("x-single-active-consumer", Value::Bool(false)), Some("x-single-active-consumer"));
        assert_eq!(unbuilt("x-queue-type", text("quorum")), Some("x-queue-type"));
        for (name, value) in [
            ("x-queue-type", text("classic")),
            ("x-queue-mode", text("lazy")),
            ("x-queue-version", Value::I32(2)),
            ("x-queue-leader-locator", text("balanced")),
            ("x-queue-master-locator", text("min-masters")),
        ] {
            assert_eq!(unbuilt(name, value), None, "{name}");
        }
    }

    #[test]
    fn typed_values_are_read_from_the_table() {
        let table = TableBuf::new()
            .with("x-expires", Value::I32(1))
            .with("x-message-ttl", Value::U8(2))
            .with("x-max-length", Value::I64(3))
            .with("x-max-length-bytes", Value::U32(4))
            .with("x-max-priority", Value::I16(5))
            .with("x-overflow", text("reject-publish"))
            .with("x-single-active-consumer", Value::Bool(true));
        let arguments = parse(&table).unwrap();
        assert_eq!(arguments.queue_type(), QueueType::Classic);
        assert_eq!(arguments.expires_ms(), Some(1));
        assert_eq!(arguments.message_ttl_ms(), Some(2));
        assert_eq!(arguments.max_length(), Some(3));
        assert_eq!(arguments.max_length_bytes(), Some(4));
        assert_eq!(arguments.max_priority(), Some(5));
        assert_eq!(arguments.overflow(), Overflow::RejectPublish);
        assert!(arguments.is_single_active_consumer());
        let empty = QueueArguments::default();
        assert_eq!((empty.expires_ms(), empty.overflow()), (None, Overflow::DropHead));
    }

    #[test]
    fn only_arguments_of_the_queues_type_are_compared() {
        let (vhost, queue) = (VhostName::parse(b"/").unwrap(), QueueName::parse(b"q").unwrap());
        let of = Resource::queue(&vhost, &queue);
        let existing = parse(&TableBuf::new().with("x-foo", text("a")).with("x-max-length", Value::I32(5))).unwrap();
        let received = TableBuf::new()
            .with("x-foo", text("b"))
            .with("x-max-length", Value::I64(5))
            .with("x-delivery-limit", Value::I32(1))
            .with("x-queue-type", text("classic"));
        assert_eq!(existing.check_equivalent(received.as_table(), of), Ok(()));
        assert_eq!(
            existing.check_equivalent(Table::EMPTY, of).unwrap_err().to_string(),
            "inequivalent arg 'x-max-length' for queue 'q' in vhost '/': \
             received none but current is the value '5' of type 'signedint'"
        );
    }
}
