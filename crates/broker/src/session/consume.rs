//! basic.consume, cancel, get, qos.

use amqp::frame::put_method;
use amqp::method::basic;
use engine::lane::LaneNumber;
use model::name::generate_consumer_tag;
use queue::Credit;

use super::channel::Channel;
use super::encoding::put_get_ok;
use super::exception::{self, Exception, Handled};
use super::queue_methods::expand_name;
use super::{Session, Site};
use crate::front::{ConsumeRequest, Got, LoadingGet};
use crate::reply_to;

impl Session {
    /// basic.consume.
    pub(super) fn consume(&mut self, channel: &mut Channel, consume: &basic::Consume<'_>) -> Handled<()> {
        let tag: Box<[u8]> = if consume.consumer_tag.is_empty() {
            generate_consumer_tag(self.front.broker().random()?).into_bytes().into()
        } else {
            consume.consumer_tag.into()
        };
        self.front.check_tag(channel, &tag)?;
        if consume.queue == reply_to::QUEUE.as_bytes() {
            self.front.consume_replies(channel, &tag, consume.no_ack)?;
        } else {
            self.front.check_consumer_count(channel)?;
            let request = ConsumeRequest {
                queue: &expand_name(channel, consume.queue)?,
                tag: &tag,
                no_ack: consume.no_ack,
                credit: Credit::window(channel.prefetch()),
                is_exclusive: consume.exclusive,
                arguments: consume.arguments,
            };
            self.front.consume(channel, &request)?;
        }
        if !consume.no_wait {
            put_method(self.front.out(), channel.number().0, &basic::ConsumeOk { consumer_tag: &tag });
        }
        Ok(())
    }

    /// basic.cancel. Cancelling what is not there is answered like anything else.
    pub(super) fn cancel(&mut self, channel: &mut Channel, cancel: &basic::Cancel<'_>) -> Handled<()> {
        let start = self.front.output().len();
        let has_delivered = self.front.cancel(channel, cancel.consumer_tag);
        if !cancel.no_wait {
            let method = basic::CancelOk { consumer_tag: cancel.consumer_tag };
            put_method(self.front.out(), channel.number().0, &method);
        }
        if has_delivered {
            self.front.send_when_durable(self.front.held_until(), start);
        }
        Ok(())
    }

    /// basic.get.
    pub(super) fn get(&mut self, channel: &mut Channel, get: &basic::Get<'_>) -> Handled<()> {
        let queue = expand_name(channel, get.queue)?;
        let got = self.front.get(channel, queue, get.no_ack)?;
        self.answer_get(channel, &got);
        Ok(())
    }

    /// Tries a get again whose message has to be read from a segment first.
    pub(super) fn try_get_again(&mut self, get: LoadingGet) {
        let LoadingGet { lane, queue, no_ack } = get;
        let Some(mut channel) = self.front.take_lane(lane) else { return };
        let result = self.front.get_from(&mut channel, queue, no_ack);
        if let Ok(got) = &result {
            self.answer_get(&channel, got);
        }
        self.front.put_lane(channel);
        if let Err(refusal) = result {
            let LaneNumber(channel) = lane;
            self.fail(&<Box<Exception>>::from(refusal), Site { channel, class_id: 60, method_id: 70 });
        }
    }

    fn answer_get(&mut self, channel: &Channel, got: &Got) {
        let number = channel.number().0;
        match got {
            Got::Nothing => put_method(self.front.out(), number, &basic::GetEmpty { cluster_id: b"" }),
            Got::Later => {}
            Got::Message(got) => {
                let start = self.front.output().len();
                let (out, agreed) = self.front.out_and_agreed();
                put_get_ok(out, agreed.frame_len_max, number, got);
                self.front.send_when_durable(got.hold_until, start);
            }
        }
    }

    /// basic.qos.
    pub(super) fn qos(&mut self, channel: &mut Channel, qos: &basic::Qos) -> Handled<()> {
        if qos.prefetch_size != 0 {
            return exception::not_implemented(format!("prefetch_size!=0 ({})", qos.prefetch_size));
        }
        if qos.global {
            self.front.limit_lane(channel, qos.prefetch_count)?;
        } else {
            self.front.limit_consumers(channel, qos.prefetch_count);
        }
        put_method(self.front.out(), channel.number().0, &basic::QosOk);
        self.front.resume_parked();
        Ok(())
    }
}
