//! The scenarios of tests/clients with lapin: one line each, `ok NAME` or `not ok NAME: why`.

use futures_util::StreamExt;
use lapin::options::{
    BasicAckOptions, BasicConsumeOptions, BasicGetOptions, BasicPublishOptions, BasicQosOptions, ConfirmSelectOptions,
    ExchangeDeclareOptions, ExchangeDeleteOptions, QueueBindOptions, QueueDeclareOptions, QueueDeleteOptions,
};
use lapin::tcp::{OwnedIdentity, OwnedTLSConfig};
use lapin::types::FieldTable;
use lapin::{
    BasicProperties, Channel, Confirmation, Connection, ConnectionProperties, Consumer, Error, ErrorKind, ExchangeKind,
};
use std::future::Future;
use std::pin::Pin;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(30);

type Outcome = Result<(), Box<dyn std::error::Error + Send + Sync>>;
type Scenario = fn(&mut Session) -> Pin<Box<dyn Future<Output = Outcome> + '_>>;

macro_rules! scenarios {
    ($($name:ident),* $(,)?) => { [$((stringify!($name), (|s| Box::pin($name(s))) as Scenario)),*] };
}

macro_rules! check {
    ($is:expr, $($why:tt)+) => { if !$is { return Err(format!($($why)+).into()); } };
}

#[tokio::main(worker_threads = 1)]
async fn main() -> ExitCode {
    let Some(address) = std::env::args().nth(1) else {
        eprintln!("usage: lapin-scenarios amqp://USER:PASSWORD@HOST:PORT/");
        return ExitCode::from(2);
    };
    let mut code = ExitCode::SUCCESS;
    for (name, run) in scenarios![
        hello_world,
        work_queue,
        publish_subscribe,
        routing,
        topics,
        rpc_direct_reply_to,
        publisher_confirms,
        mandatory_return_before_confirm,
        body_10_mb,
        transaction,
        consumer_cancel_notification,
        error_403_channel,
        error_404_channel,
        error_404_publish,
        error_405_channel,
        error_406_channel,
        error_406_unknown_delivery_tag,
        error_403_login,
        error_530_vhost,
        error_530_connection,
        error_540_connection,
    ] {
        if is_external() && name == "error_403_login" {
            continue; // there is no password to be wrong
        }
        let mut session =
            Session { address: address.clone(), connections: Vec::new(), queues: Vec::new(), exchanges: Vec::new() };
        let outcome =
            tokio::time::timeout(2 * TIMEOUT, run(&mut session)).await.unwrap_or_else(|_| Err("took too long".into()));
        match outcome {
            Ok(()) => println!("ok {name}"),
            Err(why) => {
                code = ExitCode::FAILURE;
                println!("not ok {name}: {}", why.to_string().replace('\n', " "));
            }
        }
        session.close().await;
    }
    code
}

/// Whether the client's certificate says who it is.
fn is_external() -> bool {
    std::env::var_os("WARREN_TLS_EXTERNAL").is_some()
}

/// Connects as the environment says: whom to trust, which certificate to show.
async fn dial(uri: &str) -> Result<Connection, Error> {
    let file = |variable| std::env::var_os(variable).map(|path| std::fs::read(path).expect("a file that can be read"));
    let identity = file("WARREN_TLS_CERT").zip(file("WARREN_TLS_KEY"));
    let tls = OwnedTLSConfig {
        cert_chain: file("WARREN_TLS_CA").map(|pem| String::from_utf8(pem).expect("PEM is text")),
        identity: identity.map(|(pem, key)| OwnedIdentity::PKCS8 { pem, key }),
    };
    let uri = if is_external() { format!("{uri}?auth_mechanism=external") } else { uri.to_owned() };
    Connection::connect_with_config(&uri, ConnectionProperties::default(), tls, lapin::runtime::default_runtime()?)
        .await
}

/// What one scenario opened, and closes.
struct Session {
    address: String,
    connections: Vec<Connection>,
    queues: Vec<String>,
    exchanges: Vec<String>,
}

impl Session {
    async fn connect(&mut self) -> Result<usize, Error> {
        // lapin takes the path of the URL for the name of the vhost, as the URL's specification says.
        let uri = format!("{}%2f", self.address);
        self.connections.push(dial(&uri).await?);
        Ok(self.connections.len() - 1)
    }

    async fn channel(&mut self) -> Result<Channel, Error> {
        let connection = self.connect().await?;
        self.connections[connection].create_channel().await
    }

    async fn queue(&mut self, channel: &Channel) -> Result<String, Error> {
        let queue = name("q");
        self.queues.push(queue.clone());
        channel.queue_declare(queue.as_str().into(), durable(), FieldTable::default()).await?;
        Ok(queue)
    }

    async fn exchange(&mut self, channel: &Channel, kind: ExchangeKind) -> Result<String, Error> {
        let exchange = name("x");
        self.exchanges.push(exchange.clone());
        channel
            .exchange_declare(exchange.as_str().into(), kind, ExchangeDeclareOptions::default(), FieldTable::default())
            .await?;
        Ok(exchange)
    }

    async fn close(mut self) {
        if let Ok(channel) = self.channel().await {
            for queue in &self.queues {
                let _ = channel.queue_delete(queue.as_str().into(), QueueDeleteOptions::default()).await;
            }
            for exchange in &self.exchanges {
                let _ = channel.exchange_delete(exchange.as_str().into(), ExchangeDeleteOptions::default()).await;
            }
        }
        for connection in &self.connections {
            let _ = connection.close(200, "bye".into()).await;
        }
    }
}

fn name(kind: &str) -> String {
    static SERIAL: AtomicU32 = AtomicU32::new(0);
    format!("warren-rust-{}-{}-{kind}", std::process::id(), SERIAL.fetch_add(1, Ordering::Relaxed))
}

fn durable() -> QueueDeclareOptions {
    QueueDeclareOptions { durable: true, ..QueueDeclareOptions::default() }
}

fn persistent() -> BasicProperties {
    BasicProperties::default().with_delivery_mode(2)
}

async fn publish(
    channel: &Channel,
    exchange: &str,
    key: &str,
    body: &[u8],
    properties: BasicProperties,
) -> Result<lapin::PublisherConfirm, Error> {
    channel.basic_publish(exchange.into(), key.into(), BasicPublishOptions::default(), body, properties).await
}

async fn consume(channel: &Channel, queue: &str, no_ack: bool) -> Result<Consumer, Error> {
    let options = BasicConsumeOptions { no_ack, ..BasicConsumeOptions::default() };
    channel.basic_consume(queue.into(), "".into(), options, FieldTable::default()).await
}

async fn next(consumer: &mut Consumer) -> Result<lapin::message::Delivery, Box<dyn std::error::Error + Send + Sync>> {
    match tokio::time::timeout(TIMEOUT, consumer.next()).await? {
        Some(delivery) => Ok(delivery?),
        None => Err("the consumer ended".into()),
    }
}

async fn bind(channel: &Channel, queue: &str, exchange: &str, key: &str) -> Result<(), Error> {
    channel
        .queue_bind(queue.into(), exchange.into(), key.into(), QueueBindOptions::default(), FieldTable::default())
        .await
}

async fn drain(channel: &Channel, queue: &str) -> Result<Vec<String>, Error> {
    let mut bodies = Vec::new();
    while let Some(message) = channel.basic_get(queue.into(), BasicGetOptions { no_ack: true }).await? {
        bodies.push(String::from_utf8_lossy(&message.delivery.data).into_owned());
    }
    Ok(bodies)
}

async fn hello_world(s: &mut Session) -> Outcome {
    let channel = s.channel().await?;
    let queue = s.queue(&channel).await?;
    publish(&channel, "", &queue, b"Hello World!", BasicProperties::default().with_content_type("text/plain".into()))
        .await?;
    let got = next(&mut consume(&channel, &queue, true).await?).await?;
    check!(got.data == b"Hello World!" && got.routing_key.as_str() == queue && !got.redelivered, "got {got:?}");
    Ok(())
}

async fn work_queue(s: &mut Session) -> Outcome {
    let setup = s.channel().await?;
    let queue = s.queue(&setup).await?;
    let mut workers = Vec::new();
    for _ in 0..2 {
        let channel = s.channel().await?;
        channel.basic_qos(1, BasicQosOptions::default()).await?;
        workers.push(consume(&channel, &queue, false).await?);
    }
    for task in 0..6 {
        publish(&setup, "", &queue, task.to_string().as_bytes(), persistent()).await?;
    }
    // The second worker keeps its task; the first gets all others, one after each ack.
    let kept = next(&mut workers[1]).await?;
    let mut seen = vec![kept.data.clone()];
    for _ in 0..5 {
        let delivery = next(&mut workers[0]).await?;
        delivery.ack(BasicAckOptions::default()).await?;
        seen.push(delivery.data);
    }
    seen.sort();
    seen.dedup();
    check!(seen.len() == 6, "{} different tasks", seen.len());
    kept.ack(BasicAckOptions::default()).await?;
    Ok(())
}

async fn publish_subscribe(s: &mut Session) -> Outcome {
    let channel = s.channel().await?;
    let exchange = s.exchange(&channel, ExchangeKind::Fanout).await?;
    let mut queues = Vec::new();
    for _ in 0..3 {
        let queue = s.queue(&channel).await?;
        bind(&channel, &queue, &exchange, "").await?;
        queues.push(queue);
    }
    publish(&channel, &exchange, "whatever", b"news", BasicProperties::default()).await?;
    for queue in queues {
        let got = drain(&channel, &queue).await?;
        check!(got == ["news"], "got {got:?}");
    }
    Ok(())
}

async fn routing(s: &mut Session) -> Outcome {
    let channel = s.channel().await?;
    let exchange = s.exchange(&channel, ExchangeKind::Direct).await?;
    let (errors, all) = (s.queue(&channel).await?, s.queue(&channel).await?);
    bind(&channel, &errors, &exchange, "error").await?;
    for severity in ["info", "warning", "error"] {
        bind(&channel, &all, &exchange, severity).await?;
        publish(&channel, &exchange, severity, severity.as_bytes(), BasicProperties::default()).await?;
    }
    publish(&channel, &exchange, "debug", b"debug", BasicProperties::default()).await?;
    let got = (drain(&channel, &errors).await?, drain(&channel, &all).await?);
    check!(got.0 == ["error"] && got.1 == ["info", "warning", "error"], "got {got:?}");
    Ok(())
}

async fn topics(s: &mut Session) -> Outcome {
    let channel = s.channel().await?;
    let exchange = s.exchange(&channel, ExchangeKind::Topic).await?;
    let (orange, lazy) = (s.queue(&channel).await?, s.queue(&channel).await?);
    bind(&channel, &orange, &exchange, "*.orange.*").await?;
    bind(&channel, &lazy, &exchange, "lazy.#").await?;
    for key in ["quick.orange.rabbit", "lazy.orange.elephant", "lazy", "quick.brown.fox", "lazy.a.b.c"] {
        publish(&channel, &exchange, key, key.as_bytes(), BasicProperties::default()).await?;
    }
    let got = (drain(&channel, &orange).await?, drain(&channel, &lazy).await?);
    check!(
        got.0 == ["quick.orange.rabbit", "lazy.orange.elephant"]
            && got.1 == ["lazy.orange.elephant", "lazy", "lazy.a.b.c"],
        "got {got:?}"
    );
    Ok(())
}

async fn rpc_direct_reply_to(s: &mut Session) -> Outcome {
    let server = s.channel().await?;
    let queue = s.queue(&server).await?;
    let mut requests = consume(&server, &queue, true).await?;
    let client = s.channel().await?;
    let mut replies = consume(&client, "amq.rabbitmq.reply-to", true).await?;
    let ask = BasicProperties::default().with_reply_to("amq.rabbitmq.reply-to".into()).with_correlation_id("7".into());
    publish(&client, "", &queue, b"20", ask).await?;
    let request = next(&mut requests).await?;
    let reply_to = request.properties.reply_to().clone().ok_or("the request has no reply-to")?;
    let correlation_id = request.properties.correlation_id().clone().ok_or("the request has no correlation id")?;
    publish(&server, "", reply_to.as_str(), b"40", BasicProperties::default().with_correlation_id(correlation_id))
        .await?;
    let reply = next(&mut replies).await?;
    check!(reply.data == b"40" && *reply.properties.correlation_id() == Some("7".into()), "got {reply:?}");
    Ok(())
}

async fn publisher_confirms(s: &mut Session) -> Outcome {
    let channel = s.channel().await?;
    let queue = s.queue(&channel).await?;
    channel.confirm_select(ConfirmSelectOptions::default()).await?;
    let mut pending = Vec::new();
    for number in 0..200 {
        pending.push(publish(&channel, "", &queue, number.to_string().as_bytes(), persistent()).await?);
    }
    for confirm in pending {
        let confirmation = tokio::time::timeout(TIMEOUT, confirm).await??;
        check!(confirmation == Confirmation::Ack(None), "got {confirmation:?}");
    }
    let passive = QueueDeclareOptions { passive: true, ..QueueDeclareOptions::default() };
    let state = channel.queue_declare(queue.as_str().into(), passive, FieldTable::default()).await?;
    check!(state.message_count() == 200, "{} messages", state.message_count());
    Ok(())
}

async fn mandatory_return_before_confirm(s: &mut Session) -> Outcome {
    let channel = s.channel().await?;
    channel.confirm_select(ConfirmSelectOptions::default()).await?;
    let options = BasicPublishOptions { mandatory: true, ..BasicPublishOptions::default() };
    let confirm = channel
        .basic_publish("".into(), name("nowhere").as_str().into(), options, b"back", BasicProperties::default())
        .await?;
    let confirmation = tokio::time::timeout(TIMEOUT, confirm).await??;
    check!(confirmation.is_ack(), "got {confirmation:?}");
    // lapin hands the returned message over with the confirm, if it came before.
    let returned = confirmation.take_message().ok_or("confirmed before it was returned")?;
    check!(
        returned.reply_code == 312 && returned.reply_text.as_str() == "NO_ROUTE" && returned.delivery.data == b"back",
        "got {returned:?}"
    );
    Ok(())
}

async fn body_10_mb(s: &mut Session) -> Outcome {
    let channel = s.channel().await?;
    let queue = s.queue(&channel).await?;
    let body: Vec<u8> = (0..10 << 20).map(|at: u32| (at % 251) as u8).collect();
    publish(&channel, "", &queue, &body, persistent()).await?;
    let got = next(&mut consume(&channel, &queue, false).await?).await?;
    check!(got.data == body, "the body came back with {} bytes", got.data.len());
    got.ack(BasicAckOptions::default()).await?;
    Ok(())
}

async fn transaction(s: &mut Session) -> Outcome {
    let (channel, other) = (s.channel().await?, s.channel().await?);
    let queue = s.queue(&other).await?;
    channel.tx_select().await?;
    publish(&channel, "", &queue, b"rolled back", BasicProperties::default()).await?;
    channel.tx_rollback().await?;
    publish(&channel, "", &queue, b"committed", BasicProperties::default()).await?;
    let early = drain(&other, &queue).await?;
    check!(early.is_empty(), "{early:?} before the commit");
    channel.tx_commit().await?;
    let got = next(&mut consume(&other, &queue, true).await?).await?;
    check!(got.data == b"committed", "got {got:?}");
    Ok(())
}

async fn consumer_cancel_notification(s: &mut Session) -> Outcome {
    let (channel, other) = (s.channel().await?, s.channel().await?);
    let queue = s.queue(&channel).await?;
    let mut consumer = consume(&channel, &queue, false).await?;
    other.queue_delete(queue.as_str().into(), QueueDeleteOptions::default()).await?;
    let end = tokio::time::timeout(TIMEOUT, consumer.next()).await?;
    check!(end.is_none(), "got {end:?} instead of the end");
    s.queue(&channel).await?;
    Ok(())
}

/// The error must have that code and text, must have ended its channel, and the connection must live on.
async fn check_channel_error(
    connection: &Connection,
    channel: &Channel,
    error: Error,
    code: u16,
    text: &str,
) -> Outcome {
    check_error(&error, code, text)?;
    check!(!channel.status().connected(), "the channel lives on");
    check!(connection.status().connected(), "the connection went with the channel");
    let next = connection.create_channel().await?;
    next.queue_declare(
        "".into(),
        QueueDeclareOptions { exclusive: true, ..QueueDeclareOptions::default() },
        FieldTable::default(),
    )
    .await?;
    Ok(())
}

fn check_error(error: &Error, code: u16, text: &str) -> Outcome {
    match error.kind() {
        ErrorKind::ProtocolError(told) if told.get_id() == code && told.get_message().as_str() == text => Ok(()),
        _ => Err(format!("got {error:?} instead of {code} {text}").into()),
    }
}

fn failure<T>(result: Result<T, Error>) -> Result<Error, String> {
    result.err().ok_or_else(|| "no error".to_owned())
}

async fn error_403_channel(s: &mut Session) -> Outcome {
    let connection = s.connect().await?;
    let connection = &s.connections[connection];
    let channel = connection.create_channel().await?;
    let error = failure(channel.queue_declare("amq.mine".into(), durable(), FieldTable::default()).await)?;
    check_channel_error(
        connection,
        &channel,
        error,
        403,
        "ACCESS_REFUSED - queue name 'amq.mine' contains reserved prefix 'amq.*'",
    )
    .await
}

async fn error_404_channel(s: &mut Session) -> Outcome {
    let connection = s.connect().await?;
    let connection = &s.connections[connection];
    let channel = connection.create_channel().await?;
    let missing = name("missing");
    let passive = QueueDeclareOptions { passive: true, ..QueueDeclareOptions::default() };
    let error = failure(channel.queue_declare(missing.as_str().into(), passive, FieldTable::default()).await)?;
    check_channel_error(connection, &channel, error, 404, &format!("NOT_FOUND - no queue '{missing}' in vhost '/'"))
        .await
}

async fn error_404_publish(s: &mut Session) -> Outcome {
    let connection = s.connect().await?;
    let connection = &s.connections[connection];
    let channel = connection.create_channel().await?;
    let missing = name("missing");
    channel.confirm_select(ConfirmSelectOptions::default()).await?;
    let confirm = publish(&channel, &missing, "", b"lost", BasicProperties::default()).await?;
    let error = failure(tokio::time::timeout(TIMEOUT, confirm).await?)?;
    check_channel_error(connection, &channel, error, 404, &format!("NOT_FOUND - no exchange '{missing}' in vhost '/'"))
        .await
}

async fn error_405_channel(s: &mut Session) -> Outcome {
    let owner = s.channel().await?;
    let queue = name("q");
    let exclusive = QueueDeclareOptions { exclusive: true, ..QueueDeclareOptions::default() };
    owner.queue_declare(queue.as_str().into(), exclusive, FieldTable::default()).await?;
    let connection = s.connect().await?;
    let connection = &s.connections[connection];
    let channel = connection.create_channel().await?;
    let error = failure(consume(&channel, &queue, true).await)?;
    let text = format!(
        "RESOURCE_LOCKED - cannot obtain exclusive access to locked queue '{queue}' in vhost '/'. It could be originally declared on \
         another connection or the exclusive property value does not match that of the original declaration."
    );
    check_channel_error(connection, &channel, error, 405, &text).await
}

async fn error_406_channel(s: &mut Session) -> Outcome {
    let setup = s.channel().await?;
    let queue = s.queue(&setup).await?;
    let connection = s.connect().await?;
    let connection = &s.connections[connection];
    let channel = connection.create_channel().await?;
    let other = QueueDeclareOptions { auto_delete: true, ..durable() };
    let error = failure(channel.queue_declare(queue.as_str().into(), other, FieldTable::default()).await)?;
    let text = format!(
        "PRECONDITION_FAILED - inequivalent arg 'auto_delete' for queue '{queue}' in vhost '/': received 'true' but current is 'false'"
    );
    check_channel_error(connection, &channel, error, 406, &text).await
}

async fn error_406_unknown_delivery_tag(s: &mut Session) -> Outcome {
    let connection = s.connect().await?;
    let queue = {
        let setup = s.channel().await?;
        s.queue(&setup).await?
    };
    let connection = &s.connections[connection];
    // Both in one go: after a fast broker's answer to the first, the client refuses the second by itself. Then it is tried again.
    for _ in 0..100 {
        let channel = connection.create_channel().await?;
        let ack = channel.basic_ack(99, BasicAckOptions::default());
        let get = channel.basic_get(queue.as_str().into(), BasicGetOptions::default());
        let (acked, got) = tokio::join!(ack, get);
        acked?;
        let error = failure(got)?;
        if !matches!(error.kind(), lapin::ErrorKind::InvalidChannelState(..)) {
            return check_channel_error(connection, &channel, error, 406, "PRECONDITION_FAILED - unknown delivery tag 99")
                .await;
        }
    }
    Err("the client always knew before it asked".into())
}

async fn error_403_login(s: &mut Session) -> Outcome {
    let (scheme, host) = s
        .address
        .split_once("://")
        .zip(s.address.split_once('@'))
        .map(|(a, b)| (a.0, b.1))
        .ok_or("the address has no user")?;
    let error = failure(dial(&format!("{scheme}://guest:wrong@{host}%2f")).await)?;
    check_error(
        &error,
        403,
        "ACCESS_REFUSED - Login was refused using authentication mechanism PLAIN. For details see the broker logfile.",
    )
}

async fn error_530_vhost(s: &mut Session) -> Outcome {
    let uri = format!("{}no-such-vhost", s.address);
    let error = failure(dial(&uri).await)?;
    check_error(&error, 530, "NOT_ALLOWED - vhost no-such-vhost not found")
}

async fn error_530_connection(s: &mut Session) -> Outcome {
    let setup = s.channel().await?;
    let queue = s.queue(&setup).await?;
    let connection = s.connect().await?;
    let connection = &s.connections[connection];
    let channel = connection.create_channel().await?;
    let again = || {
        channel.basic_consume(
            queue.as_str().into(),
            "mine".into(),
            BasicConsumeOptions::default(),
            FieldTable::default(),
        )
    };
    let _first = again().await?;
    let error = failure(again().await)?;
    check_error(&error, 530, "NOT_ALLOWED - attempt to reuse consumer tag 'mine'")?;
    check!(!connection.status().connected(), "the connection lives on");
    Ok(())
}

async fn error_540_connection(s: &mut Session) -> Outcome {
    let setup = s.channel().await?;
    let queue = s.queue(&setup).await?;
    let connection = s.connect().await?;
    let connection = &s.connections[connection];
    let channel = connection.create_channel().await?;
    channel.confirm_select(ConfirmSelectOptions::default()).await?;
    let immediate = BasicPublishOptions { immediate: true, ..BasicPublishOptions::default() };
    let confirm =
        channel.basic_publish("".into(), queue.as_str().into(), immediate, b"now", BasicProperties::default()).await?;
    let error = failure(tokio::time::timeout(TIMEOUT, confirm).await?)?;
    check_error(&error, 540, "NOT_IMPLEMENTED - immediate=true")?;
    check!(!connection.status().connected(), "the connection lives on");
    Ok(())
}
