//! One shovel: connects, moves messages, fails, waits, and begins again.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use amqp_client::{Closed, Connection, Event};
use bridge::{CHANNEL, ConnectError, Outcome, Settlement, Taken, Transfer};
use http_client::HttpUrlError;
use model::shovel::{self, Shovel};
use tokio::sync::watch;
use tokio::time::Sleep;

use crate::destination::{Broker, Destination, Verdict};
use crate::ends::{self, EndError};
use crate::host::Host;
use crate::message::Forwarding;
use crate::status::{Ends, Flow, Progress, ShovelId, State, StatusCell};
use crate::web_server::{self, WebServer};

/// How long what is under way may take to be settled when a shovel is done, or is to wait.
const SETTLING_TIMEOUT: Duration = Duration::from_secs(2);
/// How long a broker may take to say goodbye.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// Deliveries taken in a row before the destination's words are looked at.
const DELIVERY_COUNT: usize = 512;

/// What an operator wants of a shovel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// To run. The number changes with each restart that was asked for.
    Run(u64),
    /// To wait.
    Pause,
    /// To end. What is under way is settled for so long.
    Stop(Duration),
}

/// Why a life of a shovel is over. Texts have no passwords.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("source: {0}")]
    SourceEnd(EndError),
    #[error("destination: {0}")]
    DestinationEnd(EndError),
    #[error("source: {0}")]
    Source(Closed),
    #[error("destination: {0}")]
    Destination(Closed),
    #[error("source: the channel was closed: {code} {text}")]
    SourceChannel { code: u16, text: String },
    #[error("destination: the channel was closed: {code} {text}")]
    DestinationChannel { code: u16, text: String },
    #[error("source: the consumer was cancelled, probably because its queue was deleted")]
    Cancelled,
    #[error("destination: a message was returned: {code} {text} (routing key '{key}')")]
    Returned { code: u16, text: String, key: String },
    #[error("destination: {0}")]
    WebServer(String),
    #[error("destination: {0}")]
    Url(HttpUrlError),
    #[error("an exchange name or a routing key is longer than 255 bytes")]
    Unnameable,
}

/// How a life ends that has not failed.
enum Ended {
    /// All is moved.
    Finished,
    /// An operator wants something else.
    Ordered,
}

/// A shovel's task.
pub(crate) struct Worker {
    pub(crate) id: ShovelId,
    pub(crate) shovel: Arc<Shovel>,
    pub(crate) host: Arc<dyn Host>,
    pub(crate) status_cell: Arc<StatusCell>,
    pub(crate) orders: watch::Receiver<Order>,
    /// The first URI that is tried; the next life begins with the next one.
    pub(crate) first_uri: usize,
}

impl Worker {
    /// Lives until it is ordered to end, or all is moved.
    pub(crate) async fn run(mut self) {
        loop {
            let order = *self.orders.borrow_and_update();
            match order {
                Order::Stop(_) => return,
                Order::Pause => {
                    self.enter(State::Paused);
                    if self.orders.changed().await.is_err() {
                        return;
                    }
                    continue;
                }
                Order::Run(_) => {}
            }
            self.enter(State::Starting);
            match self.live().await {
                Ok(Ended::Ordered) => {}
                Ok(Ended::Finished) => {
                    tracing::info!(shovel = %self.id, "shovel finished");
                    // Those of the configuration stay listed.
                    self.enter(State::Terminated { reason: "the shovel finished".into() });
                    self.host.finished(&self.id);
                    return;
                }
                Err(failure) => {
                    tracing::warn!(shovel = %self.id, reason = %failure, "shovel failed");
                    self.enter(State::Terminated { reason: failure.to_string().into() });
                    self.first_uri += 1;
                    if !Box::pin(self.wait_to_begin_again()).await {
                        return;
                    }
                }
            }
        }
    }

    fn enter(&self, state: State) {
        self.status_cell.set_state(state.clone());
        self.host.state_changed(&self.id, &state);
    }

    /// Returns false if it is to end.
    async fn wait_to_begin_again(&mut self) -> bool {
        let ordered = self.orders.changed();
        match self.shovel.reconnect_delay {
            Some(delay) => !matches!(tokio::time::timeout(delay, ordered).await, Ok(Err(_))),
            None => ordered.await.is_ok(),
        }
    }

    /// From the first connection to the last acknowledgement.
    async fn live(&mut self) -> Result<Ended, Failure> {
        let mut orders = self.orders.clone();
        // Few have one: what waits for it is not part of each of them.
        let after = self.shovel.source.delete_after_duration;
        let mut deadline = after.map(|duration| Box::pin(tokio::time::sleep(duration)));
        let mut life = {
            // What connecting takes is not kept.
            let mut connecting = Box::pin(self.connect());
            tokio::select! {
                connected = &mut connecting => match connected? {
                    Some((life, ends)) => {
                        self.enter(State::Running(Box::new(ends)));
                        life
                    }
                    None => return Ok(Ended::Finished),
                },
                _ = orders.changed() => return Ok(Ended::Ordered),
            }
        };
        let ended = loop {
            tokio::select! {
                moved = life.step() => {
                    moved?;
                    life.report(&self.status_cell);
                    if life.transfer.is_done() {
                        break Ended::Finished;
                    }
                }
                _ = orders.changed() => break Ended::Ordered,
                () = reach(&mut deadline) => break Ended::Finished,
            }
        };
        let timeout = match *self.orders.borrow() {
            Order::Stop(timeout) => timeout,
            Order::Run(_) | Order::Pause => SETTLING_TIMEOUT,
        };
        Box::pin(life.settle(timeout)).await?;
        life.report(&self.status_cell);
        Box::pin(life.close()).await;
        Ok(ended)
    }

    /// Connects both ends, and declares. `None`: there is nothing to move.
    async fn connect(&self) -> Result<Option<(Box<Life>, Ends)>, Failure> {
        let Shovel { source, destination, ack_mode, .. } = &*self.shovel;
        let (host, first) = (&self.host, self.first_uri);
        let from = ends::connect(&source.uris, first, source.protocol, &**host, &self.id).await;
        let mut from = from.map_err(Failure::SourceEnd)?;
        let (to, uri) = match destination {
            shovel::Destination::Broker(broker) => {
                let to = ends::connect(&broker.uris, first, broker.protocol, &**host, &self.id).await;
                let mut to = to.map_err(Failure::DestinationEnd)?;
                let prepared = ends::prepare_destination(&mut to.connection, broker, *ack_mode).await;
                prepared.map_err(Failure::DestinationEnd)?;
                let ends = Ends { source_uri: from.uri.clone(), destination_uri: to.uri.clone() };
                let forwarding = Forwarding::new(source, broker, &self.id, &host.cluster_name(), &ends);
                (Destination::Broker(Box::new(Broker { connection: to.connection, forwarding })), to.uri)
            }
            shovel::Destination::Http(server) => {
                let url = WebServer::url(server, first).map_err(Failure::Url)?;
                if let Some(name) = url.host().filter(|name| !host.permits(name)) {
                    let refused = ConnectError::NotPermitted { who: ends::WHO, host: name.to_owned() };
                    return Err(Failure::DestinationEnd(refused.into()));
                }
                let uri = web_server::shown(&url);
                (Destination::Web(Box::new(WebServer::new(url, server))), uri)
            }
        };
        let count = ends::prepare_source(&mut from.connection, source, *ack_mode).await.map_err(Failure::SourceEnd)?;
        if count == Some(0) {
            return Ok(None);
        }
        // Web servers answer each message: that is their confirm.
        let counts_as = match (destination, ack_mode) {
            (shovel::Destination::Http(_), shovel::AckMode::OnPublish) => shovel::AckMode::OnConfirm,
            (_, shovel::AckMode::NoAck) if !ends::is_without_acks(*ack_mode, count) => shovel::AckMode::OnPublish,
            (_, mode) => *mode,
        };
        let life = Life {
            transfer: Transfer::new(counts_as, count, source.prefetch),
            source: from.connection,
            destination: to,
            has_more: false,
        };
        Ok(Some((Box::new(life), Ends { source_uri: from.uri, destination_uri: uri })))
    }
}

/// Waits for a deadline, if there is one.
async fn reach(deadline: &mut Option<Pin<Box<Sleep>>>) {
    match deadline {
        Some(deadline) => deadline.await,
        None => std::future::pending().await,
    }
}

/// A shovel that is connected.
struct Life {
    source: Connection,
    destination: Destination,
    transfer: Transfer,
    /// Deliveries have come that were not looked at.
    has_more: bool,
}

impl Life {
    /// Moves what has come, and waits until more can be done. May be dropped at any time.
    async fn step(&mut self) -> Result<(), Failure> {
        self.advance()?;
        if self.transfer.is_done() {
            return Ok(());
        }
        self.source.set_receiving(!self.has_more);
        self.turn().await
    }

    /// Sends and receives at both ends, until one of them has done something.
    async fn turn(&mut self) -> Result<(), Failure> {
        poll_fn(|cx| {
            // Both are asked, whatever the first one says.
            let source = self.source.poll_turn(cx).map_err(Failure::Source)?;
            let destination = self.destination.poll(cx)?;
            if source.is_ready() || destination.is_ready() { Poll::Ready(Ok(())) } else { Poll::Pending }
        })
        .await
    }

    /// What the destination says of what it was given.
    fn hear(&mut self) -> Result<(), Failure> {
        while let Some(Verdict { tag, is_multiple, outcome }) = self.destination.next_verdict()? {
            self.transfer.confirm(tag, is_multiple, outcome);
        }
        Ok(())
    }

    /// Moves what has come, without waiting.
    fn advance(&mut self) -> Result<(), Failure> {
        loop {
            self.hear()?;
            let taken_all = self.take_deliveries()?;
            self.tell_source();
            if taken_all || self.destination.flow() != Flow::Running {
                self.has_more = !taken_all;
                return Ok(());
            }
        }
    }

    /// Publishes what the source has given out. Returns whether that was all.
    fn take_deliveries(&mut self) -> Result<bool, Failure> {
        for _ in 0..DELIVERY_COUNT {
            if self.destination.flow() != Flow::Running {
                return Ok(false);
            }
            let Some(event) = self.source.next_event().map_err(Failure::Source)? else { return Ok(true) };
            match event {
                Event::Delivered { deliver, content, .. } => match self.transfer.take(deliver.delivery_tag) {
                    Taken::Publish => self.destination.publish(&deliver, &content)?,
                    Taken::Leave => {}
                },
                Event::ChannelClosed { close, .. } => {
                    let text = String::from_utf8_lossy(close.reply_text).into_owned();
                    return Err(Failure::SourceChannel { code: close.reply_code, text });
                }
                Event::Answered { method: amqp::Method::BasicCancel(_), .. } => return Err(Failure::Cancelled),
                _ => {}
            }
        }
        Ok(false)
    }

    fn tell_source(&mut self) {
        while let Some(Settlement { tag, is_multiple, outcome }) = self.transfer.next_settlement() {
            match outcome {
                Outcome::Accepted => self.source.ack(CHANNEL, tag, is_multiple),
                Outcome::Refused => self.source.nack(CHANNEL, tag, is_multiple, true),
                Outcome::Rejected => self.source.nack(CHANNEL, tag, is_multiple, false),
            }
        }
    }

    fn report(&self, status_cell: &StatusCell) {
        let waiting = self.destination.waiting_count() as u64;
        status_cell.set_progress(Progress {
            forwarded_count: self.transfer.forwarded_count(),
            remaining: self.transfer.remaining(),
            pending_count: waiting,
            flow: self.destination.flow(),
        });
    }

    /// Takes no more, and waits for what is under way, but not for ever: what is not settled then comes again as redelivered.
    async fn settle(&mut self, timeout: Duration) -> Result<(), Failure> {
        self.transfer.take_no_more();
        self.source.set_receiving(false);
        let settling = async {
            while self.transfer.unconfirmed_count() > 0 || !self.destination.is_flushed() {
                self.turn().await?;
                self.hear()?;
                self.tell_source();
            }
            self.tell_source();
            self.source.flush().await.map_err(Failure::Source)
        };
        match tokio::time::timeout(timeout, settling).await {
            Ok(settled) => settled,
            Err(_) => Ok(()),
        }
    }

    async fn close(self: Box<Self>) {
        let Life { source, destination, .. } = *self;
        tokio::join!(source.close(CLOSE_TIMEOUT), destination.close(CLOSE_TIMEOUT));
    }
}
