//! What each method leads to. What it does is in the file of its class.

use amqp::frame::put_method;
use amqp::method::{Method, basic, channel};
use amqp::server::Violation;

use super::{Session, Site};
use crate::events::Event;
use crate::refusal::{self, Outcome, Refusal};
use crate::session::assembly::Assembly;
use crate::session::channel::Channel;
use crate::usage::{Counted, Seat};

impl Session {
    pub(super) fn connection_method(&mut self, method: Method<'_>) -> Outcome<()> {
        match method {
            Method::ConnectionClose(_) => {
                self.handle.outbox.close();
                self.apply_batch();
                self.release_everything();
                self.part();
                Ok(())
            }
            Method::ConnectionUpdateSecret(update) => self.update_secret(&update),
            // A client that answers a blocked notice with one of its own means nothing by it.
            Method::ConnectionBlocked(_) | Method::ConnectionUnblocked(_) => Ok(()),
            _ => Err(Violation::method_while_running().into()),
        }
    }

    pub(super) fn channel_method(&mut self, number: u16, method: Method<'_>) -> Outcome<()> {
        if let Method::ChannelOpen(_) = method {
            return self.open_channel(number);
        }
        // All but these see the effect of what was sent before them.
        let is_gathered = match method {
            Method::BasicAck(_) | Method::BasicPublish(_) => true,
            // What a rejection passes on comes after what was published before it.
            Method::BasicNack(_) | Method::BasicReject(_) | Method::BasicRecover(_) | Method::BasicRecoverAsync(_) => {
                self.batch.publishes().is_empty()
            }
            _ => false,
        };
        if !is_gathered {
            self.stop_serving(number, &method);
            self.apply_batch();
        }
        let Some(mut channel) = self.channels.take(number) else {
            // A channel that both sides have closed at once does not exist any more.
            if matches!(method, Method::ChannelCloseOk(_)) && self.channels.end_crossing(number) {
                return Ok(());
            }
            return Err(Violation::channel_not_open().into());
        };
        if channel.is_closing {
            match method {
                Method::ChannelCloseOk(_) => {}
                Method::ChannelClose(_) => {
                    self.channels.begin_crossing(number);
                    put_method(&mut self.out, number, &channel::CloseOk);
                }
                _ => self.channels.put(channel),
            }
            return Ok(());
        }
        if let Some(progress) = channel.assembly.as_ref().map(|assembly| assembly.progress()) {
            self.channels.put(channel);
            // It is the publish that failed, not what came in its way.
            let refusal: Box<Refusal> = progress.violation().into();
            self.fail(&refusal, Site { channel: number, class_id: 60, method_id: 40 });
            return Ok(());
        }
        if let Method::ChannelClose(_) = method {
            self.release_channel(channel);
            put_method(&mut self.out, number, &channel::CloseOk);
            return Ok(());
        }
        let result = match telemetry::trace::is_active() {
            false => self.do_method(&mut channel, method),
            true => self.traced_method(&mut channel, method),
        };
        self.channels.put(channel);
        result
    }

    /// The table of contents: what each method of a channel leads to.
    pub(super) fn do_method(&mut self, channel: &mut Channel, method: Method<'_>) -> Outcome<()> {
        match method {
            Method::BasicPublish(publish) => self.begin_publish(channel, &publish),
            Method::BasicAck(ack) => self.ack(channel, ack.delivery_tag, ack.multiple),
            Method::BasicNack(nack) => self.nack(channel, nack.delivery_tag, nack.multiple, nack.requeue, false),
            Method::BasicReject(reject) => self.nack(channel, reject.delivery_tag, false, reject.requeue, true),
            Method::BasicRecover(recover) => self.recover(channel, recover.requeue, true),
            Method::BasicRecoverAsync(recover) => self.recover(channel, recover.requeue, false),
            Method::BasicConsume(consume) => self.consume(channel, &consume),
            Method::BasicCancel(cancel) => self.cancel(channel, &cancel),
            // A client that confirms a cancellation of ours.
            Method::BasicCancelOk(_) => Ok(()),
            Method::BasicGet(get) => self.get(channel, &get),
            Method::BasicQos(qos) => self.qos(channel, &qos),
            Method::QueueDeclare(declare) => self.queue_declare(channel, &declare),
            Method::QueueBind(bind) => self.queue_bind(channel, &bind),
            Method::QueueUnbind(unbind) => self.queue_unbind(channel, &unbind),
            Method::QueuePurge(purge) => self.queue_purge(channel, &purge),
            Method::QueueDelete(delete) => self.queue_delete(channel, &delete),
            Method::ExchangeDeclare(declare) => self.exchange_declare(channel, &declare),
            Method::ExchangeDelete(delete) => self.exchange_delete(channel, &delete),
            Method::ExchangeBind(bind) => self.exchange_bind(channel, &bind),
            Method::ExchangeUnbind(unbind) => self.exchange_unbind(channel, &unbind),
            Method::ConfirmSelect(select) => self.confirm_select(channel, select.no_wait),
            Method::TxSelect(_) => self.tx_select(channel),
            Method::TxCommit(_) => self.tx_commit(channel),
            Method::TxRollback(_) => self.tx_rollback(channel),
            Method::AccessRequest(_) => {
                put_method(&mut self.out, channel.number, &amqp::method::access::RequestOk { ticket: 1 });
                Ok(())
            }
            Method::ChannelFlow(flow) if flow.active => {
                put_method(&mut self.out, channel.number, &channel::FlowOk { active: true });
                Ok(())
            }
            Method::ChannelFlow(_) => refusal::not_implemented("active=false"),
            Method::ChannelFlowOk(_) => Ok(()),
            _ => refusal::command_invalid("unimplemented method"),
        }
    }

    fn open_channel(&mut self, number: u16) -> Outcome<()> {
        if self.channels.is_open(number) {
            return Err(Violation::channel_open_twice().into());
        }
        // As in RabbitMQ the number of channels counts, not the channel's own.
        let channel_max = self.login().channel_max;
        if channel_max != 0 && self.channels.open_count() >= usize::from(channel_max) {
            return Err(Violation::too_many_channels(channel_max.into(), channel_max).into());
        }
        let mut channel = Box::new(Channel::new(number));
        channel.seat = Some(self.take_channel_seat()?);
        self.handle.channels.lock().insert(number, channel.handle.clone());
        self.channels.put(channel);
        put_method(&mut self.out, number, &channel::OpenOk { channel_id: b"" });
        self.broker.counters.channels_opened.add(1);
        self.broker.emit_if_wanted(|| Event::channel_created(&self.handle, number));
        Ok(())
    }

    /// The user's channels over all its connections are limited.
    fn take_channel_seat(&self) -> Outcome<Seat> {
        let user = self.user_name();
        let limit = self.broker.users.get(user).and_then(|user| user.limits.channel_max);
        self.broker.usages.take(user, Counted::Channel, limit).or_else(|channel_max| {
            refusal::not_allowed(format!(
                "number of channels opened for user '{user}' has reached the maximum allowed user limit of {channel_max}"
            ))
        })
    }

    fn begin_publish(&mut self, channel: &mut Channel, publish: &basic::Publish<'_>) -> Outcome<()> {
        if self.is_publish_held() {
            return Ok(());
        }
        if publish.immediate {
            return refusal::not_implemented("immediate=true");
        }
        channel.assembly = Some(Assembly::begin(publish));
        Ok(())
    }
}
