//! What a dead letter's headers say of its deaths: RabbitMQ's `x-death`, `x-first-death-*` and `x-last-death-*`.

use amqp::table::{ArrayBuf, Table, TableBuf, Value};
use queue::DropReason;

/// A death of a message.
pub(super) struct Death<'a> {
    /// Where.
    pub(super) queue: &'a [u8],
    pub(super) reason: DropReason,
    /// Where it had been published, or dead-lettered to, before.
    pub(super) exchange: &'a [u8],
    /// Under which keys, those in `CC` included.
    pub(super) routing_keys: &'a [&'a [u8]],
    /// Seconds since 1970.
    pub(super) at_s: u64,
    /// Its `expiration`, which it loses by it.
    pub(super) expiration: Option<&'a [u8]>,
}

const DEATHS: &str = "x-death";
const FIRST: [&str; 3] = ["x-first-death-exchange", "x-first-death-queue", "x-first-death-reason"];
const LAST: [&str; 3] = ["x-last-death-exchange", "x-last-death-queue", "x-last-death-reason"];

pub(crate) fn name_of(reason: DropReason) -> &'static str {
    match reason {
        DropReason::Rejected => "rejected",
        DropReason::Expired => "expired",
        DropReason::MaxLength => "maxlen",
        DropReason::DeliveryLimit => "delivery_limit",
    }
}

/// A message's headers after a death. Unless it `has_died` before, what they say of deaths is its publisher's, and is dropped.
pub(super) fn with_death(headers: Option<Table<'_>>, has_died: bool, death: &Death<'_>) -> TableBuf {
    let headers = headers.unwrap_or(Table::EMPTY);
    let before = if has_died { headers } else { Table::EMPTY };
    let deaths = deaths_with(before, death);
    let mut out = TableBuf::new();
    for (name, value) in headers.iter().filter(|(name, _)| !is_about_deaths(name)) {
        push(&mut out, name, value);
    }
    out = out.with(DEATHS, Value::Array(deaths.as_array()));
    let facts = [death.exchange, death.queue, name_of(death.reason).as_bytes()];
    for (name, fact) in FIRST.iter().zip(facts) {
        out = out.with(name, before.get(name).unwrap_or(Value::LongStr(fact)));
    }
    for (name, fact) in LAST.iter().zip(facts) {
        out = out.with(name, Value::LongStr(fact));
    }
    out
}

/// Whether a message with these headers, whose youngest death is there, would circle without a client's doing if it came to this queue: it
/// died there before, and neither then nor since was it rejected. What was rejected before that does not count.
pub(super) fn is_circle(headers: Table<'_>, queue: &[u8]) -> bool {
    let rejected = name_of(DropReason::Rejected).as_bytes();
    let mut since_rejection = deaths_in(headers).take_while(|death| bytes_of(*death, "reason") != Some(rejected));
    since_rejection.any(|death| is_in(death, queue))
}

/// Whether a message with these headers died in this queue before, whyever.
pub(super) fn has_died_in(headers: Table<'_>, queue: &[u8]) -> bool {
    deaths_in(headers).any(|death| is_in(death, queue))
}

fn is_in(death: Table<'_>, queue: &[u8]) -> bool {
    bytes_of(death, "queue") == Some(queue)
}

/// The routing keys in a message's `CC`.
pub(crate) fn copied_keys(headers: Option<Table<'_>>) -> Vec<&[u8]> {
    let Some(Value::Array(keys)) = headers.and_then(|headers| headers.get("CC")) else { return Vec::new() };
    keys.iter().filter_map(|key| key.as_bytes()).collect()
}

/// The deaths, the youngest first: one of each queue and reason.
fn deaths_with(before: Table<'_>, death: &Death<'_>) -> ArrayBuf {
    let reason = name_of(death.reason).as_bytes();
    let is_same = |other: &Table<'_>| {
        bytes_of(*other, "queue") == Some(death.queue) && bytes_of(*other, "reason") == Some(reason)
    };
    let again = deaths_in(before).find(is_same);
    let youngest = match again {
        Some(earlier) => {
            let mut table = earlier.to_owned();
            let count = earlier.get("count").and_then(|count| count.as_i64()).unwrap_or(0).saturating_add(1);
            set(&mut table, "count", Value::I64(count));
            table
        }
        None => first_time(death),
    };
    let mut deaths = ArrayBuf::new().with(Value::Table(youngest.as_table()));
    deaths_in(before).filter(|other| !is_same(other)).for_each(|other| deaths.push(Value::Table(other)));
    deaths
}

fn first_time(death: &Death<'_>) -> TableBuf {
    let mut keys = ArrayBuf::new();
    death.routing_keys.iter().for_each(|key| keys.push(Value::LongStr(key)));
    let expiration = death.expiration.map(|expiration| ("original-expiration", Value::LongStr(expiration)));
    let facts = [
        ("count", Value::I64(1)),
        ("reason", Value::LongStr(name_of(death.reason).as_bytes())),
        ("queue", Value::LongStr(death.queue)),
        ("time", Value::Timestamp(death.at_s)),
        ("exchange", Value::LongStr(death.exchange)),
        ("routing-keys", Value::Array(keys.as_array())),
    ];
    expiration.into_iter().chain(facts).fold(TableBuf::new(), |table, (name, value)| table.with(name, value))
}

fn deaths_in(headers: Table<'_>) -> impl Iterator<Item = Table<'_>> {
    let deaths = match headers.get(DEATHS) {
        Some(Value::Array(deaths)) => Some(deaths),
        _ => None,
    };
    deaths.into_iter().flat_map(|deaths| deaths.iter()).filter_map(|death| match death {
        Value::Table(death) => Some(death),
        _ => None,
    })
}

fn is_about_deaths(name: &[u8]) -> bool {
    std::iter::once(&DEATHS).chain(&FIRST).chain(&LAST).any(|about| about.as_bytes() == name)
}

fn bytes_of<'a>(table: Table<'a>, name: &str) -> Option<&'a [u8]> {
    table.get(name)?.as_bytes()
}

fn push(table: &mut TableBuf, name: &[u8], value: Value<'_>) {
    table.push(name, value).expect("the name was a field's name before");
}

fn set(table: &mut TableBuf, name: &str, value: Value<'_>) {
    table.set(name.as_bytes(), value).expect("a name of ours is short");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn death<'a>(queue: &'a str, reason: DropReason, keys: &'a [&'a [u8]]) -> Death<'a> {
        Death { queue: queue.as_bytes(), reason, exchange: b"x", routing_keys: keys, at_s: 7, expiration: None }
    }

    /// Queue, reason and count of each death, in their order.
    fn deaths(headers: &TableBuf) -> Vec<(String, String, i64)> {
        let text = |death, name| String::from_utf8_lossy(bytes_of(death, name).unwrap()).into_owned();
        let count = |death: Table<'_>| match death.get("count") {
            Some(Value::I64(count)) => count,
            other => panic!("count is {other:?}"),
        };
        deaths_in(headers.as_table()).map(|death| (text(death, "queue"), text(death, "reason"), count(death))).collect()
    }

    fn chain(path: &[(&str, DropReason)]) -> TableBuf {
        let mut headers = TableBuf::new().with("mine", Value::Bool(true));
        for (at, (queue, reason)) in path.iter().enumerate() {
            headers = with_death(Some(headers.as_table()), at > 0, &death(queue, *reason, &[b"k"]));
        }
        headers
    }

    #[test]
    fn the_first_death_says_all_there_is_to_say() {
        let death = Death { expiration: Some(b"50"), ..death("q", DropReason::Expired, &[b"k", b"cc"]) };
        let headers = with_death(None, false, &death);
        let table = deaths_in(headers.as_table()).next().unwrap();
        let names: Vec<_> = table.iter().map(|(name, _)| String::from_utf8_lossy(name)).collect();
        assert_eq!(names, ["original-expiration", "count", "reason", "queue", "time", "exchange", "routing-keys"]);
        assert_eq!(bytes_of(table, "original-expiration"), Some(&b"50"[..]));
        assert_eq!(table.get("time"), Some(Value::Timestamp(7)));
        let Some(Value::Array(keys)) = table.get("routing-keys") else { panic!("keys are an array") };
        assert_eq!(keys.iter().collect::<Vec<_>>(), [Value::LongStr(b"k"), Value::LongStr(b"cc")]);
    }

    #[test]
    fn the_youngest_death_comes_first_and_each_is_counted() {
        use DropReason::{Expired, MaxLength, Rejected};
        let headers = chain(&[("a", Expired), ("b", Rejected), ("a", Expired), ("a", MaxLength)]);
        let expected = [("a", "maxlen", 1), ("a", "expired", 2), ("b", "rejected", 1)];
        assert_eq!(
            deaths(&headers),
            expected.map(|(queue, reason, count)| (queue.to_owned(), reason.to_owned(), count))
        );
        let headers = headers.as_table();
        assert_eq!(bytes_of(headers, "x-first-death-reason"), Some(&b"expired"[..]));
        assert_eq!(bytes_of(headers, "x-first-death-queue"), Some(&b"a"[..]));
        assert_eq!(bytes_of(headers, "x-last-death-reason"), Some(&b"maxlen"[..]));
        assert_eq!(headers.get("mine"), Some(Value::Bool(true)));
        assert_eq!(headers.iter().count(), 8);
    }

    #[test]
    fn what_a_publisher_says_of_deaths_is_not_believed() {
        let own = TableBuf::new().with("x-death", Value::I64(3)).with("x-first-death-queue", Value::LongStr(b"z"));
        let headers = with_death(Some(own.as_table()), false, &death("q", DropReason::Rejected, &[b"k"]));
        assert_eq!(deaths(&headers), [("q".to_owned(), "rejected".to_owned(), 1)]);
        assert_eq!(bytes_of(headers.as_table(), "x-first-death-queue"), Some(&b"q"[..]));
    }

    #[test]
    fn a_circle_without_a_rejection_in_it_is_one() {
        use DropReason::{DeliveryLimit, Expired, MaxLength, Rejected};
        let is_circle = |path: &[(&str, DropReason)], queue: &str| is_circle(chain(path).as_table(), queue.as_bytes());
        assert!(is_circle(&[("a", Expired)], "a"));
        assert!(is_circle(&[("a", Expired), ("b", DeliveryLimit)], "a"));
        assert!(!is_circle(&[("a", Expired)], "b"));
        assert!(!is_circle(&[("a", Expired), ("b", Rejected)], "a"));
        // A rejection that came before the circle is not in it.
        assert!(is_circle(&[("a", Rejected), ("b", Expired)], "b"));
        assert!(is_circle(&[("a", Rejected), ("b", Expired), ("c", Expired)], "b"));
        assert!(is_circle(&[("a", Expired), ("a", Rejected), ("a", MaxLength)], "a"));
        assert!(!is_circle(&[("a", Rejected)], "a"));
        assert!(!is_circle(&[("b", Expired), ("a", Rejected), ("c", Expired)], "b"));
        // The last death in a queue is the one that counts.
        assert!(is_circle(&[("b", Expired), ("a", Rejected), ("b", Expired)], "b"));
    }
}
