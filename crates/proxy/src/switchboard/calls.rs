//! Methods on channels of shared upstream connections: which are answered here, which are sent on, and which need an upstream connection of
//! the client's own.

use amqp::frame::{Frame, put_method};
use amqp::method::{Method, basic, channel, confirm, exchange};
use amqp::queue;
use amqp::server::Violation;

use super::frame_outcome::FrameOutcome;
use super::lane::Kind;
use super::queue_names::name_queue;
use super::wait::Waits;
use super::{ClientId, Refusal, Switchboard};

/// What becomes of a method.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    /// It is answered here.
    Here,
    /// It harms no other client on a shared upstream connection. What it can break there is its own channel.
    Shared {
        /// Whether the upstream answers it.
        is_answered: bool,
    },
    /// It needs a connection of its own: by what it does (acks, consumers, transactions, exclusive queues), or since the upstream might
    /// close the whole connection for it and only the upstream knows.
    Own,
}

/// Exchange types that every upstream has. For any other one it may close the connection.
const EXCHANGE_TYPES: [&[u8]; 4] = [b"direct", b"fanout", b"headers", b"topic"];

/// The queue of direct replies belongs to a connection.
const REPLY_QUEUE: &[u8] = b"amq.rabbitmq.reply-to";

fn judge(method: &Method<'_>) -> Verdict {
    let answered = |no_wait: bool| Verdict::Shared { is_answered: !no_wait };
    match method {
        Method::ChannelOpen(_) | Method::ChannelClose(_) | Method::ChannelCloseOk(_) | Method::ConfirmSelect(_) => {
            Verdict::Here
        }
        Method::ChannelFlow(flow) if flow.active => Verdict::Here,
        Method::ChannelOnBehalfOf(_) => Verdict::Here,
        Method::BasicQos(qos) if !qos.global && qos.prefetch_size == 0 => Verdict::Here,
        Method::BasicGet(get) if get.no_ack && !get.queue.starts_with(REPLY_QUEUE) => answered(false),
        Method::QueueDeclare(declare) if is_plain(declare) => answered(declare.no_wait),
        Method::QueueBind(bind) if !bind.arguments.has_odd_number() => answered(bind.no_wait),
        Method::QueueUnbind(unbind) if !unbind.arguments.has_odd_number() => answered(false),
        // With a condition, quorum queues answer it by closing the connection; purges, streams do.
        Method::QueueDelete(delete) if !delete.if_unused && !delete.if_empty => answered(delete.no_wait),
        Method::ExchangeDeclare(declare) if is_usual(declare) => answered(declare.no_wait),
        Method::ExchangeDelete(delete) => answered(delete.no_wait),
        Method::ExchangeBind(bind) if !bind.arguments.has_odd_number() => answered(bind.no_wait),
        Method::ExchangeUnbind(unbind) if !unbind.arguments.has_odd_number() => answered(unbind.no_wait),
        _ => Verdict::Own,
    }
}

/// A queue that outlives the connection that declares it, and that no upstream closes a connection for.
fn is_plain(declare: &queue::Declare<'_>) -> bool {
    let is_named = !declare.queue.is_empty() && !declare.queue.starts_with(REPLY_QUEUE);
    let is_stream = declare.arguments.get("x-queue-type").and_then(|kind| kind.as_bytes()) == Some(b"stream");
    let is_odd = is_stream || declare.arguments.has_odd_number();
    is_named && !is_odd && (declare.passive || (declare.durable && !declare.exclusive))
}

fn is_usual(declare: &exchange::Declare<'_>) -> bool {
    !declare.arguments.has_odd_number() && (declare.passive || EXCHANGE_TYPES.contains(&declare.kind))
}

impl Switchboard {
    /// A method on an open channel that is no whole publish.
    pub(super) fn call(
        &mut self,
        id: ClientId,
        number: u16,
        method: &Method<'_>,
        frame: &Frame<'_>,
        raw: &[u8],
    ) -> FrameOutcome {
        // A close asks for nothing that was not known before.
        let is_close = matches!(method, Method::ChannelClose(_) | Method::ChannelCloseOk(_));
        if !is_close && self.spool.is_there() && self.is_held_back(id, number) {
            return self.wait_for_spool(id, Waits::SpoolEnd);
        }
        match judge(method) {
            Verdict::Here => self.answer(id, number, method),
            Verdict::Shared { .. } if self.is_poisoned(id, number, method) => match self.dedicate_connection(id) {
                true => self.own_connection_frame(id, frame, raw),
                false => FrameOutcome::NotYet,
            },
            Verdict::Shared { is_answered } => self.forward_call(id, number, method, raw, is_answered),
            Verdict::Own if self.dedicate_connection(id) => self.own_connection_frame(id, frame, raw),
            Verdict::Own => FrameOutcome::NotYet,
        }
    }

    /// Whether an upstream has closed an upstream connection for the queue that this is about.
    fn is_poisoned(&mut self, id: ClientId, number: u16, method: &Method<'_>) -> bool {
        let client = &self.clients[id];
        let declared = client.channel(number).and_then(|channel| channel.declared());
        client.pool().is_some_and(|pool| self.pools.pool(pool).poisoned_queues().contain(method, declared, self.now_ms))
    }

    fn answer(&mut self, id: ClientId, number: u16, method: &Method<'_>) -> FrameOutcome {
        let client = &mut self.clients[id];
        let Some(channel) = client.channel_mut(number) else { return FrameOutcome::Done(0) };
        let is_close = matches!(method, Method::ChannelClose(_) | Method::ChannelCloseOk(_));
        if !is_close && !channel.is_answered() {
            // Answers come in the order of what was asked.
            return self.wait_for(id, Waits::Answer);
        }
        match method {
            Method::ChannelOpen(_) => {
                return FrameOutcome::Refused(Refusal::from(Violation::channel_open_twice()).of_method(method));
            }
            Method::ChannelClose(_) => return self.client_closes_channel(id, number),
            Method::ChannelFlow(_) => client.send(number, &channel::FlowOk { active: true }),
            Method::ChannelOnBehalfOf(method) => {
                client.set_peer(String::from_utf8_lossy(method.client).into_owned());
            }
            Method::BasicQos(qos) => {
                channel.set_qos(*qos);
                client.send(number, &basic::QosOk);
            }
            Method::ConfirmSelect(select) => {
                let there = channel.lease().and_then(|(connection, at)| self.connections[connection].channel(at));
                channel.select_confirms(there.map(|there| there.published()));
                if !select.no_wait {
                    client.send(number, &confirm::SelectOk);
                }
            }
            _ => {}
        }
        FrameOutcome::Done(0)
    }

    fn forward_call(
        &mut self,
        id: ClientId,
        number: u16,
        method: &Method<'_>,
        raw: &[u8],
        is_answered: bool,
    ) -> FrameOutcome {
        // One message at a time is asked for: what comes back is bounded by what its client has read.
        let is_get = matches!(method, Method::BasicGet(_));
        if is_get && self.clients[id].channel(number).is_some_and(|channel| !channel.is_answered()) {
            return self.wait_for(id, Waits::Answer);
        }
        let Some((connection_id, at)) = self.lease_with_room(id, number, Kind::Calls) else {
            return FrameOutcome::NotYet;
        };
        if let Err(refusal) = self.check_len(connection_id, raw.len()) {
            return FrameOutcome::Refused(refusal.of_method(method));
        }
        let Some(channel) = self.clients[id].channel_mut(number) else { return FrameOutcome::Done(0) };
        let name = channel.remembered_queue(method);
        let mut asked = *method;
        if let Some(name) = &name {
            name_queue(&mut asked, name);
        }
        // Whether it was done is known by its answer, wanted or not.
        let is_changed = ask_for_answer(&mut asked);
        channel.ask(is_answered);
        if let Method::QueueDeclare(declare) = method {
            channel.declare(declare.queue);
        }
        let connection = &mut self.connections[connection_id];
        match name.is_some() || is_changed {
            true => put_method(connection.output_mut().end(), at, &asked),
            false => connection.send_frames(at, raw),
        }
        if let Some(there) = connection.channel_mut(at) {
            there.soil();
        }
        self.effects.upstream_changed(connection_id);
        FrameOutcome::Done(0)
    }

    /// The client closes a channel. One that has only published is closed at once: nothing is asked of it that is not known.
    fn client_closes_channel(&mut self, id: ClientId, number: u16) -> FrameOutcome {
        let client = &mut self.clients[id];
        let lease = client.channel(number).and_then(|channel| channel.lease());
        if let Some((connection, at)) = lease
            && let Some(there) = self.connections[connection].channel(at)
        {
            if !there.is_clean() {
                self.close_connection_channel(connection, at);
                if let Some(channel) = self.clients[id].channel_mut(number) {
                    channel.begin_close();
                }
                return FrameOutcome::Done(0);
            }
            if there.has_incoming() {
                // The rest of a message that comes back is its own.
                return self.wait_for(id, Waits::Answer);
            }
        }
        client.forget_channel(number);
        client.send(number, &channel::CloseOk);
        if let Some((connection, at)) = lease {
            self.release_lease(connection, at);
            self.update_blocked(id);
        }
        FrameOutcome::Done(0)
    }
}

/// Has a method answered that asks not to be. Whether it did ask so.
fn ask_for_answer(method: &mut Method<'_>) -> bool {
    let no_wait = match method {
        Method::QueueDeclare(declare) => &mut declare.no_wait,
        Method::QueueBind(bind) => &mut bind.no_wait,
        Method::QueueDelete(delete) => &mut delete.no_wait,
        Method::ExchangeDeclare(declare) => &mut declare.no_wait,
        Method::ExchangeDelete(delete) => &mut delete.no_wait,
        Method::ExchangeBind(bind) => &mut bind.no_wait,
        Method::ExchangeUnbind(unbind) => &mut unbind.no_wait,
        _ => return false,
    };
    std::mem::take(no_wait)
}

#[cfg(test)]
mod tests {
    use amqp::method::tx;

    use super::*;

    #[track_caller]
    fn check(method: Method<'_>, expected: Verdict) {
        assert_eq!(judge(&method), expected, "{method:?}");
    }

    fn shared() -> Verdict {
        Verdict::Shared { is_answered: true }
    }

    #[test]
    fn what_binds_a_client_to_its_connection_gets_one_of_its_own() {
        check(Method::BasicConsume(basic::Consume::default()), Verdict::Own);
        check(Method::TxSelect(tx::Select), Verdict::Own);
        check(Method::BasicGet(basic::Get { queue: b"q", no_ack: false, ..Default::default() }), Verdict::Own);
        check(Method::BasicGet(basic::Get { queue: b"q", no_ack: true, ..Default::default() }), shared());
        check(Method::BasicGet(basic::Get { queue: REPLY_QUEUE, no_ack: true, ..Default::default() }), Verdict::Own);
        check(Method::BasicQos(basic::Qos { prefetch_count: 9, ..Default::default() }), Verdict::Here);
        check(Method::BasicQos(basic::Qos { global: true, ..Default::default() }), Verdict::Own);
    }

    #[test]
    fn a_queue_that_goes_with_its_connection_is_declared_on_its_own() {
        let declare = queue::Declare { queue: b"q", durable: true, ..Default::default() };
        check(Method::QueueDeclare(declare), shared());
        check(
            Method::QueueDeclare(queue::Declare { no_wait: true, ..declare }),
            Verdict::Shared { is_answered: false },
        );
        check(Method::QueueDeclare(queue::Declare { exclusive: true, ..declare }), Verdict::Own);
        check(Method::QueueDeclare(queue::Declare { queue: b"", ..declare }), Verdict::Own);
        check(Method::QueueDeclare(queue::Declare { durable: false, ..declare }), Verdict::Own);
        check(Method::QueueDeclare(queue::Declare { durable: false, passive: true, ..declare }), shared());
    }

    #[test]
    fn what_an_upstream_may_close_a_connection_for_goes_over_its_own() {
        let declare = exchange::Declare { exchange: b"e", kind: b"topic", ..Default::default() };
        check(Method::ExchangeDeclare(declare), shared());
        check(Method::ExchangeDeclare(exchange::Declare { kind: b"x-unheard-of", ..declare }), Verdict::Own);
        check(Method::BasicPublish(basic::Publish { immediate: true, ..Default::default() }), Verdict::Own);
        check(Method::ChannelFlow(channel::Flow { active: false }), Verdict::Own);
    }
}
