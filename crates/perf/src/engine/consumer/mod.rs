//! Consumers: those of one connection are one task. Each channel is a consumer.
//!
//! What comes is measured, settled and forgotten at once, unless the consumer takes time for it: then deliveries wait in
//! line here, as they do in any client, and the connection is not read from while the line is long.
//!
//! ```text
//!  state   one consumer
//!  serve   an open connection's consumers
//! ```

mod serve;
mod state;

use std::collections::VecDeque;
use std::sync::Arc;

use amqp::{TableBuf, basic, tx};
use amqp_client::{CallError, Connection};
use rustc_hash::FxHashMap;

use self::state::Consumer;
use super::clock::{StampUnit, ns};
use super::incident::{Incident, Incidents, Role, tell};
use super::pacer::Timer;
use super::serving::ServeError;
use super::target::{GOODBYE, Target};
use super::topology::{Declarations, QueueNames};
use super::values;
use super::worker::Local;
use crate::plan::{ConsumedQueues, Consumers, Random, Settle};

/// The consumers of one connection.
#[derive(Clone, Debug)]
pub(crate) struct ConsumerTask {
    pub(crate) group: Arc<Consumers>,
    pub(crate) declarations: Arc<Declarations>,
    pub(crate) target: Arc<Target>,
    pub(crate) incidents: Incidents,
    pub(crate) unit: StampUnit,
    pub(crate) seed: u64,
    /// The number of the first consumer in its group.
    pub(crate) first_index: u32,
    /// Publishers of the run, on all machines: others' numbers are not ours.
    pub(crate) publisher_count: u32,
    /// Shown by the broker.
    pub(crate) name: String,
}

impl ConsumerTask {
    /// Runs until the consumers are done or the run is over.
    pub(crate) async fn run(self, local: Local) {
        let mut random = Random::new(self.seed ^ 0x636f_6e73, u64::from(self.first_index));
        let arguments = match values::table(&self.group.arguments) {
            Ok(arguments) => arguments,
            Err(error) => return tell(&self.incidents, Incident::Failed(error.to_string())),
        };
        let mut connection = match self.target.open(&self.name, &mut random).await {
            Ok(connection) => connection,
            Err(error) => return tell(&self.incidents, Incident::Failed(error.to_string())),
        };
        let mut consumers = match self.prepare(&mut connection, &mut QueueNames::default(), &arguments).await {
            Ok(consumers) => consumers,
            Err(error) => {
                return tell(&self.incidents, Incident::Failed(format!("{} cannot start: {error}", self.name)));
            }
        };
        local.opened();
        tell(&self.incidents, Incident::Ready);
        let mut timer = Timer::new(&local.pacer);
        let mut start = None;
        loop {
            let served = self.serve(&mut connection, &mut consumers, &arguments, &mut start, &local, &mut timer).await;
            local.closed();
            match served {
                Ok(()) => {
                    connection.close(GOODBYE).await;
                    break;
                }
                Err(ServeError::Failed(reason)) => {
                    tell(&self.incidents, Incident::Failed(format!("{}: {reason}", self.name)));
                    break;
                }
                Err(ServeError::Closed(closed)) => {
                    local.recorder.borrow_mut().counts.connections_lost += 1;
                    tell(&self.incidents, Incident::Lost(closed.to_string()));
                    let again = tokio::select! {
                        again = self.again(&mut random, &arguments, &local) => again,
                        () = local.control.clone().draining() => None,
                    };
                    let Some((again, prepared)) = again else { break };
                    let lefts: Vec<u64> = consumers.iter().map(|consumer| consumer.left).collect();
                    consumers = prepared;
                    consumers.iter_mut().zip(lefts).for_each(|(consumer, left)| consumer.left = left);
                    connection = again;
                    local.opened();
                    tell(&self.incidents, Incident::Back);
                }
            }
        }
        tell(&self.incidents, Incident::Done(Role::Consumer));
    }

    /// Connects and prepares anew, as often as it takes. `None`: it is not to be, or the run is over.
    async fn again(
        &self,
        random: &mut Random,
        arguments: &TableBuf,
        local: &Local,
    ) -> Option<(Connection, Vec<Consumer>)> {
        let mut has_warned = false;
        loop {
            let mut again = self.target.reopen(&self.name, random, local).await?;
            let preparing = async {
                // What was not durable was lost with the broker.
                self.declarations.declare_again(&mut again, &self.group.queues).await?;
                self.prepare(&mut again, &mut QueueNames::default(), arguments).await
            };
            match preparing.await {
                Ok(consumers) => return Some((again, consumers)),
                Err(error) if !std::mem::replace(&mut has_warned, true) => {
                    let warning = format!("{} failed: {error}; it is retried", self.name);
                    tell(&self.incidents, Incident::Warning(warning));
                }
                Err(_) => {}
            }
        }
    }

    /// Opens the channels and declares the queues that belong to this connection. A consumer that starts at once, consumes.
    async fn prepare(
        &self,
        connection: &mut Connection,
        names: &mut QueueNames,
        arguments: &TableBuf,
    ) -> Result<Vec<Consumer>, CallError> {
        let mut consumers = Vec::new();
        for at in 0..self.group.channels {
            let index = self.first_index + at;
            let channel = (at + 1) as u16;
            connection.open_channel(channel).await?;
            let wanted: Vec<String> = match &self.group.queues {
                ConsumedQueues::All(names) => names.clone(),
                ConsumedQueues::Spread(names) if names.is_empty() => Vec::new(),
                ConsumedQueues::Spread(names) => vec![names[index as usize % names.len()].clone()],
            };
            let queues = self.declarations.declare_own(connection, channel, &wanted, names).await?;
            let mut consumer = self.consumer(channel, index, queues);
            if consumer.starts_at == 0 {
                self.start(connection, &mut consumer, arguments).await?;
            }
            consumers.push(consumer);
        }
        Ok(consumers)
    }

    fn consumer(&self, channel: u16, index: u32, queues: Vec<String>) -> Consumer {
        let group = &self.group;
        Consumer {
            channel,
            queues,
            settle: group.settle,
            unsettled: 0,
            tx_size: group.tx_size,
            tx_count: 0,
            left: group.message_limit.unwrap_or(u64::MAX),
            last: FxHashMap::default(),
            line: VecDeque::new(),
            busy_until: 0,
            gap_ns: group.rate.filter(|rate| *rate > 0.0).map(|rate| (1e9 / rate) as u64),
            random: Random::new(self.seed ^ 0x636f_6e73, u64::from(index) << 32),
            get_at: 0,
            get_queue: 0,
            is_getting: false,
            is_started: false,
            // Since the start of the run; what is 0 has started before it.
            starts_at: ns(group.start_delay + group.start_gap * index),
        }
    }

    /// Sets the prefetch, and starts to consume from all of the consumer's queues.
    async fn start(
        &self,
        connection: &mut Connection,
        consumer: &mut Consumer,
        arguments: &TableBuf,
    ) -> Result<(), CallError> {
        self.send_start(connection, consumer, arguments);
        for _ in 0..self.answers_to_start(consumer) {
            connection.answer(consumer.channel).await?;
        }
        Ok(())
    }

    fn answers_to_start(&self, consumer: &Consumer) -> usize {
        usize::from(self.group.prefetch > 0)
            + usize::from(self.group.channel_prefetch > 0)
            + usize::from(self.group.tx_size > 0)
            + if self.group.polling.is_some() { 0 } else { consumer.queues.len() }
    }

    fn send_start(&self, connection: &mut Connection, consumer: &mut Consumer, arguments: &TableBuf) {
        let channel = consumer.channel;
        consumer.is_started = true;
        if self.group.tx_size > 0 {
            connection.send(channel, &tx::Select);
        }
        for (prefetch_count, global) in [(self.group.prefetch, false), (self.group.channel_prefetch, true)] {
            if prefetch_count > 0 {
                connection.send(channel, &basic::Qos { prefetch_size: 0, prefetch_count, global });
            }
        }
        if self.group.polling.is_some() {
            return;
        }
        for (at, queue) in consumer.queues.iter().enumerate() {
            connection.send(
                channel,
                &basic::Consume {
                    queue: queue.as_bytes(),
                    // Short, because it comes with every delivery.
                    consumer_tag: at.to_string().as_bytes(),
                    no_ack: self.group.settle == Settle::AutoAck,
                    exclusive: self.group.exclusive,
                    arguments: arguments.as_table(),
                    ..Default::default()
                },
            );
        }
    }
}
