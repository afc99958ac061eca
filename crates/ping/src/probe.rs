//! A round, done: the sockets, AMQP and the clock.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use amqp::{Method, Properties, TableBuf, Value, basic, queue};
use amqp_client::{CallError, ConnectOptions, Connection, Event, Mechanism, Route};
use net::{ClientTls, DialOptions};

use crate::arguments::Settings;
use crate::failure::Failure;
use crate::stage::{Stage, Times};
use crate::text::Subject;

/// The only channel.
const CHANNEL: u16 = 1;
/// How long a goodbye is waited for: it is no part of what is measured.
const GOODBYE_TIMEOUT: Duration = Duration::from_secs(1);
/// What the request without work asks for each time.
const PREFETCH: basic::Qos = basic::Qos { prefetch_size: 0, prefetch_count: 1, global: false };

/// Does rounds against one broker.
#[derive(Debug)]
pub(crate) struct Probe<'a> {
    settings: &'a Settings,
    options: ConnectOptions,
    tls: Option<ClientTls>,
    /// Where new connections go: once found, the address, so that no round waits for a name.
    host: String,
    /// The name of the queue, where it has one of its own.
    queue: String,
    /// Whether a durable queue may be there.
    has_declared: bool,
    kept: Option<KeptConnection>,
    /// How the connection ended that was kept, if it did so between two rounds.
    broken: Option<Failure>,
}

/// The connection that requests and messages go over.
#[derive(Debug)]
struct KeptConnection {
    connection: Connection,
    route: Route,
    /// How many messages it has published: the tag of the last.
    published: u64,
    /// Segments that the kernel had sent again after the last round.
    resent: u32,
}

impl<'a> Probe<'a> {
    /// One that has no connection yet.
    pub(crate) fn new(settings: &'a Settings) -> Result<Self, Failure> {
        let dial = DialOptions { timeout: settings.timeout, ..DialOptions::default() };
        let options = ConnectOptions {
            name: Some("warren ping".to_owned()),
            properties: TableBuf::new()
                .with("product", Value::LongStr(b"warren ping"))
                .with("version", Value::LongStr(env!("CARGO_PKG_VERSION").as_bytes()))
                .with("platform", Value::LongStr(b"Rust")),
            mechanism: if settings.is_sasl_external { Mechanism::External } else { Mechanism::Plain },
            dial,
            timeout: settings.timeout,
            answer_timeout: settings.timeout,
            ..ConnectOptions::default()
        };
        let tls = settings.tls.as_ref().map(ClientTls::new).transpose()?;
        let queue = settings.queue.draw_name()?;
        let host = settings.uri.host.clone();
        Ok(Probe { settings, options, tls, host, queue, has_declared: false, kept: None, broken: None })
    }

    /// Connects, and has everything ready for the first round. Returns what is pinged.
    pub(crate) async fn connect(&mut self) -> Result<Subject, Failure> {
        let (mut connection, _, peer) = self.open().await?;
        // An address with a zone has no other way to be written than it was.
        if !matches!(peer, SocketAddr::V6(peer) if peer.scope_id() != 0) {
            self.host = peer.ip().to_string();
        }
        let server = connection.take_server();
        let broker = match (&server.product_name, &server.product_version) {
            (Some(name), Some(version)) => format!("{name} {version}"),
            _ => format!("{} {}", server.product, server.version),
        };
        self.keep(connection).await?;
        Ok(Subject {
            uri: self.settings.uri.to_string(),
            peer: peer.to_string(),
            broker: broker.trim().to_owned(),
            queue: self.settings.queue.described(),
            size: self.settings.size,
        })
    }

    /// Does a round. After one that was lost, the next begins with another connection.
    pub(crate) async fn round(&mut self, number: u64) -> Result<Times, Failure> {
        let outcome = match self.broken.take() {
            Some(failure) => Err(failure),
            None => self.measure(number).await,
        };
        if outcome.is_err() {
            self.kept = None;
        }
        outcome
    }

    /// Keeps the connection alive while nothing is measured, and never returns. A connection that is lost loses the next round.
    pub(crate) async fn idle(&mut self) {
        if let Some(kept) = &mut self.kept
            && let Err(failure) = kept.idle().await
        {
            self.kept = None;
            self.broken = Some(failure);
        }
        std::future::pending().await
    }

    /// Deletes the queue, if it is not deleted with the connection. Returns what could not be done.
    pub(crate) async fn end(&mut self) -> Option<String> {
        let kept = self.kept.take();
        let delete = queue::Delete { queue: self.queue.as_bytes(), ..Default::default() };
        let is_closed = match kept {
            Some(mut kept) => {
                if self.has_declared {
                    kept.connection.send(CHANNEL, &delete);
                }
                // A broker that says goodbye back has read all that came before.
                kept.connection.close(GOODBYE_TIMEOUT).await
            }
            None => false,
        };
        if is_closed || !self.has_declared {
            return None;
        }
        // The connection that was kept may be one that the broker no longer reads: that which has published is blocked.
        match self.delete_anew(&delete).await {
            Ok(()) => None,
            Err(failure) => Some(format!("deleting the queue {} failed, it will expire: {failure}", self.queue)),
        }
    }

    async fn delete_anew(&self, delete: &queue::Delete<'_>) -> Result<(), Failure> {
        let (mut connection, _, _) = self.open().await?;
        let of_call = |error| Failure::of_call("answer", error);
        connection.open_channel(CHANNEL).await.map_err(of_call)?;
        connection.call(CHANNEL, delete).await.map_err(of_call)?;
        connection.close(GOODBYE_TIMEOUT).await;
        Ok(())
    }

    /// A new connection, how long each step took, and where it leads.
    async fn open(&self) -> Result<(Connection, Times, SocketAddr), Failure> {
        let uri = &self.settings.uri;
        let mut times = Times::default();
        let began = Instant::now();
        let mut stream = net::dial(&self.host, uri.port, None, &self.options.dial).await?;
        times.set(Stage::Connect, began.elapsed());
        // Now, when it has measured nothing but the handshake: later segments are acknowledged with the broker's answers, or after a delay.
        if let Some(info) = stream.tcp_info() {
            times.set(Stage::Kernel, info.round_trip_min.unwrap_or(info.round_trip));
        }
        let peer = stream.peer_addr().map_err(|error| Failure::Closed(error.into()))?;
        if let Some(tls) = &self.tls {
            let began = Instant::now();
            stream = net::start_tls(stream, &uri.host, uri.port, tls, self.settings.timeout).await?;
            times.set(Stage::Tls, began.elapsed());
        }
        let began = Instant::now();
        let connection = Connection::over(stream, uri, &self.options).await?;
        times.set(Stage::Open, began.elapsed());
        times.resent = connection.tcp_info().map_or(0, |info| info.retransmits);
        Ok((connection, times, peer))
    }

    /// Has a connection ready for requests and messages, and keeps it.
    async fn keep(&mut self, mut connection: Connection) -> Result<(), Failure> {
        connection.open_channel(CHANNEL).await.map_err(|error| Failure::of_call("channel", error))?;
        connection.select_confirms(CHANNEL).await.map_err(|error| Failure::of_call("confirms", error))?;
        let plan = self.settings.queue;
        let arguments = plan.arguments();
        let declare = plan.declare(&self.queue, &arguments);
        // From here on it may be there, unless the answer is that it is not.
        let was_there = std::mem::replace(&mut self.has_declared, plan.is_durable());
        let declared = connection.declare_queue(CHANNEL, &declare).await;
        if let Err(CallError::Refused { .. }) = declared {
            self.has_declared = was_there;
        }
        let (name, _, _) = declared.map_err(|error| Failure::of_call("queue", error))?;
        let consume = basic::Consume { queue: name.as_bytes(), no_ack: true, ..Default::default() };
        connection.consume(CHANNEL, &consume).await.map_err(|error| Failure::of_call("consumer", error))?;
        // The first request is the one that changes something.
        connection.call(CHANNEL, &PREFETCH).await.map_err(|error| Failure::of_call("answer", error))?;
        let route = Route::new(b"", name.as_bytes(), true).ok_or_else(|| {
            Failure::Closed(amqp_client::Closed::Garbled(format!("a queue's name of {} bytes", name.len())))
        })?;
        self.kept = Some(KeptConnection { connection, route, published: 0, resent: 0 });
        Ok(())
    }

    async fn measure(&mut self, number: u64) -> Result<Times, Failure> {
        let (connection, mut times, _) = self.open().await?;
        // What the broker does to clear up is not to be in the way of what is measured next.
        connection.close(GOODBYE_TIMEOUT).await;
        if self.kept.is_none() {
            let (connection, _, _) = self.open().await?;
            self.keep(connection).await?;
        }
        let Some(kept) = &mut self.kept else { return Ok(times) };
        kept.answer(&mut times).await?;
        kept.publish(number, self.settings, &mut times).await?;
        if let Some(info) = kept.connection.tcp_info() {
            times.resent += info.retransmits.saturating_sub(std::mem::replace(&mut kept.resent, info.retransmits));
        }
        Ok(times)
    }
}

impl KeptConnection {
    async fn idle(&mut self) -> Result<(), Failure> {
        loop {
            while let Some(event) = self.connection.next_event()? {
                check(&event)?;
            }
            self.connection.turn().await?;
        }
    }

    /// The request without work.
    async fn answer(&mut self, times: &mut Times) -> Result<(), Failure> {
        let began = Instant::now();
        let answer = self.connection.call(CHANNEL, &PREFETCH).await;
        times.set(Stage::Answer, began.elapsed());
        answer.map(drop).map_err(|error| Failure::of_call("answer", error))
    }

    /// A message, until it is both confirmed and delivered.
    async fn publish(&mut self, number: u64, settings: &Settings, times: &mut Times) -> Result<(), Failure> {
        let id = number.to_string();
        let mut properties = Vec::new();
        Properties {
            message_id: Some(id.as_bytes()),
            delivery_mode: settings.queue.delivery_mode(),
            ..Properties::default()
        }
        .encode(&mut properties);
        let body = vec![0; settings.size];
        let (mut is_confirmed, mut is_delivered) = (false, false);
        let began = Instant::now();
        self.connection.publish(CHANNEL, &self.route, &properties, &body);
        self.published += 1;
        loop {
            let timeout = settings.timeout.saturating_sub(began.elapsed());
            match tokio::time::timeout(timeout, self.connection.turn()).await {
                Ok(turn) => drop(turn?),
                Err(_) => {
                    let what = if is_confirmed { "delivery" } else { "confirm" };
                    return Err(Failure::TimedOut { what, timeout: settings.timeout });
                }
            }
            let now = began.elapsed();
            while let Some(event) = self.connection.next_event()? {
                match event {
                    Event::Confirmed { tag, is_ack: true, .. } if tag == self.published => {
                        is_confirmed = true;
                        times.set(Stage::Confirm, now);
                    }
                    Event::Delivered { content, .. } if is_message(content.properties(), id.as_bytes()) => {
                        is_delivered = true;
                        times.set(Stage::Deliver, now);
                    }
                    other => check(&other)?,
                }
            }
            if is_confirmed && is_delivered {
                return Ok(());
            }
            if let Some(reason) = self.connection.is_blocked() {
                return Err(Failure::Blocked { reason: reason.to_owned() });
            }
        }
    }
}

/// Whether it is that of this round, and none that an earlier one gave up on.
fn is_message(properties: Option<Properties<'_>>, id: &[u8]) -> bool {
    properties.is_some_and(|properties| properties.message_id == Some(id))
}

/// What means that a message will not come.
fn check(event: &Event<'_>) -> Result<(), Failure> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match event {
        Event::Confirmed { is_ack: false, .. } => Err(Failure::Nacked),
        Event::Returned { returned, .. } => Err(Failure::Returned(text(returned.reply_text))),
        Event::ChannelClosed { close, .. } => {
            Err(Failure::ChannelClosed { code: close.reply_code, text: text(close.reply_text) })
        }
        Event::Answered { method: Method::BasicCancel(_), .. } => Err(Failure::QueueDeleted),
        _ => Ok(()),
    }
}
