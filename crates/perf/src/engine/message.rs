//! What a publisher sends: which key, which size, which properties, one message after the other.

use std::sync::Arc;

use amqp::{Properties, TableBuf};
use amqp_client::{Connection, Route};

use super::clock::{StampUnit, ns};
use super::stamp::{Origin, STAMP_LEN, put_stamp};
use super::values;
use crate::plan::{self, Body, Distribution, Publishers, Random, Routing, Sizes};

/// Where PerfTest puts the time when the body is not its own.
const TIMESTAMP_HEADER: &str = "timestamp";

/// What all publishers of a group have in common, made once.
#[derive(Debug)]
pub(crate) struct Messages {
    exchange: String,
    is_mandatory: bool,
    routes: Vec<Route>,
    choice: Choice,
    body: Body,
    /// Whether the property that identifies publishers is free.
    is_told_apart: bool,
    properties: plan::Properties,
    headers: Option<TableBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Choice {
    PerPublisher,
    InTurn,
    Random,
    Fresh,
}

/// Why a group's messages cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum MessagesError {
    #[error("the routing key '{0}' or the name of the exchange is longer than 255 bytes")]
    Route(String),
    #[error(transparent)]
    Header(#[from] values::NameTooLong),
    #[error("the message property {0} is longer than 255 bytes")]
    Property(&'static str),
}

impl Messages {
    pub(crate) fn new(group: &Publishers) -> Result<Arc<Self>, MessagesError> {
        let (keys, choice): (&[String], _) = match &group.routing {
            Routing::PerPublisher(keys) => (keys, Choice::PerPublisher),
            Routing::InTurn(keys) => (keys, Choice::InTurn),
            Routing::Random(keys) => (keys, Choice::Random),
            Routing::Fresh => (&[], Choice::Fresh),
        };
        let route = |key: &String| {
            Route::new(group.exchange.as_bytes(), key.as_bytes(), group.mandatory)
                .ok_or_else(|| MessagesError::Route(key.clone()))
        };
        let mut routes = keys.iter().map(route).collect::<Result<Vec<_>, _>>()?;
        if routes.is_empty() {
            routes.push(route(&String::new())?);
        }
        let properties = &group.properties;
        check(properties)?;
        let headers = if properties.headers.is_empty() { None } else { Some(values::table(&properties.headers)?) };
        Ok(Arc::new(Messages {
            exchange: group.exchange.clone(),
            is_mandatory: group.mandatory,
            routes,
            choice,
            body: group.body.clone(),
            is_told_apart: properties.cluster_id.is_none(),
            properties: properties.clone(),
            headers,
        }))
    }

    fn encode(&self, priority: Option<u8>, headers: Option<&TableBuf>, out: &mut Vec<u8>) {
        encode(&self.properties, priority, headers, self.is_told_apart, out);
    }
}

/// Whether properties can be sent.
pub(crate) fn check(properties: &plan::Properties) -> Result<(), MessagesError> {
    for (name, value) in [
        ("content-type", &properties.content_type),
        ("content-encoding", &properties.content_encoding),
        ("correlation-id", &properties.correlation_id),
        ("reply-to", &properties.reply_to),
        ("expiration", &properties.expiration),
        ("message-id", &properties.message_id),
        ("type", &properties.kind),
        ("user-id", &properties.user_id),
        ("app-id", &properties.app_id),
        ("cluster-id", &properties.cluster_id),
    ] {
        if value.as_ref().is_some_and(|value| value.len() > amqp::limits::SHORT_STR_LEN_MAX) {
            return Err(MessagesError::Property(name));
        }
    }
    Ok(())
}

/// The flags and properties of a message. If it `has_origin`, its [`Origin`] has to be put behind them.
pub(crate) fn encode(
    properties: &plan::Properties,
    priority: Option<u8>,
    headers: Option<&TableBuf>,
    has_origin: bool,
    out: &mut Vec<u8>,
) {
    fn bytes(text: &Option<String>) -> Option<&[u8]> {
        text.as_deref().map(str::as_bytes)
    }
    out.clear();
    Properties {
        content_type: bytes(&properties.content_type),
        content_encoding: bytes(&properties.content_encoding),
        headers: headers.map(TableBuf::as_table),
        delivery_mode: properties.persistent.then_some(2),
        priority,
        correlation_id: bytes(&properties.correlation_id),
        reply_to: bytes(&properties.reply_to),
        expiration: bytes(&properties.expiration),
        message_id: bytes(&properties.message_id),
        timestamp: properties.timestamp,
        kind: bytes(&properties.kind),
        user_id: bytes(&properties.user_id),
        app_id: bytes(&properties.app_id),
        cluster_id: bytes(&properties.cluster_id),
    }
    .encode(out);
    if has_origin {
        // The last property, which is put behind the others for each message.
        const CLUSTER_ID_FLAG: u8 = 1 << 2;
        out[1] |= CLUSTER_ID_FLAG;
    }
}

/// One publisher's messages.
#[derive(Debug)]
pub(crate) struct Sender {
    messages: Arc<Messages>,
    publisher: u32,
    unit: StampUnit,
    random: Random,
    /// Of [`Choice::PerPublisher`] and [`Choice::InTurn`].
    route_at: usize,
    body_at: usize,
    body: Vec<u8>,
    /// Properties of all messages, if they are alike, and the origin of the last one behind them.
    properties: Vec<u8>,
    properties_len: usize,
}

impl Sender {
    /// For publisher number `publisher` of the run, the `index`-th of its group.
    pub(crate) fn new(messages: &Arc<Messages>, publisher: u32, index: u32, unit: StampUnit, random: Random) -> Self {
        let mut properties = Vec::new();
        messages.encode(None, messages.headers.as_ref(), &mut properties);
        Sender {
            messages: Arc::clone(messages),
            publisher,
            unit,
            random,
            route_at: index as usize % messages.routes.len(),
            body_at: index as usize,
            body: Vec::new(),
            properties_len: properties.len(),
            properties,
        }
    }

    /// Publishes the next message, number `sequence`, due at `due` and sent at `sent`, `elapsed` nanoseconds after the
    /// start. Returns the length of its body.
    pub(crate) fn send(
        &mut self,
        connection: &mut Connection,
        channel: u16,
        sequence: u64,
        due: u64,
        sent: u64,
        elapsed: u64,
    ) -> usize {
        let stamp = self.unit.stamp(sent);
        let given = match &self.messages.body {
            Body::Stamped(sizes) => {
                let len = size(sizes, &mut self.random, elapsed).max(STAMP_LEN);
                self.body.resize(len, 0);
                put_stamp(&mut self.body, sequence as u32, stamp);
                None
            }
            Body::Given(bodies) => {
                let at = self.body_at % bodies.len().max(1);
                self.body_at = at + 1;
                Some(at)
            }
        };
        let priority = &self.messages.properties.priority;
        if given.is_some() || priority.is_some() {
            let priority = priority.as_ref().map(|priority| priority.draw(&mut self.random).min(255.0) as u8);
            let headers = given.map(|_| {
                let headers = self.messages.headers.clone().unwrap_or_default();
                headers.with(TIMESTAMP_HEADER, amqp::Value::I64(stamp as i64))
            });
            let headers = headers.as_ref().or(self.messages.headers.as_ref());
            self.messages.encode(priority, headers, &mut self.properties);
            self.properties_len = self.properties.len();
        }
        self.properties.truncate(self.properties_len);
        if self.messages.is_told_apart {
            // A body that is given has no room for its number.
            let sequence = given.map(|_| sequence as u32);
            let late_ns = sent.saturating_sub(due);
            Origin { publisher: self.publisher, late_ns, sequence }.put(&mut self.properties);
        }
        let body: &[u8] = match (given, &self.messages.body) {
            (Some(at), Body::Given(bodies)) => bodies.get(at).map_or(&[], Vec::as_slice),
            _ => &self.body,
        };
        let len = body.len();
        match self.messages.choice {
            Choice::Fresh => {
                let key = self.random.uuid();
                let route = Route::new(self.messages.exchange.as_bytes(), key.as_bytes(), self.messages.is_mandatory);
                // The exchange's name was found to be short enough before.
                let route = route.unwrap_or_else(|| self.messages.routes[0].clone());
                connection.publish(channel, &route, &self.properties, body);
            }
            choice => {
                let route_at = if choice == Choice::Random {
                    self.random.below(self.messages.routes.len())
                } else {
                    self.route_at
                };
                connection.publish(channel, &self.messages.routes[route_at], &self.properties, body);
                if choice == Choice::InTurn {
                    self.route_at = (self.route_at + 1) % self.messages.routes.len();
                }
            }
        }
        len
    }

    /// Draws from a distribution, for what else is left to chance.
    pub(crate) fn draw(&mut self, distribution: &Distribution) -> f64 {
        distribution.draw(&mut self.random)
    }
}

/// How long a body is.
pub(crate) fn size(sizes: &Sizes, random: &mut Random, elapsed: u64) -> usize {
    match sizes {
        Sizes::Drawn(distribution) => distribution.draw(random) as usize,
        Sizes::Cycle(stretches) => in_cycle(stretches, elapsed).copied().unwrap_or(0) as usize,
    }
}

/// What a cycle of stretches has at a time.
pub(crate) fn in_cycle<T>(stretches: &[(T, std::time::Duration)], elapsed: u64) -> Option<&T> {
    let round: u64 = stretches.iter().map(|(_, duration)| ns(*duration)).sum();
    let mut left = elapsed.checked_rem(round)?;
    for (value, duration) in stretches {
        match left.checked_sub(ns(*duration)) {
            Some(after) => left = after,
            None => return Some(value),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn cycle_begins_again_after_its_last_stretch() {
        let second = Duration::from_secs(1);
        let stretches = [(10, second), (20, 2 * second)];
        let at = |s: u64| in_cycle(&stretches, s * 500_000_000).copied();
        assert_eq!([at(0), at(1), at(2), at(5), at(6), at(7)].map(Option::unwrap), [10, 10, 20, 20, 10, 10]);
        assert_eq!(in_cycle::<u32>(&[], 5), None);
        assert_eq!(in_cycle(&[(1, Duration::ZERO)], 5), None);
    }
}
