//! What each method leads to. What it does is in the file of its class.

use amqp::frame::put_method;
use amqp::method::{Method, basic, channel};
use amqp::server::Violation;

use engine::lane::LaneNumber;

use super::assembly::Assembly;
use super::channel::{Channel, ChannelState};
use super::exception::{self, Exception, Handled};
use super::{Session, Site};
use crate::front::client_name;

impl Session {
    pub(super) fn connection_method(&mut self, method: Method<'_>) -> Handled<()> {
        match method {
            Method::ConnectionClose(_) => {
                self.front.begin_parting();
                self.part();
                Ok(())
            }
            Method::ConnectionUpdateSecret(update) => self.update_secret(&update),
            // A client that answers a blocked notice with one of its own means nothing by it.
            Method::ConnectionBlocked(_) | Method::ConnectionUnblocked(_) => Ok(()),
            _ => Err(Violation::method_while_running().into()),
        }
    }

    pub(super) fn channel_method(&mut self, number: u16, method: Method<'_>) -> Handled<()> {
        if let Method::ChannelOpen(_) = method {
            return self.open_channel(number);
        }
        // All but these see the effect of what was sent before them.
        let is_gathered = match method {
            Method::BasicAck(_) | Method::BasicPublish(_) => true,
            // What a rejection passes on comes after what was published before it.
            Method::BasicNack(_) | Method::BasicReject(_) | Method::BasicRecover(_) | Method::BasicRecoverAsync(_) => {
                self.front.batched_publish_count() == 0
            }
            _ => false,
        };
        if !is_gathered {
            self.stop_serving(number, &method);
            self.front.apply_batch();
        }
        let Some(mut channel) = self.front.take_lane(LaneNumber(number)) else {
            // A channel that both sides have closed at once no longer exists.
            if matches!(method, Method::ChannelCloseOk(_)) && self.end_crossing(number) {
                return Ok(());
            }
            return Err(Violation::channel_not_open().into());
        };
        if channel.state.is_closing {
            match method {
                Method::ChannelCloseOk(_) => {}
                Method::ChannelClose(_) => {
                    self.begin_crossing(number);
                    put_method(self.front.out(), number, &channel::CloseOk);
                }
                _ => self.front.put_lane(channel),
            }
            return Ok(());
        }
        if let Some(progress) = channel.state.assembly.as_ref().map(|assembly| assembly.progress()) {
            self.front.put_lane(channel);
            // It is the publish that failed, not what came in its way.
            let exception: Box<Exception> = progress.violation().into();
            self.fail(&exception, Site { channel: number, class_id: 60, method_id: 40 });
            return Ok(());
        }
        if let Method::ChannelClose(_) = method {
            self.front.release_lane(*channel);
            put_method(self.front.out(), number, &channel::CloseOk);
            return Ok(());
        }
        let result = match telemetry::trace::is_active() {
            false => self.do_method(&mut channel, method),
            true => self.traced_method(&mut channel, method),
        };
        self.front.put_lane(channel);
        result
    }

    /// The table of contents: what each method of a channel leads to.
    pub(super) fn do_method(&mut self, channel: &mut Channel, method: Method<'_>) -> Handled<()> {
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
                put_method(self.front.out(), channel.number().0, &amqp::method::access::RequestOk { ticket: 1 });
                Ok(())
            }
            Method::ChannelFlow(flow) if flow.active => {
                put_method(self.front.out(), channel.number().0, &channel::FlowOk { active: true });
                Ok(())
            }
            Method::ChannelFlow(_) => exception::not_implemented("active=false"),
            Method::ChannelFlowOk(_) => Ok(()),
            Method::ChannelOnBehalfOf(method) => {
                channel.act_on_behalf_of(client_name(method.client));
                Ok(())
            }
            _ => exception::command_invalid("unimplemented method"),
        }
    }

    fn open_channel(&mut self, number: u16) -> Handled<()> {
        if self.front.has_lane(LaneNumber(number)) {
            return Err(Violation::channel_open_twice().into());
        }
        // As in RabbitMQ the number of channels counts, not the channel's own. Those that wait for close-ok are not open.
        let channel_max = self.front.agreed().channel_max;
        let open_count = || self.front.lanes().filter(|channel| !channel.state.is_closing).count();
        if channel_max != 0 && open_count() >= usize::from(channel_max) {
            return Err(Violation::too_many_channels(channel_max.into(), channel_max).into());
        }
        self.front.open_lane(LaneNumber(number), ChannelState::default())?;
        put_method(self.front.out(), number, &channel::OpenOk { channel_id: b"" });
        Ok(())
    }

    /// A method ends consumers, and what the client has sent before it is yet to be brought to queues: that is not to bring these consumers
    /// anything more, for it would come back without ever having been sent.
    fn stop_serving(&mut self, number: u16, method: &Method<'_>) {
        let (Method::BasicCancel(_) | Method::ChannelClose(_)) = method else { return };
        let Some(channel) = self.front.lane_mut(LaneNumber(number)) else { return };
        match method {
            Method::BasicCancel(cancel) if channel.state.assembly.is_none() => {
                self.front.cancel_early(LaneNumber(number), cancel.consumer_tag);
            }
            Method::ChannelClose(_) => channel.stop_serving(),
            _ => {}
        }
    }

    /// Both sides have closed a channel at once. It no longer exists, and the client's `close-ok` is yet to come.
    fn begin_crossing(&mut self, number: u16) {
        if !self.crossing.contains(&LaneNumber(number)) {
            self.crossing.push(LaneNumber(number));
        }
    }

    /// That answer has come, if any was to.
    fn end_crossing(&mut self, number: u16) -> bool {
        let found = self.crossing.iter().position(|crossing| crossing.0 == number);
        found.map(|at| self.crossing.swap_remove(at)).is_some()
    }

    fn begin_publish(&mut self, channel: &mut Channel, publish: &basic::Publish<'_>) -> Handled<()> {
        if self.front.is_publish_held() {
            return Ok(());
        }
        if publish.immediate {
            return exception::not_implemented("immediate=true");
        }
        channel.state.assembly = Some(Assembly::begin(publish));
        Ok(())
    }
}
