//! lapin through restarts: tests/blackbox/languages.py says what it does. The loop goes through the hosts and opens everything anew.

use futures_util::StreamExt;
use lapin::options::{
    BasicAckOptions, BasicConsumeOptions, BasicPublishOptions, BasicQosOptions, ConfirmSelectOptions,
    QueueDeclareOptions,
};
use lapin::types::{AMQPValue, FieldTable};
use lapin::{BasicProperties, Channel, Connection, ConnectionProperties};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const DIAL_TIMEOUT: Duration = Duration::from_secs(5);
const RETRY: Duration = Duration::from_millis(100);
const PACE: Duration = Duration::from_millis(5);
const WINDOW: u16 = 20;

type Failure = Box<dyn std::error::Error + Send + Sync>;

static IS_ENDING: AtomicBool = AtomicBool::new(false);

#[tokio::main(worker_threads = 1)]
async fn main() {
    let mut words = std::env::args().skip(1);
    let queue = words.next().expect("a queue");
    let hosts: Vec<_> = words.collect();
    std::thread::spawn(|| {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        IS_ENDING.store(true, Ordering::Relaxed);
    });
    tokio::spawn(publish_on(queue.clone(), hosts.clone()));
    consume_on(queue, hosts).await;
}

/// Publishes on one channel after another until all is confirmed.
async fn publish_on(queue: String, hosts: Vec<String>) {
    let mut publisher = Publisher { queue: queue.clone(), next: 0, unconfirmed: VecDeque::new() };
    for host in hosts.iter().cycle() {
        match open("publisher", host, &queue).await {
            Ok((_connection, channel)) => match publisher.publish(&channel).await {
                Ok(()) => return,
                Err(why) => lost(&why).await,
            },
            Err(why) => lost(&why).await,
        }
    }
}

/// Consumes from one channel after another, for ever.
async fn consume_on(queue: String, hosts: Vec<String>) {
    for host in hosts.iter().cycle() {
        let why = match open("consumer", host, &queue).await {
            Ok((_connection, channel)) => consume(&channel, &queue).await.unwrap_or_else(|why| why),
            Err(why) => why,
        };
        lost(&why).await;
    }
}

/// Says so, and leaves a moment before the next attempt.
async fn lost(why: &Failure) {
    println!("{{\"lost\": {:?}}}", why.to_string().replace(|char: char| !char.is_ascii() || char.is_control(), " "));
    tokio::time::sleep(RETRY).await;
}

/// A channel on a connection to that host, and the queue.
async fn open(role: &str, host: &str, queue: &str) -> Result<(Connection, Channel), Failure> {
    let uri = format!("amqp://guest:guest@{host}/%2f");
    let connecting = Connection::connect(&uri, ConnectionProperties::default());
    let connection = tokio::time::timeout(DIAL_TIMEOUT, connecting).await??;
    let channel = connection.create_channel().await?;
    let mut arguments = FieldTable::default();
    arguments.insert("x-queue-type".into(), AMQPValue::LongString("quorum".into()));
    let options = QueueDeclareOptions { durable: true, ..QueueDeclareOptions::default() };
    channel.queue_declare(queue.into(), options, arguments).await?;
    println!("{{\"opened\": {role:?}}}");
    Ok((connection, channel))
}

/// What is published, over all connections.
struct Publisher {
    queue: String,
    next: u64,
    /// In the order in which it was published last.
    unconfirmed: VecDeque<u64>,
}

impl Publisher {
    async fn publish(&mut self, channel: &Channel) -> Result<(), Failure> {
        channel.confirm_select(ConfirmSelectOptions::default()).await?;
        let mut again = self.unconfirmed.clone();
        let mut waiting = VecDeque::new();
        loop {
            let is_ending = IS_ENDING.load(Ordering::Relaxed);
            let number = if let Some(number) = again.pop_front() {
                number
            } else if !waiting.is_empty() && (is_ending || waiting.len() >= usize::from(WINDOW)) {
                let confirm: lapin::PublisherConfirm = waiting.pop_front().expect("is not empty");
                if !confirm.await?.is_ack() {
                    return Err("not confirmed".into());
                }
                println!("{{\"confirmed\": {}}}", self.unconfirmed.pop_front().expect("all that waits is unconfirmed"));
                continue;
            } else if is_ending {
                return Ok(());
            } else {
                tokio::time::sleep(PACE).await;
                self.unconfirmed.push_back(self.next);
                self.next += 1;
                self.next - 1
            };
            println!("{{\"published\": {number}}}");
            let options = BasicPublishOptions { mandatory: true, ..BasicPublishOptions::default() };
            let properties = BasicProperties::default().with_delivery_mode(2);
            let body = number.to_string();
            let confirm = channel
                .basic_publish("".into(), self.queue.as_str().into(), options, body.as_bytes(), properties)
                .await?;
            waiting.push_back(confirm);
        }
    }
}

/// Returns why there is nothing more to consume.
async fn consume(channel: &Channel, queue: &str) -> Result<Failure, Failure> {
    channel.basic_qos(WINDOW, BasicQosOptions::default()).await?;
    let options = BasicConsumeOptions::default();
    let mut consumer = channel.basic_consume(queue.into(), "".into(), options, FieldTable::default()).await?;
    while let Some(delivery) = consumer.next().await {
        let delivery = delivery?;
        let number: u64 = std::str::from_utf8(&delivery.data)?.parse()?;
        println!("{{\"delivered\": {number}, \"redelivered\": {}}}", delivery.redelivered);
        delivery.ack(BasicAckOptions::default()).await?;
    }
    Ok("the consumer ended".into())
}
