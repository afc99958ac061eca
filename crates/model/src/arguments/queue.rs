//! Arguments of a queue.

use std::iter;

use amqp::table::{Table, TableBuf, Value};

use super::check::{
    Argument, ArgumentCheck, accept, check, check_bool, check_non_negative, check_one, check_positive, check_text,
    integer, invalid_type, text,
};
use super::equivalence::check_arguments;
use super::plain;
use super::queue_type::{QUEUE_TYPE, QueueType};
use crate::erlang;
use crate::name::ExchangeName;
use crate::resource::{PreconditionFailed, Resource};

const DEAD_LETTER_EXCHANGE: &str = "x-dead-letter-exchange";
/// The longest time that messages and queues without use may be kept: ten years.
pub(crate) const EXPIRY_MS_MAX: u64 = 315_360_000_000;
/// The highest `x-max-priority`.
const MAX_PRIORITY_MAX: i64 = 255;

/// What happens to messages beyond a queue's length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Overflow {
    /// The oldest is dropped.
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
    pub(crate) fn check_equivalent(&self, received: Table<'_>, queue: Resource<'_>) -> Result<(), PreconditionFailed> {
        check_arguments(queue, compared(self.queue_type.bit()), self.table(), received)
    }

    /// Whether a classic queue is asked for where this is a quorum queue: clients that do not know of quorum queues may be
    /// permitted to go on, see [`QueueArguments::check_equivalent_to_classic`].
    #[must_use]
    pub fn is_quorum_declared_as_classic(&self, received: Table<'_>) -> bool {
        self.queue_type == QueueType::Quorum && QueueType::of(received) == Some(QueueType::Classic)
    }

    /// Whether a second declaration of this quorum queue as a classic one means the same in what both types take.
    pub fn check_equivalent_to_classic(
        &self,
        received: Table<'_>,
        queue: Resource<'_>,
    ) -> Result<(), PreconditionFailed> {
        let names = compared(C | Q).filter(|name| *name != QUEUE_TYPE);
        check_arguments(queue, names, self.table(), received)
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

    /// `x-max-priority`: the highest priority, if the queue has priorities.
    #[must_use]
    pub(crate) fn max_priority(&self) -> Option<u8> {
        self.table().get("x-max-priority")?.as_i64().and_then(|priority| u8::try_from(priority).ok())
    }

    /// `x-dead-letter-exchange`.
    #[must_use]
    pub fn dead_letter_exchange(&self) -> Option<ExchangeName> {
        self.table().get(DEAD_LETTER_EXCHANGE)?.as_bytes().and_then(|name| ExchangeName::parse(name).ok())
    }

    /// `x-single-active-consumer`.
    #[must_use]
    pub fn is_single_active_consumer(&self) -> bool {
        self.table().get("x-single-active-consumer").and_then(|value| value.as_bool()).unwrap_or_default()
    }
}

const C: u8 = QueueType::Classic.bit();
const Q: u8 = QueueType::Quorum.bit();
const S: u8 = QueueType::Stream.bit();

const TYPE_ARGUMENT: Argument = argument(QUEUE_TYPE, C | Q | S, check_type);

/// All arguments that RabbitMQ compares, in the order in which it checks them, and after them those of its plugins, of LavinMQ
/// and our own. What `accept` is for, RabbitMQ takes with any value; one that makes no sense is ignored.
const ARGUMENTS: &[Argument] = &[
    argument("x-expires", C | Q, check_expires),
    argument("x-message-ttl", C | Q, check_expiry),
    argument(DEAD_LETTER_EXCHANGE, C | Q, check_exchange_name),
    argument("x-dead-letter-routing-key", C | Q, check_dead_letter_routing_key),
    argument("x-dead-letter-strategy", Q, |v, _| one_of(v, &["at-most-once", "at-least-once"], "invalid_dlx_strategy")),
    argument("x-max-length", C | Q, check_non_negative),
    argument("x-max-length-bytes", C | Q | S, check_non_negative),
    argument("x-max-in-memory-length", Q, check_non_negative),
    argument("x-max-in-memory-bytes", Q, check_non_negative),
    argument("x-max-priority", C, check_max_priority),
    argument("x-overflow", C | Q, |v, _| {
        one_of(v, &["drop-head", "reject-publish", "reject-publish-dlx"], "invalid_overflow")
    }),
    argument("x-queue-mode", C, accept),
    argument("x-queue-version", C, check_queue_version),
    argument("x-single-active-consumer", C | Q, check_bool),
    TYPE_ARGUMENT,
    argument("x-quorum-initial-group-size", Q, check_positive),
    argument("x-max-age", S, check_max_age),
    argument("x-stream-max-segment-size-bytes", S, check_non_negative),
    argument("x-stream-filter-size-bytes", S, check_non_negative),
    argument("x-initial-cluster-size", S, check_positive),
    argument("x-queue-leader-locator", C | Q | S, |v, _| one_of(v, LEADER_LOCATORS, "invalid_queue_locator_arg")),
    argument("x-queue-master-locator", C, check_text),
    argument("x-delivery-limit", Q, accept),
    argument("x-consumer-timeout", Q, check_non_negative),
    argument("x-consumer-disconnected-timeout", Q, check_non_negative),
    argument("x-delayed-retry-type", Q, accept),
    argument("x-delayed-retry-min", Q, accept),
    argument("x-delayed-retry-max", Q, accept),
    argument("x-delayed-retry-backoff", Q, |v, _| plain::check_word(v, &["linear", "exponential"])),
    argument("x-message-group-header", C | Q, plain::check_name),
    uncompared("x-message-deduplication", C | Q, plain::check_flag),
    uncompared("x-cache-size", C | Q, plain::check_count),
    uncompared("x-cache-ttl", C | Q, plain::check_count),
    uncompared("x-deduplication-header", C | Q, plain::check_name),
    argument("x-deduplication-replaces", C | Q, plain::check_flag),
];

const LEADER_LOCATORS: &[&str] = &["client-local", "balanced", "random", "least-leaders"];

type Check = fn(&Value<'_>, Table<'_>) -> ArgumentCheck;

const fn argument(name: &'static str, types: u8, check: Check) -> Argument {
    Argument { name, types, is_compared: true, check }
}

/// RabbitMQ does not know it, so clients may leave it out when they declare the queue again.
const fn uncompared(name: &'static str, types: u8, check: Check) -> Argument {
    Argument { name, types, is_compared: false, check }
}

/// What RabbitMQ compares later if a queue is a quorum queue, and after what.
const LATER_OF_QUORUM: [(&str, &str); 2] =
    [("x-expires", "x-dead-letter-strategy"), ("x-message-ttl", "x-delivery-limit")];

/// The names of what is compared that all of these types take, in RabbitMQ's order: the first that differs is named.
fn compared(types: u8) -> impl Iterator<Item = &'static str> {
    let compared = ARGUMENTS.iter().filter(move |argument| argument.is_compared && argument.types & types == types);
    let later = if types == Q { &LATER_OF_QUORUM[..] } else { &[] };
    compared.map(|argument| argument.name).filter(move |name| later.iter().all(|(moved, _)| moved != name)).flat_map(
        move |name| {
            let moved = later.iter().filter(move |(_, before)| *before == name).map(|(moved, _)| *moved);
            iter::once(name).chain(moved)
        },
    )
}

fn one_of(value: &Value<'_>, words: &[&str], otherwise: &str) -> ArgumentCheck {
    let given = text(value)?;
    if words.iter().any(|word| word.as_bytes() == given) { Ok(()) } else { Err(otherwise.to_owned()) }
}

fn check_expires(value: &Value<'_>, table: Table<'_>) -> ArgumentCheck {
    check_positive(value, table)?;
    check_expiry(value, table)
}

fn check_expiry(value: &Value<'_>, table: Table<'_>) -> ArgumentCheck {
    check_non_negative(value, table)?;
    match integer(value)? {
        number if number.cast_unsigned() > EXPIRY_MS_MAX => Err(format!("{{value_too_large,{number}}}")),
        _ => Ok(()),
    }
}

fn check_exchange_name(value: &Value<'_>, _: Table<'_>) -> ArgumentCheck {
    ExchangeName::parse(text(value)?).map(drop).map_err(|error| erlang::quoted(&error.to_string()))
}

fn check_dead_letter_routing_key(value: &Value<'_>, table: Table<'_>) -> ArgumentCheck {
    text(value)?;
    if table.get(DEAD_LETTER_EXCHANGE).is_none() { Err("routing_key_but_no_dlx_defined".to_owned()) } else { Ok(()) }
}

fn check_max_priority(value: &Value<'_>, table: Table<'_>) -> ArgumentCheck {
    check_non_negative(value, table)?;
    match integer(value)? {
        number if number > MAX_PRIORITY_MAX => Err(format!("{{max_value_exceeded,{number}}}")),
        _ => Ok(()),
    }
}

fn check_queue_version(value: &Value<'_>, table: Table<'_>) -> ArgumentCheck {
    check_non_negative(value, table)?;
    match integer(value)? {
        1 | 2 => Ok(()),
        _ => Err(unsupported("queue version", value)),
    }
}

fn check_type(value: &Value<'_>, _: Table<'_>) -> ArgumentCheck {
    QueueType::asked_for(text(value)?).map(drop).ok_or_else(|| unsupported("queue type", value))
}

fn unsupported(what: &str, value: &Value<'_>) -> String {
    erlang::quoted(&format!("unsupported {what} '{}'", erlang::in_sentence(value)))
}

/// `7D`: a positive number and one of the units Y M D h m s.
fn check_max_age(value: &Value<'_>, _: Table<'_>) -> ArgumentCheck {
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
        check_refused("x-message-ttl", Value::I64(315_360_000_001), "{value_too_large,315360000001}");
        check_refused("x-expires", Value::I64(315_360_000_001), "{value_too_large,315360000001}");
        check_accepted("x-message-ttl", Value::I64(315_360_000_000));
        check_accepted("x-expires", Value::I64(315_360_000_000));
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
        check_accepted("x-queue-mode", text("eager"));
        check_refused("x-queue-version", Value::I32(3), "\"unsupported queue version '3'\"");
        check_accepted("x-queue-type", text(""));
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

    #[track_caller]
    fn check_quorum(name: &str, value: Value<'_>, expected: Result<(), &str>) {
        let parsed = parse(&TableBuf::new().with(QUEUE_TYPE, text("quorum")).with(name, value)).map(drop);
        let expected = expected.map_err(|reason| format!("invalid arg '{name}' for queue 'q' in vhost '/'{reason}"));
        assert_eq!(parsed, expected);
    }

    #[test]
    fn a_quorum_queue_has_arguments_of_its_own() {
        check_quorum("x-dead-letter-strategy", text("z"), Err(": invalid_dlx_strategy"));
        check_quorum("x-dead-letter-strategy", Value::I32(3), Err(": {unacceptable_type,signedint}"));
        check_quorum("x-quorum-initial-group-size", Value::I32(0), Err(": {value_zero,0}"));
        check_quorum("x-max-in-memory-bytes", Value::I32(-1), Err(": {value_negative,-1}"));
        check_quorum("x-consumer-timeout", Value::I32(0), Ok(()));
        check_quorum("x-consumer-timeout", Value::I32(-1), Err(": {value_negative,-1}"));
        check_quorum("x-consumer-disconnected-timeout", text("a"), Err(": \"expected integer, got longstr\""));
        check_quorum("x-delayed-retry-backoff", text("exponential"), Ok(()));
        check_quorum(
            "x-delayed-retry-backoff",
            text("z"),
            Err(": it must be 'linear' or 'exponential', not the text 'z'"),
        );
        for name in ["x-max-priority", "x-queue-mode", "x-queue-version", "x-queue-master-locator", "x-max-age"] {
            check_quorum(name, text("z"), Err(" of queue type rabbit_quorum_queue"));
        }
    }

    #[test]
    fn what_rabbitmq_takes_with_any_value_is_taken() {
        for name in ["x-delivery-limit", "x-delayed-retry-type", "x-delayed-retry-min", "x-delayed-retry-max"] {
            check_quorum(name, text("z"), Ok(()));
            check_quorum(name, Value::I32(-1), Ok(()));
        }
        for name in ["x-quorum-target-group-size", "x-member-placement-tag"] {
            check_quorum(name, Value::I32(0), Ok(()));
            check_accepted(name, text("z"));
        }
    }

    #[test]
    fn deduplication_is_checked() {
        check_accepted("x-message-deduplication", Value::Bool(true));
        check_refused("x-message-deduplication", text("true"), "it must be true or false, not the text 'true'");
        check_refused("x-cache-size", Value::I32(0), "it must be a whole number above 0, not 0");
        check_refused("x-cache-ttl", Value::I32(-1), "it must be a whole number above 0, not -1");
        check_refused("x-cache-ttl", Value::Bool(true), "it must be a whole number above 0, not true");
        check_refused("x-deduplication-header", Value::I32(1), "it must be a text, not 1");
        check_refused("x-deduplication-replaces", Value::I32(1), "it must be true or false, not 1");
        check_refused("x-message-group-header", Value::I32(1), "it must be a text, not 1");
        let long = "x".repeat(51);
        let reason = format!("it must be true or false, not the text '{}…'", "x".repeat(50));
        check_refused("x-message-deduplication", text(&long), &reason);
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
    }

    #[test]
    fn typed_values_are_read_from_the_table() {
        let table =
            TableBuf::new().with("x-max-priority", Value::I16(5)).with("x-single-active-consumer", Value::Bool(true));
        let arguments = parse(&table).unwrap();
        assert_eq!(arguments.queue_type(), QueueType::Classic);
        assert_eq!(arguments.max_priority(), Some(5));
        assert!(arguments.is_single_active_consumer());
        let empty = QueueArguments::default();
        assert_eq!((empty.max_priority(), empty.is_single_active_consumer()), (None, false));
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
            .with("x-message-deduplication", Value::Bool(true))
            .with("x-queue-type", text("classic"));
        assert_eq!(existing.check_equivalent(received.as_table(), of), Ok(()));
        assert_eq!(
            existing.check_equivalent(Table::EMPTY, of).unwrap_err().to_string(),
            "inequivalent arg 'x-max-length' for queue 'q' in vhost '/': \
             received none but current is the value '5' of type 'signedint'"
        );
    }

    #[test]
    fn a_quorum_queue_may_be_declared_as_classic_if_that_is_permitted() {
        let (vhost, queue) = (VhostName::parse(b"/").unwrap(), QueueName::parse(b"q").unwrap());
        let of = Resource::queue(&vhost, &queue);
        let quorum = TableBuf::new().with(QUEUE_TYPE, text("quorum"));
        let existing = parse(&quorum.clone().with("x-delivery-limit", Value::I32(3))).unwrap();
        let classic = TableBuf::new().with(QUEUE_TYPE, text("classic")).with("x-max-priority", Value::I32(3));
        assert!(existing.is_quorum_declared_as_classic(Table::EMPTY));
        assert!(existing.is_quorum_declared_as_classic(classic.as_table()));
        assert!(!existing.is_quorum_declared_as_classic(quorum.as_table()));
        assert_eq!(existing.check_equivalent_to_classic(classic.as_table(), of), Ok(()));
        let limited = TableBuf::new().with("x-max-length", Value::I32(3));
        assert_eq!(
            existing.check_equivalent_to_classic(limited.as_table(), of).unwrap_err().to_string(),
            "inequivalent arg 'x-max-length' for queue 'q' in vhost '/': \
             received the value '3' of type 'signedint' but current is none"
        );
        assert!(!QueueArguments::default().is_quorum_declared_as_classic(quorum.as_table()));
    }
}
