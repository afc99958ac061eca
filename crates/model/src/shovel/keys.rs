//! The keys of a shovel, in JSON.

use std::time::Duration;

use amqp::{TableBuf, Uri};
use serde_json::{Map, Value};

use super::{
    AckMode, BrokerDestination, DeleteAfter, Destination, HttpDestination, Protocol, PublishProperties, Shovel, Source,
    SourceQueue, Target,
};
use crate::json;
use crate::parameter::ParameterError;
use crate::parameter::validation::{
    Constraint, binary, boolean, integer, number, one_of, proplist, queue_name, shown, uri, uris,
};

const PREFETCH: u64 = 1000;
const RECONNECT_DELAY: Duration = Duration::from_secs(1);
const HTTP_TIMEOUT: Duration = Duration::from_secs(30);

/// What any shovel has.
const SHOVEL: &[Constraint] = &[
    Constraint::optional("internal", boolean),
    Constraint::optional("internal_owner", object),
    Constraint::optional("reconnect-delay", seconds),
    Constraint::optional("ack-mode", |key, value| one_of(&["no-ack", "on-publish", "on-confirm"], key, value)),
    Constraint::optional("src-protocol", |key, value| one_of(&["amqp10", "amqp091", "local"], key, value)),
    Constraint::optional("dest-protocol", |key, value| one_of(&["amqp10", "amqp091", "local", "http"], key, value)),
];

const SOURCE: &[Constraint] = &[
    Constraint::mandatory("src-uri", uris),
    Constraint::optional("src-exchange", binary),
    Constraint::optional("src-exchange-key", binary),
    Constraint::optional("src-queue", queue_name),
    Constraint::optional("src-queue-args", object),
    Constraint::optional("src-consumer-args", object),
    Constraint::optional("prefetch-count", count),
    Constraint::optional("src-prefetch-count", count),
    Constraint::optional("delete-after", delete_after),
    Constraint::optional("src-delete-after", delete_after),
    Constraint::optional("src-delete-after-duration", seconds),
    Constraint::optional("src-predeclared", boolean),
];

const BROKER: &[Constraint] = &[
    Constraint::mandatory("dest-uri", uris),
    Constraint::optional("dest-exchange", binary),
    Constraint::optional("dest-exchange-key", binary),
    Constraint::optional("dest-queue", queue_name),
    Constraint::optional("dest-queue-args", object),
    Constraint::optional("add-forward-headers", boolean),
    Constraint::optional("add-timestamp-header", boolean),
    Constraint::optional("dest-add-forward-headers", boolean),
    Constraint::optional("dest-add-timestamp-header", boolean),
    Constraint::optional("publish-properties", properties),
    Constraint::optional("dest-publish-properties", properties),
    Constraint::optional("dest-predeclared", boolean),
];

const HTTP: &[Constraint] = &[
    Constraint::mandatory("dest-uri", http_urls),
    Constraint::optional("dest-timeout", seconds),
    Constraint::optional("dest-refused", |key, value| one_of(&["retry", "dead-letter"], key, value)),
];

const PROPERTIES: &[Constraint] = &[
    Constraint::optional("content_type", binary),
    Constraint::optional("content_encoding", binary),
    Constraint::optional("delivery_mode", octet),
    Constraint::optional("priority", octet),
    Constraint::optional("correlation_id", binary),
    Constraint::optional("reply_to", binary),
    Constraint::optional("expiration", binary),
    Constraint::optional("message_id", binary),
    Constraint::optional("timestamp", count),
    Constraint::optional("type", binary),
    Constraint::optional("user_id", binary),
    Constraint::optional("app_id", binary),
    Constraint::optional("cluster_id", binary),
];

fn object(key: &str, value: &Value) -> Result<(), String> {
    let Value::Object(fields) = value else {
        return Err(format!("{key} should be an object, actually was {}", shown(value)));
    };
    json::to_table(fields).map(drop).map_err(|error| format!("{key}: {error}"))
}

fn properties(key: &str, value: &Value) -> Result<(), String> {
    let wrong = proplist(key, PROPERTIES, value);
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
}

/// A number that is not negative.
fn count(key: &str, value: &Value) -> Result<(), String> {
    number(key, value)?;
    match value.as_u64() {
        Some(_) => Ok(()),
        None => Err(format!("{key} should be a whole number and not negative, actually was {}", shown(value))),
    }
}

fn octet(key: &str, value: &Value) -> Result<(), String> {
    count(key, value)?;
    match value.as_u64().is_some_and(|number| number <= 255) {
        true => Ok(()),
        false => Err(format!("{key} should be at most 255, actually was {}", shown(value))),
    }
}

/// Seconds, whole or not.
fn seconds(key: &str, value: &Value) -> Result<(), String> {
    number(key, value)?;
    match duration(value) {
        Some(_) => Ok(()),
        None => Err(format!("{key} should be a number of seconds, actually was {}", shown(value))),
    }
}

fn duration(value: &Value) -> Option<Duration> {
    Duration::try_from_secs_f64(value.as_f64()?).ok()
}

fn delete_after(key: &str, value: &Value) -> Result<(), String> {
    match value {
        Value::String(word) if word == "never" || word == "queue-length" => Ok(()),
        Value::Number(_) => integer(key, value).and_then(|()| count(key, value)),
        _ => Err(format!(
            "{key} should be a number greater than or equal to 0, \"never\" or \"queue-length\", actually was {}",
            shown(value)
        )),
    }
}

fn http_urls(key: &str, value: &Value) -> Result<(), String> {
    let is_url = |text: &str| text.starts_with("http://") || text.starts_with("https://");
    match value {
        Value::String(text) if is_url(text) => Ok(()),
        Value::Array(values) if !values.is_empty() => values.iter().try_for_each(|value| http_urls(key, value)),
        _ => Err(format!("{key} should be a URL of HTTP, actually was {}", shown(value))),
    }
}

/// Which protocol an end has; AMQP where none is said.
fn protocol(value: &Value, key: &str) -> Result<Protocol, String> {
    match value.get(key).and_then(Value::as_str) {
        Some("local") => Ok(Protocol::Local),
        Some("http") => Ok(Protocol::Http),
        Some("amqp10") => Err(format!("{key} amqp10: AMQP 1.0 is not supported, amqp091 and local are")),
        _ => Ok(Protocol::Amqp091),
    }
}

impl Shovel {
    /// The shovel that a parameter's value is. What is wrong with it is said in RabbitMQ's words.
    pub fn parse(value: &Value) -> Result<Shovel, ParameterError> {
        Self::parse_named("shovel", value)
    }

    /// The same, and what is wrong is said of the parameter's name.
    pub fn parse_named(name: &str, value: &Value) -> Result<Shovel, ParameterError> {
        let (from, to) = (protocol(value, "src-protocol"), protocol(value, "dest-protocol"));
        let mut wrong = exclusions(value);
        let destination = if to == Ok(Protocol::Http) { HTTP } else { BROKER };
        let constraints: Vec<Constraint> = [SHOVEL, SOURCE, destination].into_iter().flatten().copied().collect();
        wrong.extend(proplist(name, &constraints, value));
        wrong.extend([from.clone().err(), to.clone().err()].into_iter().flatten());
        ParameterError::check(wrong)?;
        let (Some(terms), Ok(from), Ok(to)) = (value.as_object(), from, to) else {
            return Err(ParameterError::new("a shovel should be an object"));
        };
        let terms = Terms(terms);
        Ok(Shovel {
            source: terms.source(from)?,
            destination: match to {
                Protocol::Http => Destination::Http(terms.web_server()),
                protocol => Destination::Broker(Box::new(terms.broker(protocol)?)),
            },
            ack_mode: match terms.text("ack-mode") {
                Some("no-ack") => AckMode::NoAck,
                Some("on-publish") => AckMode::OnPublish,
                _ => AckMode::OnConfirm,
            },
            reconnect_delay: Some(terms.duration("reconnect-delay").unwrap_or(RECONNECT_DELAY))
                .filter(|delay| !delay.is_zero()),
        })
    }
}

/// Keys that require or exclude each other.
fn exclusions(value: &Value) -> Vec<String> {
    let has = |key: &str| value.get(key).is_some();
    let mut wrong = Vec::new();
    match (has("src-exchange"), has("src-queue")) {
        (false, false) => wrong.push("Must specify 'src-exchange' or 'src-queue'".to_owned()),
        (true, true) => wrong.push("Cannot specify 'src-exchange' and 'src-queue'".to_owned()),
        _ => {}
    }
    if has("dest-exchange") && has("dest-queue") {
        wrong.push("Cannot specify 'dest-exchange' and 'dest-queue'".to_owned());
    }
    let ends_by_count =
        value.get("src-delete-after").or_else(|| value.get("delete-after")).is_some_and(Value::is_number);
    if ends_by_count && value.get("ack-mode").is_some_and(|mode| mode == "no-ack") {
        wrong.push("Cannot specify 'no-ack' and numerical 'delete-after'".to_owned());
    }
    wrong
}

/// A value whose terms have been checked.
struct Terms<'a>(&'a Map<String, Value>);

impl<'a> Terms<'a> {
    /// A term by the first of these keys that is there: the name of today, and older ones.
    fn any(&self, keys: &[&str]) -> Option<&'a Value> {
        keys.iter().find_map(|key| self.0.get(*key))
    }

    fn text(&self, key: &str) -> Option<&'a str> {
        self.any(&[key])?.as_str()
    }

    fn flag(&self, keys: &[&str]) -> bool {
        self.any(keys).and_then(Value::as_bool).unwrap_or_default()
    }

    fn duration(&self, key: &str) -> Option<Duration> {
        duration(self.any(&[key])?)
    }

    fn texts(&self, key: &str) -> impl Iterator<Item = &'a str> {
        let value = self.any(&[key]);
        let one = value.and_then(Value::as_str);
        one.into_iter().chain(value.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str))
    }

    fn uris(&self, key: &str) -> Result<Vec<Uri>, ParameterError> {
        let mut uris = self.texts(key).map(uri).collect::<Result<Vec<_>, _>>().map_err(ParameterError::new)?;
        // They are kept as long as the shovel is, and room was taken for more.
        uris.shrink_to_fit();
        if uris.is_empty() {
            return Err(ParameterError::new(format!("{key} should have at least one URI")));
        }
        Ok(uris)
    }

    fn table(&self, key: &str) -> Result<TableBuf, ParameterError> {
        let fields = self.any(&[key]).and_then(Value::as_object);
        fields
            .map_or(Ok(TableBuf::new()), json::to_table)
            .map_err(|error| ParameterError::new(format!("{key}: {error}")))
    }

    fn source(&self, protocol: Protocol) -> Result<Source, ParameterError> {
        let from = match self.text("src-queue") {
            Some(name) => SourceQueue::Queue { name: name.into(), arguments: self.table("src-queue-args")? },
            None => SourceQueue::Exchange {
                name: self.text("src-exchange").unwrap_or_default().into(),
                key: self.text("src-exchange-key").unwrap_or_default().into(),
            },
        };
        let prefetch = self.any(&["src-prefetch-count", "prefetch-count"]).and_then(Value::as_u64).unwrap_or(PREFETCH);
        Ok(Source {
            protocol,
            uris: self.uris("src-uri")?,
            from,
            consumer_arguments: self.table("src-consumer-args")?,
            prefetch: u16::try_from(prefetch).unwrap_or(u16::MAX),
            delete_after: match self.any(&["src-delete-after", "delete-after"]) {
                Some(Value::Number(count)) => DeleteAfter::Count(count.as_u64().unwrap_or_default()),
                Some(word) if word == "queue-length" => DeleteAfter::QueueLength,
                _ => DeleteAfter::Never,
            },
            delete_after_duration: self.duration("src-delete-after-duration"),
            is_predeclared: self.flag(&["src-predeclared"]),
        })
    }

    fn broker(&self, protocol: Protocol) -> Result<BrokerDestination, ParameterError> {
        let to = match self.text("dest-queue") {
            Some(name) => Target::Queue { name: name.into(), arguments: self.table("dest-queue-args")? },
            None => Target::Exchange {
                name: self.text("dest-exchange").map(Into::into),
                key: self.text("dest-exchange-key").map(Into::into),
            },
        };
        let properties = self.any(&["dest-publish-properties", "publish-properties"]).and_then(Value::as_object);
        Ok(BrokerDestination {
            protocol,
            uris: self.uris("dest-uri")?,
            to,
            is_predeclared: self.flag(&["dest-predeclared"]),
            properties: properties
                .map(publish_properties)
                .filter(|set| *set != PublishProperties::default())
                .map(Box::new),
            adds_forward_headers: self.flag(&["dest-add-forward-headers", "add-forward-headers"]),
            adds_timestamp_header: self.flag(&["dest-add-timestamp-header", "add-timestamp-header"]),
        })
    }

    fn web_server(&self) -> HttpDestination {
        HttpDestination {
            urls: self.texts("dest-uri").map(Into::into).collect(),
            timeout: self.duration("dest-timeout").filter(|timeout| !timeout.is_zero()).unwrap_or(HTTP_TIMEOUT),
            dead_letters_refused: self.text("dest-refused") == Some("dead-letter"),
        }
    }
}

fn publish_properties(fields: &Map<String, Value>) -> PublishProperties {
    let text = |key: &str| fields.get(key).and_then(Value::as_str).map(Box::from);
    let octet = |key: &str| fields.get(key).and_then(Value::as_u64).and_then(|number| u8::try_from(number).ok());
    PublishProperties {
        content_type: text("content_type"),
        content_encoding: text("content_encoding"),
        delivery_mode: octet("delivery_mode"),
        priority: octet("priority"),
        correlation_id: text("correlation_id"),
        reply_to: text("reply_to"),
        expiration: text("expiration"),
        message_id: text("message_id"),
        timestamp: fields.get("timestamp").and_then(Value::as_u64),
        kind: text("type"),
        user_id: text("user_id"),
        app_id: text("app_id"),
        cluster_id: text("cluster_id"),
    }
}
