//! What has to exist before messages can flow: exchanges, queues, bindings.
//!
//! All is declared over one connection before the run, many requests at a time, but for queues that belong to their
//! consumer's connection.

use std::collections::{HashMap, HashSet, VecDeque};

use amqp::method::EncodeMethod;
use amqp::{ReplyCode, TableBuf, exchange, queue};
use amqp_client::{CallError, Connection};

use super::followed::is_stream;
use super::values::{self, NameTooLong};
use crate::plan::{BindingKeys, ConsumedQueues, Exchange, Plan, Queues};

/// Requests that are sent before their answers are waited for.
const PIPELINE_LEN: usize = 512;

/// Everything that a plan declares.
#[derive(Debug)]
pub(crate) struct Declarations {
    exchanges: Vec<(Exchange, TableBuf)>,
    sets: Vec<Set>,
    /// Which set, and which of its names, a queue belongs to.
    by_name: HashMap<String, (usize, usize)>,
}

#[derive(Debug)]
struct Set {
    queues: Queues,
    arguments: TableBuf,
    bindings: Vec<TableBuf>,
}

/// The names that a broker gave to a connection's own queues, by the place of their declaration.
#[derive(Debug, Default)]
pub(crate) struct QueueNames {
    declared: HashMap<(usize, usize), String>,
}

impl Declarations {
    pub(crate) fn new(plan: &Plan) -> Result<Self, NameTooLong> {
        let exchanges =
            plan.exchanges.iter().map(|exchange| Ok((exchange.clone(), values::table(&exchange.arguments)?)));
        let sets = plan.queues.iter().map(|queues| {
            let bindings = queues.bindings.iter().map(|binding| values::table(&binding.arguments));
            Ok(Set {
                queues: queues.clone(),
                arguments: values::table(&queues.arguments)?,
                bindings: bindings.collect::<Result<_, _>>()?,
            })
        });
        let sets: Vec<Set> = sets.collect::<Result<_, _>>()?;
        let mut by_name = HashMap::new();
        for (set_at, set) in sets.iter().enumerate() {
            for (at, name) in set.queues.names.iter().enumerate() {
                by_name.entry(name.clone()).or_insert((set_at, at));
            }
        }
        Ok(Declarations { exchanges: exchanges.collect::<Result<_, _>>()?, sets, by_name })
    }

    /// Declares what does not belong to a consumer's connection, and empties queues that are only for this run. Counts those in
    /// `temporary`, also when it fails or is given up.
    pub(crate) async fn declare_all(
        &self,
        connection: &mut Connection,
        temporary: &mut usize,
    ) -> Result<(), CallError> {
        let there = self.already_there(connection).await?;
        let mut pipeline = Pipeline::new(connection);
        pipeline.temporary = Some(temporary);
        for (exchange, arguments) in &self.exchanges {
            if !there.exchanges.contains(&exchange.name) {
                pipeline.send(&declaration_of(exchange, arguments)).await?;
            }
        }
        for set in &self.sets {
            if set.queues.exclusive {
                continue;
            }
            for (at, name) in set.queues.names.iter().enumerate().filter(|(_, name)| !name.is_empty()) {
                let is_made_anew = set.is_temporary() && set.is_stream();
                if is_made_anew {
                    // RabbitMQ has no way to empty one.
                    pipeline.send(&queue::Delete { queue: name.as_bytes(), ..Default::default() }).await?;
                }
                if set.is_temporary() {
                    pipeline.count_temporary();
                }
                if there.queues.contains(name) && !is_made_anew {
                    pipeline.bind(set, at, name).await?;
                } else {
                    pipeline.declare(set, at, name).await?;
                }
                if set.is_temporary() && !is_made_anew {
                    pipeline.send(&queue::Purge { queue: name.as_bytes(), ..Default::default() }).await?;
                }
            }
        }
        pipeline.finish().await
    }

    /// What is there, of what is to be taken as it is if it is there.
    async fn already_there(&self, connection: &mut Connection) -> Result<AlreadyThere, CallError> {
        let mut there = AlreadyThere::default();
        for (exchange, _) in self.exchanges.iter().filter(|(exchange, _)| exchange.keep_existing) {
            if is_there(connection, &exchange_named(exchange)).await? {
                there.exchanges.insert(exchange.name.clone());
            }
        }
        for set in self.sets.iter().filter(|set| set.queues.keep_existing && !set.queues.exclusive) {
            for name in set.queues.names.iter().filter(|name| !name.is_empty()) {
                if is_there(connection, &queue_named(name)).await? {
                    there.queues.insert(name.clone());
                }
            }
        }
        Ok(there)
    }

    /// Declares those of the wanted queues that belong to this connection. Returns all by the names that they have now.
    pub(crate) async fn declare_own(
        &self,
        connection: &mut Connection,
        channel: u16,
        wanted: &[String],
        names: &mut QueueNames,
    ) -> Result<Vec<String>, CallError> {
        let mut queues = Vec::new();
        for name in wanted {
            let Some(place) = self.by_name.get(name).copied() else {
                queues.push(name.clone());
                continue;
            };
            let set = &self.sets[place.0];
            if !name.is_empty() && !set.queues.exclusive {
                queues.push(name.clone());
                continue;
            }
            // A queue that the broker names is a new one for each consumer; one that has a name, for each connection.
            if let Some(known) = names.declared.get(&place).filter(|_| !name.is_empty()) {
                queues.push(known.clone());
                continue;
            }
            let (given, _, _) = connection.declare_queue(channel, &set.declaration(name)).await?;
            for bind in set.bindings_of(place.1, &given) {
                connection.call(channel, &bind).await?;
            }
            names.declared.insert(place, given.clone());
            queues.push(given);
        }
        Ok(queues)
    }

    /// Declares queues again after a connection was lost: the broker may have lost them as well.
    pub(crate) async fn declare_again(
        &self,
        connection: &mut Connection,
        queues: &ConsumedQueues,
    ) -> Result<(), CallError> {
        let (ConsumedQueues::All(names) | ConsumedQueues::Spread(names)) = queues;
        let mut missing = Vec::new();
        for (exchange, arguments) in &self.exchanges {
            if !exchange.keep_existing || !is_there(connection, &exchange_named(exchange)).await? {
                missing.push((exchange, arguments));
            }
        }
        let mut pipeline = Pipeline::new(connection);
        for (exchange, arguments) in missing {
            pipeline.send(&declaration_of(exchange, arguments)).await?;
        }
        for name in names {
            let Some((set_at, at)) = self.by_name.get(name).copied() else { continue };
            let set = &self.sets[set_at];
            if name.is_empty() || set.queues.exclusive {
                continue;
            }
            if set.queues.keep_existing && is_there(pipeline.connection, &queue_named(name)).await? {
                pipeline.bind(set, at, name).await?;
            } else {
                pipeline.declare(set, at, name).await?;
            }
        }
        pipeline.finish().await
    }

    /// How many messages are ready in all queues that are not a connection's own. `None` if that cannot be said.
    pub(crate) async fn ready_count(&self, connection: &mut Connection) -> Option<u64> {
        connection.open_channel(1).await.ok()?;
        let mut count = 0;
        for set in self.sets.iter().filter(|set| !set.queues.exclusive) {
            for name in set.queues.names.iter().filter(|name| !name.is_empty()) {
                let (_, ready, _) = connection.declare_queue(1, &queue_named(name)).await.ok()?;
                count += u64::from(ready);
            }
        }
        Some(count)
    }

    /// Whether some queue is not looked at by [`ready_count`](Self::ready_count).
    pub(crate) fn has_own_queues(&self) -> bool {
        self.sets.iter().any(|set| set.queues.exclusive || set.queues.names.iter().any(String::is_empty))
    }

    /// Deletes what is only for this run: the first `count` queues of those.
    pub(crate) async fn delete_temporary(&self, connection: &mut Connection, count: usize) -> Result<(), CallError> {
        let sets = self.sets.iter().filter(|set| set.is_temporary() && !set.queues.exclusive);
        let names = sets.flat_map(|set| set.queues.names.iter().filter(|name| !name.is_empty()));
        let mut pipeline = Pipeline::new(connection);
        for name in names.take(count) {
            pipeline.send(&queue::Delete { queue: name.as_bytes(), ..Default::default() }).await?;
        }
        pipeline.finish().await
    }
}

/// Names of what is taken as it is.
#[derive(Debug, Default)]
struct AlreadyThere {
    exchanges: HashSet<String>,
    queues: HashSet<String>,
}

/// Asks for something on a channel of its own, which the broker closes if it is not there.
async fn is_there(connection: &mut Connection, look: &impl EncodeMethod) -> Result<bool, CallError> {
    const CHANNEL: u16 = 2;
    connection.open_channel(CHANNEL).await?;
    match connection.call(CHANNEL, look).await {
        Ok(_) => {
            connection.close_channel(CHANNEL).await?;
            Ok(true)
        }
        Err(CallError::Refused { code, .. }) if code == ReplyCode::NotFound.code() => Ok(false),
        Err(error) => Err(error),
    }
}

/// Looks whether an exchange is there.
fn exchange_named(exchange: &Exchange) -> exchange::Declare<'_> {
    let (exchange, kind) = (exchange.name.as_bytes(), exchange.kind.as_bytes());
    exchange::Declare { exchange, kind, passive: true, ..Default::default() }
}

/// Looks whether a queue is there, and how many messages it has.
fn queue_named(name: &str) -> queue::Declare<'_> {
    queue::Declare { queue: name.as_bytes(), passive: true, ..Default::default() }
}

impl Set {
    /// Whether its queues are emptied before a run and deleted after it.
    fn is_temporary(&self) -> bool {
        self.queues.is_temporary && !self.queues.passive
    }

    fn is_stream(&self) -> bool {
        is_stream(&self.queues)
    }

    fn declaration<'a>(&'a self, name: &'a str) -> queue::Declare<'a> {
        queue::Declare {
            queue: name.as_bytes(),
            passive: self.queues.passive,
            durable: self.queues.durable,
            exclusive: self.queues.exclusive,
            auto_delete: self.queues.auto_delete,
            arguments: self.arguments.as_table(),
            ..Default::default()
        }
    }

    /// The bindings of the queue at `at`, which is called `name`.
    fn bindings_of<'a>(&'a self, at: usize, name: &'a str) -> Vec<queue::Bind<'a>> {
        let count = self.queues.names.len();
        let mut binds = Vec::new();
        for (binding, arguments) in self.queues.bindings.iter().zip(&self.bindings) {
            let keys: Vec<&str> = match &binding.keys {
                BindingKeys::QueueName => vec![name],
                BindingKeys::All(keys) => keys.iter().map(String::as_str).collect(),
                BindingKeys::Spread(keys) => keys.iter().skip(at).step_by(count.max(1)).map(String::as_str).collect(),
            };
            binds.extend(keys.into_iter().map(|key| queue::Bind {
                queue: name.as_bytes(),
                exchange: binding.exchange.as_bytes(),
                routing_key: key.as_bytes(),
                arguments: arguments.as_table(),
                ..Default::default()
            }));
        }
        binds
    }
}

fn declaration_of<'a>(exchange: &'a Exchange, arguments: &'a TableBuf) -> exchange::Declare<'a> {
    exchange::Declare {
        exchange: exchange.name.as_bytes(),
        kind: exchange.kind.as_bytes(),
        passive: exchange.passive,
        durable: exchange.durable,
        auto_delete: exchange.auto_delete,
        arguments: arguments.as_table(),
        ..Default::default()
    }
}

/// Requests on channel 1 whose answers are waited for later, many at a time.
struct Pipeline<'a> {
    connection: &'a mut Connection,
    sent: usize,
    answered: usize,
    is_open: bool,
    /// How many queues that are to be deleted are made, and which requests without an answer make some.
    temporary: Option<&'a mut usize>,
    made_by: VecDeque<usize>,
}

impl<'a> Pipeline<'a> {
    fn new(connection: &'a mut Connection) -> Self {
        Pipeline { connection, sent: 0, answered: 0, is_open: false, made_by: VecDeque::new(), temporary: None }
    }

    async fn send(&mut self, request: &impl EncodeMethod) -> Result<(), CallError> {
        const CHANNEL: u16 = 1;
        if !self.is_open {
            self.is_open = true;
            self.connection.open_channel(CHANNEL).await?;
        }
        self.connection.send(CHANNEL, request);
        self.sent += 1;
        if self.sent - self.answered >= PIPELINE_LEN {
            self.collect().await?;
        }
        Ok(())
    }

    /// Declares and binds a queue.
    async fn declare(&mut self, set: &Set, at: usize, name: &str) -> Result<(), CallError> {
        self.send(&set.declaration(name)).await?;
        self.bind(set, at, name).await
    }

    async fn bind(&mut self, set: &Set, at: usize, name: &str) -> Result<(), CallError> {
        for bind in set.bindings_of(at, name) {
            self.send(&bind).await?;
        }
        Ok(())
    }

    async fn collect(&mut self) -> Result<(), CallError> {
        while self.answered < self.sent {
            let answer = self.connection.answer(1).await;
            if let (Err(CallError::Refused { .. }), Some(temporary)) = (&answer, &mut self.temporary) {
                // Neither the one that was refused is made, nor those after it. Those without any answer may be.
                **temporary -= self.made_by.len();
                self.made_by.clear();
            }
            answer?;
            if self.made_by.front() == Some(&self.answered) {
                self.made_by.pop_front();
            }
            self.answered += 1;
        }
        Ok(())
    }

    /// The next request makes a queue that is to be deleted.
    fn count_temporary(&mut self) {
        if let Some(temporary) = &mut self.temporary {
            **temporary += 1;
            self.made_by.push_back(self.sent);
        }
    }

    async fn finish(mut self) -> Result<(), CallError> {
        self.collect().await?;
        if self.is_open {
            self.connection.close_channel(1).await?;
        }
        Ok(())
    }
}
