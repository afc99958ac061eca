//! Class `basic`: one struct for each method.
//!
//! Written by `examples/generate`. Change `protocol/amqp0-9-1.txt`, not this.

use crate::method_codec::EncodeMethod;
use crate::table::Table;
use crate::wire::{self, Malformed, Reader};

/// `basic.qos`, sent by clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Qos {
    /// `prefetch-size`, a long.
    pub prefetch_size: u32,
    /// `prefetch-count`, a short.
    pub prefetch_count: u16,
    /// `global`, a bit.
    pub global: bool,
}

impl Qos {
    #[inline]
    pub(crate) fn decode(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let prefetch_size = reader.u32()?;
        let prefetch_count = reader.u16()?;
        let global_bit = reader.u8()?;
        Ok(Self { prefetch_size, prefetch_count, global: global_bit & 1 != 0 })
    }
}

impl EncodeMethod for Qos {
    #[inline]
    fn encode_method(&self, out: &mut Vec<u8>) {
        wire::put_u16(out, 60);
        wire::put_u16(out, 10);
        wire::put_u32(out, self.prefetch_size);
        wire::put_u16(out, self.prefetch_count);
        wire::put_u8(out, u8::from(self.global));
    }
}

/// `basic.qos-ok`, sent by servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QosOk;

impl QosOk {
    #[inline]
    pub(crate) fn decode(_reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self)
    }
}

impl EncodeMethod for QosOk {
    #[inline]
    fn encode_method(&self, out: &mut Vec<u8>) {
        wire::put_u16(out, 60);
        wire::put_u16(out, 11);
    }
}

/// `basic.consume`, sent by clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Consume<'a> {
    /// `ticket`, a short; no longer means anything.
    pub ticket: u16,
    /// `queue`, a shortstr in UTF-8.
    pub queue: &'a [u8],
    /// `consumer-tag`, a shortstr in UTF-8.
    pub consumer_tag: &'a [u8],
    /// `no-local`, a bit.
    pub no_local: bool,
    /// `no-ack`, a bit.
    pub no_ack: bool,
    /// `exclusive`, a bit.
    pub exclusive: bool,
    /// `no-wait`, a bit.
    pub no_wait: bool,
    /// `arguments`, a table.
    pub arguments: Table<'a>,
}

impl<'a> Consume<'a> {
    #[inline]
    pub(crate) fn decode(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        let ticket = reader.u16()?;
        let queue = reader.utf8()?;
        let consumer_tag = reader.utf8()?;
        let bits = reader.u8()?;
        let arguments = reader.table()?;
        Ok(Self {
            ticket,
            queue,
            consumer_tag,
            no_local: bits & 1 != 0,
            no_ack: bits & 2 != 0,
            exclusive: bits & 4 != 0,
            no_wait: bits & 8 != 0,
            arguments,
        })
    }
}

impl EncodeMethod for Consume<'_> {
    #[inline]
    fn encode_method(&self, out: &mut Vec<u8>) {
        wire::put_u16(out, 60);
        wire::put_u16(out, 20);
        wire::put_u16(out, self.ticket);
        wire::put_short_str(out, self.queue);
        wire::put_short_str(out, self.consumer_tag);
        let bits = u8::from(self.no_local)
            | u8::from(self.no_ack) << 1
            | u8::from(self.exclusive) << 2
            | u8::from(self.no_wait) << 3;
        wire::put_u8(out, bits);
        wire::put_table(out, self.arguments);
    }
}

/// `basic.consume-ok`, sent by servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConsumeOk<'a> {
    /// `consumer-tag`, a shortstr.
    pub consumer_tag: &'a [u8],
}

impl<'a> ConsumeOk<'a> {
    #[inline]
    pub(crate) fn decode(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        let consumer_tag = reader.short_str()?;
        Ok(Self { consumer_tag })
    }
}

impl EncodeMethod for ConsumeOk<'_> {
    #[inline]
    fn encode_method(&self, out: &mut Vec<u8>) {
        wire::put_u16(out, 60);
        wire::put_u16(out, 21);
        wire::put_short_str(out, self.consumer_tag);
    }
}

/// `basic.cancel`, sent by clients and servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cancel<'a> {
    /// `consumer-tag`, a shortstr in UTF-8.
    pub consumer_tag: &'a [u8],
    /// `no-wait`, a bit.
    pub no_wait: bool,
}

impl<'a> Cancel<'a> {
    #[inline]
    pub(crate) fn decode(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        let consumer_tag = reader.utf8()?;
        let no_wait_bit = reader.u8()?;
        Ok(Self { consumer_tag, no_wait: no_wait_bit & 1 != 0 })
    }
}

impl EncodeMethod for Cancel<'_> {
    #[inline]
    fn encode_method(&self, out: &mut Vec<u8>) {
        wire::put_u16(out, 60);
        wire::put_u16(out, 30);
        wire::put_short_str(out, self.consumer_tag);
        wire::put_u8(out, u8::from(self.no_wait));
    }
}

/// `basic.cancel-ok`, sent by clients and servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CancelOk<'a> {
    /// `consumer-tag`, a shortstr in UTF-8.
    pub consumer_tag: &'a [u8],
}

impl<'a> CancelOk<'a> {
    #[inline]
    pub(crate) fn decode(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        let consumer_tag = reader.utf8()?;
        Ok(Self { consumer_tag })
    }
}

impl EncodeMethod for CancelOk<'_> {
    #[inline]
    fn encode_method(&self, out: &mut Vec<u8>) {
        wire::put_u16(out, 60);
        wire::put_u16(out, 31);
        wire::put_short_str(out, self.consumer_tag);
    }
}

/// `basic.publish`, sent by clients, with content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Publish<'a> {
    /// `ticket`, a short; no longer means anything.
    pub ticket: u16,
    /// `exchange`, a shortstr.
    pub exchange: &'a [u8],
    /// `routing-key`, a shortstr.
    pub routing_key: &'a [u8],
    /// `mandatory`, a bit.
    pub mandatory: bool,
    /// `immediate`, a bit.
    pub immediate: bool,
}

impl<'a> Publish<'a> {
    #[inline]
    pub(crate) fn decode(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        let ticket = reader.u16()?;
        let exchange = reader.short_str()?;
        let routing_key = reader.short_str()?;
        let bits = reader.u8()?;
        Ok(Self { ticket, exchange, routing_key, mandatory: bits & 1 != 0, immediate: bits & 2 != 0 })
    }
}

impl EncodeMethod for Publish<'_> {
    #[inline]
    fn encode_method(&self, out: &mut Vec<u8>) {
        wire::put_u16(out, 60);
        wire::put_u16(out, 40);
        wire::put_u16(out, self.ticket);
        wire::put_short_str(out, self.exchange);
        wire::put_short_str(out, self.routing_key);
        wire::put_u8(out, u8::from(self.mandatory) | u8::from(self.immediate) << 1);
    }
}

/// `basic.return`, sent by servers, with content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Return<'a> {
    /// `reply-code`, a short.
    pub reply_code: u16,
    /// `reply-text`, a shortstr.
    pub reply_text: &'a [u8],
    /// `exchange`, a shortstr.
    pub exchange: &'a [u8],
    /// `routing-key`, a shortstr.
    pub routing_key: &'a [u8],
}

impl<'a> Return<'a> {
    #[inline]
    pub(crate) fn decode(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        let reply_code = reader.u16()?;
        let reply_text = reader.short_str()?;
        let exchange = reader.short_str()?;
        let routing_key = reader.short_str()?;
        Ok(Self { reply_code, reply_text, exchange, routing_key })
    }
}

impl EncodeMethod for Return<'_> {
    #[inline]
    fn encode_method(&self, out: &mut Vec<u8>) {
        wire::put_u16(out, 60);
        wire::put_u16(out, 50);
        wire::put_u16(out, self.reply_code);
        wire::put_short_str(out, self.reply_text);
        wire::put_short_str(out, self.exchange);
        wire::put_short_str(out, self.routing_key);
    }
}

/// `basic.deliver`, sent by servers, with content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Deliver<'a> {
    /// `consumer-tag`, a shortstr.
    pub consumer_tag: &'a [u8],
    /// `delivery-tag`, a longlong.
    pub delivery_tag: u64,
    /// `redelivered`, a bit.
    pub redelivered: bool,
    /// `exchange`, a shortstr.
    pub exchange: &'a [u8],
    /// `routing-key`, a shortstr.
    pub routing_key: &'a [u8],
}

impl<'a> Deliver<'a> {
    #[inline]
    pub(crate) fn decode(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        let consumer_tag = reader.short_str()?;
        let delivery_tag = reader.u64()?;
        let redelivered_bit = reader.u8()?;
        let exchange = reader.short_str()?;
        let routing_key = reader.short_str()?;
        Ok(Self { consumer_tag, delivery_tag, redelivered: redelivered_bit & 1 != 0, exchange, routing_key })
    }
}

impl EncodeMethod for Deliver<'_> {
    #[inline]
    fn encode_method(&self, out: &mut Vec<u8>) {
        wire::put_u16(out, 60);
        wire::put_u16(out, 60);
        wire::put_short_str(out, self.consumer_tag);
        wire::put_u64(out, self.delivery_tag);
        wire::put_u8(out, u8::from(self.redelivered));
        wire::put_short_str(out, self.exchange);
        wire::put_short_str(out, self.routing_key);
    }
}

/// `basic.get`, sent by clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Get<'a> {
    /// `ticket`, a short; no longer means anything.
    pub ticket: u16,
    /// `queue`, a shortstr in UTF-8.
    pub queue: &'a [u8],
    /// `no-ack`, a bit.
    pub no_ack: bool,
}

impl<'a> Get<'a> {
    #[inline]
    pub(crate) fn decode(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        let ticket = reader.u16()?;
        let queue = reader.utf8()?;
        let no_ack_bit = reader.u8()?;
        Ok(Self { ticket, queue, no_ack: no_ack_bit & 1 != 0 })
    }
}

impl EncodeMethod for Get<'_> {
    #[inline]
    fn encode_method(&self, out: &mut Vec<u8>) {
        wire::put_u16(out, 60);
        wire::put_u16(out, 70);
        wire::put_u16(out, self.ticket);
        wire::put_short_str(out, self.queue);
        wire::put_u8(out, u8::from(self.no_ack));
    }
}

/// `basic.get-ok`, sent by servers, with content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GetOk<'a> {
    /// `delivery-tag`, a longlong.
    pub delivery_tag: u64,
    /// `redelivered`, a bit.
    pub redelivered: bool,
    /// `exchange`, a shortstr.
    pub exchange: &'a [u8],
    /// `routing-key`, a shortstr.
    pub routing_key: &'a [u8],
    /// `message-count`, a long.
    pub message_count: u32,
}

impl<'a> GetOk<'a> {
    #[inline]
    pub(crate) fn decode(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        let delivery_tag = reader.u64()?;
        let redelivered_bit = reader.u8()?;
        let exchange = reader.short_str()?;
        let routing_key = reader.short_str()?;
        let message_count = reader.u32()?;
        Ok(Self { delivery_tag, redelivered: redelivered_bit & 1 != 0, exchange, routing_key, message_count })
    }
}

impl EncodeMethod for GetOk<'_> {
    #[inline]
    fn encode_method(&self, out: &mut Vec<u8>) {
        wire::put_u16(out, 60);
        wire::put_u16(out, 71);
        wire::put_u64(out, self.delivery_tag);
        wire::put_u8(out, u8::from(self.redelivered));
        wire::put_short_str(out, self.exchange);
        wire::put_short_str(out, self.routing_key);
        wire::put_u32(out, self.message_count);
    }
}

/// `basic.get-empty`, sent by servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GetEmpty<'a> {
    /// `cluster-id`, a shortstr; no longer means anything.
    pub cluster_id: &'a [u8],
}

impl<'a> GetEmpty<'a> {
    #[inline]
    pub(crate) fn decode(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        let cluster_id = reader.short_str()?;
        Ok(Self { cluster_id })
    }
}

impl EncodeMethod for GetEmpty<'_> {
    #[inline]
    fn encode_method(&self, out: &mut Vec<u8>) {
        wire::put_u16(out, 60);
        wire::put_u16(out, 72);
        wire::put_short_str(out, self.cluster_id);
    }
}

/// `basic.ack`, sent by clients and servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ack {
    /// `delivery-tag`, a longlong.
    pub delivery_tag: u64,
    /// `multiple`, a bit.
    pub multiple: bool,
}

impl Ack {
    #[inline]
    pub(crate) fn decode(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let delivery_tag = reader.u64()?;
        let multiple_bit = reader.u8()?;
        Ok(Self { delivery_tag, multiple: multiple_bit & 1 != 0 })
    }
}

impl EncodeMethod for Ack {
    #[inline]
    fn encode_method(&self, out: &mut Vec<u8>) {
        wire::put_u16(out, 60);
        wire::put_u16(out, 80);
        wire::put_u64(out, self.delivery_tag);
        wire::put_u8(out, u8::from(self.multiple));
    }
}

/// `basic.reject`, sent by clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reject {
    /// `delivery-tag`, a longlong.
    pub delivery_tag: u64,
    /// `requeue`, a bit.
    pub requeue: bool,
}

impl Reject {
    #[inline]
    pub(crate) fn decode(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let delivery_tag = reader.u64()?;
        let requeue_bit = reader.u8()?;
        Ok(Self { delivery_tag, requeue: requeue_bit & 1 != 0 })
    }
}

impl EncodeMethod for Reject {
    #[inline]
    fn encode_method(&self, out: &mut Vec<u8>) {
        wire::put_u16(out, 60);
        wire::put_u16(out, 90);
        wire::put_u64(out, self.delivery_tag);
        wire::put_u8(out, u8::from(self.requeue));
    }
}

/// `basic.recover-async`, sent by clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecoverAsync {
    /// `requeue`, a bit.
    pub requeue: bool,
}

impl RecoverAsync {
    #[inline]
    pub(crate) fn decode(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let requeue_bit = reader.u8()?;
        Ok(Self { requeue: requeue_bit & 1 != 0 })
    }
}

impl EncodeMethod for RecoverAsync {
    #[inline]
    fn encode_method(&self, out: &mut Vec<u8>) {
        wire::put_u16(out, 60);
        wire::put_u16(out, 100);
        wire::put_u8(out, u8::from(self.requeue));
    }
}

/// `basic.recover`, sent by clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recover {
    /// `requeue`, a bit.
    pub requeue: bool,
}

impl Recover {
    #[inline]
    pub(crate) fn decode(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let requeue_bit = reader.u8()?;
        Ok(Self { requeue: requeue_bit & 1 != 0 })
    }
}

impl EncodeMethod for Recover {
    #[inline]
    fn encode_method(&self, out: &mut Vec<u8>) {
        wire::put_u16(out, 60);
        wire::put_u16(out, 110);
        wire::put_u8(out, u8::from(self.requeue));
    }
}

/// `basic.recover-ok`, sent by servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecoverOk;

impl RecoverOk {
    #[inline]
    pub(crate) fn decode(_reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self)
    }
}

impl EncodeMethod for RecoverOk {
    #[inline]
    fn encode_method(&self, out: &mut Vec<u8>) {
        wire::put_u16(out, 60);
        wire::put_u16(out, 111);
    }
}

/// `basic.nack`, sent by clients and servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Nack {
    /// `delivery-tag`, a longlong.
    pub delivery_tag: u64,
    /// `multiple`, a bit.
    pub multiple: bool,
    /// `requeue`, a bit.
    pub requeue: bool,
}

impl Nack {
    #[inline]
    pub(crate) fn decode(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let delivery_tag = reader.u64()?;
        let bits = reader.u8()?;
        Ok(Self { delivery_tag, multiple: bits & 1 != 0, requeue: bits & 2 != 0 })
    }
}

impl EncodeMethod for Nack {
    #[inline]
    fn encode_method(&self, out: &mut Vec<u8>) {
        wire::put_u16(out, 60);
        wire::put_u16(out, 120);
        wire::put_u64(out, self.delivery_tag);
        wire::put_u8(out, u8::from(self.multiple) | u8::from(self.requeue) << 1);
    }
}
