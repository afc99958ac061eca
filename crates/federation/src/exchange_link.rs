//! The upstream's end of an exchange's link: its exchange, the queue of the link, and the bindings that lead there.

use amqp::{TableBuf, Value, basic, exchange, queue};
use amqp_client::{CallError, Connection};
use bridge::CHANNEL;
use model::definition::{self, BindingChange};
use model::shovel::AckMode;

use crate::bindings::{Mirror, Mirrored, Way};
use crate::failure::Failure;
use crate::host::FollowedBindings;
use crate::life::{ASKING, COMMANDS};
use crate::names::{self, Ends, Side};
use crate::swap::{self, Found, Step};
use crate::wanted::Link;

const NOT_FOUND: u16 = 404;
/// What a queue and an exchange of a link are for.
const PURPOSE: (&str, Value<'static>) = ("x-internal-purpose", Value::LongStr(b"federation"));

/// The upstream's end of the link, kept as the bindings here are.
#[derive(Debug)]
pub(crate) struct ExchangeEnd {
    pub(crate) queue: String,
    /// The exchange of the link.
    pub(crate) exchange: String,
    mirror: Mirror,
    commands: u16,
    waits: bool,
    source: String,
}

/// What the broker at the other end calls its cluster, if it reports that.
pub(crate) fn cluster_name_of(connection: &Connection) -> Option<Box<str>> {
    connection.server()?.cluster_name.as_deref().map(Box::from)
}

fn refused<'a>(what: &'a str, name: &'a str) -> impl Fn(CallError) -> Failure + 'a {
    move |source| Failure::UpstreamRefused { what: format!("{what} '{name}'"), source }
}

fn nameable(name: String) -> Result<String, Failure> {
    if name.len() > amqp::limits::SHORT_STR_LEN_MAX { Err(Failure::Unnameable(name)) } else { Ok(name) }
}

/// Whether a passive declaration finds something.
pub(crate) async fn is_there<M: amqp::method::EncodeMethod>(
    connection: &mut Connection,
    passive: &M,
) -> Result<bool, CallError> {
    connection.open_channel(ASKING).await?;
    match connection.call(ASKING, passive).await {
        Ok(_) => connection.close_channel(ASKING).await.map(|()| true),
        Err(CallError::Refused { code: NOT_FOUND, .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Whether there is an exchange of this name.
pub(crate) async fn has_exchange(connection: &mut Connection, name: &str) -> Result<bool, Failure> {
    let passive = exchange::Declare { exchange: name.as_bytes(), passive: true, ..Default::default() };
    is_there(connection, &passive).await.map_err(refused("exchange", name))
}

impl ExchangeEnd {
    /// Declares all of it, binds it as the exchange here is bound, and starts the consumer.
    pub(crate) async fn prepare(
        connection: &mut Connection,
        link: &Link,
        here: &definition::Exchange,
        upstream_vhost: &str,
        bindings: &FollowedBindings,
        knows_type: bool,
    ) -> Result<Self, Failure> {
        let ends = ends(link, upstream_vhost);
        let queue = nameable(names::queue(ends))?;
        let sides = [names::exchange(&queue, Side::A), nameable(names::exchange(&queue, Side::B))?];
        let commands = if link.has_command_channel { COMMANDS } else { CHANNEL };
        if link.has_command_channel {
            connection.open_channel(COMMANDS).await.map_err(refused("channel", "of commands"))?;
        }
        ensure_exchange(connection, &link.id.upstream_name, here).await?;
        declare_queue(connection, &queue, link).await?;
        let found =
            Found { a: has_exchange(connection, &sides[0]).await?, b: has_exchange(connection, &sides[1]).await? };
        let (steps, side) = swap::plan(found);
        let way = Way {
            cluster_name: link.cluster_name.clone(),
            vhost: link.id.vhost.as_str().into(),
            exchange: names::bound_from(ends, side).into(),
            max_hops: link.max_hops,
            upstream_cluster_name: cluster_name_of(connection),
            upstream_vhost: upstream_vhost.into(),
        };
        let mut end = ExchangeEnd {
            exchange: names::exchange(&queue, side),
            mirror: Mirror::new(way),
            commands,
            waits: !link.binds_without_waiting,
            source: link.id.upstream_name.to_string(),
            queue,
        };
        end.take_steps(connection, link, &steps, bindings, knows_type).await?;
        end.consume(connection, link).await?;
        Ok(end)
    }

    /// All requests are sent at once: the upstream takes them in their order.
    async fn take_steps(
        &mut self,
        connection: &mut Connection,
        link: &Link,
        steps: &[Step],
        bindings: &FollowedBindings,
        knows_type: bool,
    ) -> Result<(), Failure> {
        let mirrored: Vec<_> = bindings.now.iter().filter_map(|binding| self.mirror.add(binding)).collect();
        let mut answer_count = 0;
        for step in steps {
            let name = |side: &Side| names::exchange(&self.queue, *side);
            match step {
                Step::Declare(side) => {
                    self.declare(connection, link, &name(side), knows_type);
                    self.lead(connection, &name(side));
                    answer_count += 2;
                }
                Step::Lead(side) => {
                    self.lead(connection, &name(side));
                    answer_count += 1;
                }
                Step::Bind(side) => {
                    let exchange = name(side);
                    for binding in &mirrored {
                        connection.send(self.commands, &self.bind(&exchange, binding));
                    }
                    answer_count += if self.waits { mirrored.len() } else { 0 };
                }
                Step::Delete(side) => {
                    let name = name(side);
                    let delete = exchange::Delete { exchange: name.as_bytes(), ..Default::default() };
                    connection.send(self.commands, &delete);
                    answer_count += 1;
                }
            }
        }
        for _ in 0..answer_count {
            connection.answer(self.commands).await.map_err(refused("bindings of exchange", &self.source))?;
        }
        Ok(())
    }

    fn declare(&self, connection: &mut Connection, link: &Link, name: &str, knows_type: bool) {
        let arguments = of_link(link, &self.mirror, knows_type);
        let declare = exchange::Declare {
            exchange: name.as_bytes(),
            kind: if knows_type { b"x-federation-upstream" } else { b"fanout" },
            durable: true,
            auto_delete: true,
            internal: true,
            arguments: arguments.as_table(),
            ..Default::default()
        };
        connection.send(self.commands, &declare);
    }

    fn lead(&self, connection: &mut Connection, exchange: &str) {
        let bind = queue::Bind { queue: self.queue.as_bytes(), exchange: exchange.as_bytes(), ..Default::default() };
        connection.send(self.commands, &bind);
    }

    fn bind<'a>(&'a self, exchange: &'a str, binding: &'a Mirrored) -> exchange::Bind<'a> {
        exchange::Bind {
            destination: exchange.as_bytes(),
            source: self.source.as_bytes(),
            routing_key: &binding.routing_key,
            no_wait: !self.waits,
            arguments: binding.arguments(),
            ..Default::default()
        }
    }

    async fn consume(&self, connection: &mut Connection, link: &Link) -> Result<(), Failure> {
        let refused = refused("queue", &self.queue);
        if link.ack_mode != AckMode::NoAck {
            let qos = basic::Qos { prefetch_size: 0, prefetch_count: link.prefetch_count, global: false };
            connection.call(CHANNEL, &qos).await.map_err(&refused)?;
        }
        let no_ack = link.ack_mode == AckMode::NoAck;
        let consume = basic::Consume { queue: self.queue.as_bytes(), no_ack, ..Default::default() };
        connection.consume(CHANNEL, &consume).await.map_err(&refused)?;
        Ok(())
    }

    /// A binding was made or undone here: so it is there. The answer comes among the events, and a refusal closes the channel.
    pub(crate) fn follow(&mut self, connection: &mut Connection, change: &BindingChange) {
        let BindingChange { binding, is_added } = change;
        if *is_added {
            if let Some(mirrored) = self.mirror.add(binding) {
                connection.send(self.commands, &self.bind(&self.exchange, &mirrored));
            }
        } else if let Some(mirrored) = self.mirror.remove(binding) {
            let unbind = exchange::Unbind {
                destination: self.exchange.as_bytes(),
                source: self.source.as_bytes(),
                routing_key: &mirrored.routing_key,
                no_wait: !self.waits,
                arguments: mirrored.arguments(),
                ..Default::default()
            };
            connection.send(self.commands, &unbind);
        }
    }
}

/// Deletes what a link has made, whether it is there or not.
pub(crate) async fn clean_up(connection: &mut Connection, link: &Link, upstream_vhost: &str) -> Result<(), Failure> {
    let queue = names::queue(ends(link, upstream_vhost));
    let refused = refused("deleting bindings of queue", &queue);
    connection.set_receiving(true);
    connection.open_channel(ASKING).await.map_err(&refused)?;
    let delete = queue::Delete { queue: queue.as_bytes(), ..Default::default() };
    connection.call(ASKING, &delete).await.map_err(&refused)?;
    // Both are there if a life of the link ended halfway.
    for side in [Side::A, Side::B] {
        let name = names::exchange(&queue, side);
        let delete = exchange::Delete { exchange: name.as_bytes(), ..Default::default() };
        connection.call(ASKING, &delete).await.map_err(&refused)?;
    }
    Ok(())
}

fn ends<'a>(link: &'a Link, upstream_vhost: &'a str) -> Ends<'a> {
    Ends {
        cluster_name: &link.cluster_name,
        vhost: link.id.vhost.as_str(),
        exchange: &link.id.name,
        upstream_vhost,
        upstream_exchange: &link.id.upstream_name,
    }
}

/// An exchange at the upstream that is there, or is declared as the one here.
async fn ensure_exchange(connection: &mut Connection, name: &str, here: &definition::Exchange) -> Result<(), Failure> {
    if has_exchange(connection, name).await? {
        return Ok(());
    }
    let declare = exchange::Declare {
        exchange: name.as_bytes(),
        kind: here.exchange_type.name().as_bytes(),
        durable: here.is_durable,
        auto_delete: here.is_auto_delete,
        internal: here.is_internal,
        arguments: here.arguments.table(),
        ..Default::default()
    };
    connection.call(CHANNEL, &declare).await.map(drop).map_err(refused("exchange", name))
}

async fn declare_queue(connection: &mut Connection, name: &str, link: &Link) -> Result<(), Failure> {
    let mut arguments = TableBuf::new();
    for (argument, ms) in [("x-expires", link.expires_ms), ("x-message-ttl", link.message_ttl_ms)] {
        if let Some(ms) = ms {
            arguments = arguments.with(argument, Value::I64(i64::try_from(ms).unwrap_or(i64::MAX)));
        }
    }
    let arguments = arguments.with(PURPOSE.0, PURPOSE.1);
    let arguments = arguments.with("x-queue-type", Value::LongStr(link.queue_type.name().as_bytes()));
    let declare =
        queue::Declare { queue: name.as_bytes(), durable: true, arguments: arguments.as_table(), ..Default::default() };
    connection.declare_queue(CHANNEL, &declare).await.map(drop).map_err(refused("queue", name))
}

/// The arguments of a link's exchange: which messages it keeps back.
fn of_link(link: &Link, mirror: &Mirror, knows_type: bool) -> TableBuf {
    let arguments = TableBuf::new().with(PURPOSE.0, PURPOSE.1);
    if !knows_type {
        return arguments;
    }
    arguments
        .with("x-max-hops", Value::I64(link.max_hops.into()))
        .with("x-downstream-name", Value::LongStr(mirror.cluster_name().as_bytes()))
        .with("x-downstream-vhost", Value::LongStr(link.id.vhost.as_str().as_bytes()))
}
