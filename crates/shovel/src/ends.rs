//! Declaring what a shovel consumes and publishes to.

use amqp::{TableBuf, Uri, basic, queue};
use amqp_client::{CallError, Connection};
use bridge::{Author, CHANNEL, ConnectError, End, Wish};
use model::shovel::{AckMode, BrokerDestination, DeleteAfter, Protocol, Source, SourceQueue, Target};

use crate::host::Host;
use crate::status::ShovelId;

/// The channel on which queues are declared: a refusal closes it.
const DECLARING: u16 = 2;

const NOT_FOUND: u16 = 404;

/// What connects, in texts.
pub(crate) const WHO: &str = "shovels";

/// Why an end cannot be used. Texts have no passwords.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EndError {
    /// There is no connection.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// A queue cannot be declared, or consumed from.
    #[error("{what}: {source}")]
    Refused { what: String, source: CallError },
}

/// Connects to the first of these URIs that answers, beginning with a certain one.
pub(crate) async fn connect(
    uris: &[Uri],
    first: usize,
    protocol: Protocol,
    host: &dyn Host,
    id: &ShovelId,
) -> Result<End, EndError> {
    let author = if id.vhost.is_none() { Author::Operator } else { Author::User };
    let wish = Wish { name: format!("Shovel {}", id.name), who: WHO, is_here: protocol == Protocol::Local, author };
    let mut end = bridge::connect(uris, first, &wish, host).await?;
    // What the broker said of itself is of no use here, and there may be thousands of shovels.
    end.connection.take_server();
    Ok(end)
}

/// Declares what is consumed, and starts the consumer. Returns how many messages are to be moved; `None`: all that come.
pub(crate) async fn prepare_source(
    connection: &mut Connection,
    source: &Source,
    ack_mode: AckMode,
) -> Result<Option<u64>, EndError> {
    let (queue, count) = match &source.from {
        SourceQueue::Queue { name, arguments } => {
            let count = ensure_queue(connection, name, arguments, source.is_predeclared).await?;
            (name.to_string(), count)
        }
        SourceQueue::Exchange { name, key } => (bind_queue(connection, name, key).await?, 0),
    };
    let count = match source.delete_after {
        DeleteAfter::Never => None,
        DeleteAfter::QueueLength => Some(u64::from(count)),
        DeleteAfter::Count(count) => Some(count),
    };
    if count == Some(0) {
        return Ok(count);
    }
    let refused = |source| EndError::Refused { what: format!("cannot consume from queue '{queue}'"), source };
    let is_without_acks = is_without_acks(ack_mode, count);
    if !is_without_acks {
        let qos = basic::Qos { prefetch_size: 0, prefetch_count: source.prefetch, global: false };
        connection.call(CHANNEL, &qos).await.map_err(refused)?;
    }
    let consume = basic::Consume {
        queue: queue.as_bytes(),
        no_ack: is_without_acks,
        arguments: source.consumer_arguments.as_table(),
        ..Default::default()
    };
    connection.consume(CHANNEL, &consume).await.map_err(refused)?;
    Ok(count)
}

/// Whether the source is to forget what it gives out. Where the number of messages is known, more than that may be on their way when it
/// is reached: they have to go back.
pub(crate) fn is_without_acks(ack_mode: AckMode, count: Option<u64>) -> bool {
    ack_mode == AckMode::NoAck && count.is_none()
}

/// Declares what is published to, and has publishes confirmed where that matters.
pub(crate) async fn prepare_destination(
    connection: &mut Connection,
    destination: &BrokerDestination,
    ack_mode: AckMode,
) -> Result<(), EndError> {
    match &destination.to {
        Target::Queue { name, arguments } => {
            ensure_queue(connection, name, arguments, destination.is_predeclared).await?;
        }
        Target::Exchange { name: Some(name), .. } if !name.is_empty() => ensure_exchange(connection, name).await?,
        Target::Exchange { .. } => {}
    }
    if ack_mode == AckMode::OnConfirm {
        let refused = |source| EndError::Refused { what: "cannot enable publisher confirms".to_owned(), source };
        connection.select_confirms(CHANNEL).await.map_err(refused)?;
    }
    Ok(())
}

/// A queue that is there, or is declared durable. Returns how many messages it has.
async fn ensure_queue(
    connection: &mut Connection,
    name: &str,
    arguments: &TableBuf,
    is_predeclared: bool,
) -> Result<u32, EndError> {
    let refused = |source| EndError::Refused { what: format!("queue '{name}'"), source };
    connection.open_channel(DECLARING).await.map_err(refused)?;
    let passive = queue::Declare { queue: name.as_bytes(), passive: true, ..Default::default() };
    let count = match connection.declare_queue(DECLARING, &passive).await {
        Ok((_, count, _)) => count,
        Err(CallError::Refused { code: NOT_FOUND, .. }) if !is_predeclared => {
            connection.open_channel(DECLARING).await.map_err(refused)?;
            let declare = queue::Declare {
                queue: name.as_bytes(),
                durable: true,
                arguments: arguments.as_table(),
                ..Default::default()
            };
            connection.declare_queue(DECLARING, &declare).await.map_err(refused)?.1
        }
        Err(error) => return Err(refused(error)),
    };
    connection.close_channel(DECLARING).await.map_err(refused)?;
    Ok(count)
}

/// An exchange that is published to has to be there: a publish to one that is not closes the channel again and again.
async fn ensure_exchange(connection: &mut Connection, name: &str) -> Result<(), EndError> {
    let refused = |source| EndError::Refused { what: format!("exchange '{name}'"), source };
    connection.open_channel(DECLARING).await.map_err(refused)?;
    let passive = amqp::exchange::Declare { exchange: name.as_bytes(), passive: true, ..Default::default() };
    connection.call(DECLARING, &passive).await.map_err(refused)?;
    connection.close_channel(DECLARING).await.map_err(refused)
}

/// A queue of the shovel's own, bound to an exchange. It is deleted with the connection.
async fn bind_queue(connection: &mut Connection, exchange: &str, key: &str) -> Result<String, EndError> {
    let refused = |source| EndError::Refused { what: format!("exchange '{exchange}'"), source };
    let declare = queue::Declare { exclusive: true, ..Default::default() };
    let (name, ..) = connection.declare_queue(CHANNEL, &declare).await.map_err(refused)?;
    let bind = queue::Bind {
        queue: name.as_bytes(),
        exchange: exchange.as_bytes(),
        routing_key: key.as_bytes(),
        ..Default::default()
    };
    connection.call(CHANNEL, &bind).await.map_err(refused)?;
    Ok(name)
}
