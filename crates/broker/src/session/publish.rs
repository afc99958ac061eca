//! basic.publish: from frames to a message in the batch.
//!
//! The usual publish lies in the read buffer as a whole (method, header, one body frame) and is taken from there
//! without an intermediate copy; any other is assembled on its channel.

use std::sync::Arc;

use amqp::content::{ContentHeader, Properties};
use amqp::method::basic;
use store::Kind;

use crate::limits::CACHED_TARGET_COUNT;
use crate::permissions::Permitted;
use crate::publish_properties::{ParsedProperties, hidden_keys_of, sender_selected_keys};
use crate::refusal::{self, Outcome};
use crate::reply_to;
use crate::session::Session;
use crate::session::assembly::CompletePublish;
use crate::session::channel::Channel;
use crate::session::last_route::LastRoute;
use crate::session::told;
use crate::session::transaction::PendingTarget;
use crate::statistics::ChannelNumber;
use crate::trace_points::ROUTE;
use engine::message::History;
use engine::publish::{Publish, PublishOptions};
use engine::router::Routing;
use engine::targets::Targets;

impl Session {
    /// Publishes a message on a channel: routes it, stores its content, and puts it into the batch (or the transaction).
    pub(super) fn publish(&mut self, channel: &mut Channel, whole: &CompletePublish<'_>) -> Outcome<()> {
        // The decoded header stays in here: it is large, and where more of it is needed than this it is decoded again.
        let (terms, is_special) = {
            let header = whole.decode_header()?;
            let asked = self.access().check_properties(&header.properties)?;
            (asked.terms, asked.has_sender_selected || asked.wants_fast_reply)
        };
        if is_special || (whole.exchange.is_empty() && reply_to::is_address(whole.routing_key)) {
            return self.publish_specially(channel, whole);
        }
        // Whether a delayed one would be routable now is looked for each time.
        let is_known = !(terms.is_delayed() && whole.mandatory);
        let epoch = self.vhost().epoch();
        let is_same = |last: &mut Box<LastRoute>| is_known && last.is_for(epoch, whole, terms.is_delayed());
        match channel.last_route.take_if(is_same) {
            Some(last) => {
                self.store_publish(channel, whole, &last.targets, terms, &[]);
                channel.last_route = Some(last);
                Ok(())
            }
            None => self.publish_elsewhere(channel, whole, terms, is_known),
        }
    }

    /// Publishes a message that goes elsewhere than the channel's last.
    fn publish_elsewhere(
        &mut self,
        channel: &mut Channel,
        whole: &CompletePublish<'_>,
        terms: PublishOptions,
        is_known: bool,
    ) -> Outcome<()> {
        let (epoch, is_delayed) = (self.vhost().epoch(), terms.is_delayed());
        let known = match is_known {
            true => self.routes.of(is_delayed).get(epoch, whole.exchange, whole.routing_key).cloned(),
            false => None,
        };
        let targets = match known {
            Some(targets) => {
                LastRoute::remember(&mut channel.last_route, epoch, whole, is_delayed, &targets);
                targets
            }
            None => self.route_afresh(whole, &[whole.routing_key], &whole.decode_header()?.properties, is_delayed)?,
        };
        self.store_publish(channel, whole, &targets, terms, &[]);
        Ok(())
    }

    /// A publish with more than one routing key, or of a reply, or that asks for one.
    #[cold]
    fn publish_specially(&mut self, channel: &mut Channel, whole: &CompletePublish<'_>) -> Outcome<()> {
        let header = whole.decode_header()?;
        let asked = self.access().check_properties(&header.properties)?;
        if asked.wants_fast_reply && channel.reply_consumer.is_none() {
            return refusal::precondition_failed("fast reply consumer does not exist");
        }
        if asked.has_sender_selected || asked.wants_fast_reply {
            return self.publish_rewritten(channel, whole, &header, &asked);
        }
        self.publish_reply(channel, whole)
    }

    fn route_afresh(
        &mut self,
        whole: &CompletePublish<'_>,
        routing_keys: &[&[u8]],
        properties: &Properties<'_>,
        is_delayed: bool,
    ) -> Outcome<Arc<Targets>> {
        let exchange = whole.exchange;
        let vhost = self.vhost().clone();
        // Read before the permission is: what is revoked in between must not be remembered as allowed.
        let epoch = vhost.epoch();
        let mut call = ROUTE.enter(|arguments| {
            arguments.text("vhost", vhost.name().as_str()).bytes("exchange", exchange);
            arguments.bytes("routing_key", whole.routing_key);
        });
        let permitted = self.access().check_publish(exchange, routing_keys)?;
        let content = || {
            let ttl_ms = properties.expiration.and_then(|text| std::str::from_utf8(text).ok()?.parse().ok());
            whole.parts(self.turn.now_ms, History { ttl_ms, ..History::default() }).to_kept()
        };
        let routing = Routing { exchange, routing_keys, properties, content: &content, is_delayed };
        let mut routed = self.access().route(permitted, &routing)?;
        if whole.mandatory
            && routed.targets.queues.is_empty()
            && let Some(delay) = &mut routed.targets.delay
        {
            delay.is_returned = self.broker.options.returns_every_delayed || !vhost.would_route(&routing, &delay.sets);
        }
        let targets = Arc::new(routed.targets);
        call.returns(|| match targets.queues.len() {
            1 => "1 queue".to_owned(),
            count => format!("{count} queues"),
        });
        if let [routing_key] = routing_keys
            && routed.cacheable_at == Some(epoch)
            && !(is_delayed && whole.mandatory)
            && targets.queues.len() <= CACHED_TARGET_COUNT
        {
            self.routes.of(is_delayed).insert(epoch, exchange, routing_key, targets.clone());
        }
        Ok(targets)
    }

    /// A message with CC or BCC headers, or a reply-to that has to be replaced: its properties are encoded anew.
    fn publish_rewritten(
        &mut self,
        channel: &mut Channel,
        whole: &CompletePublish<'_>,
        published: &ContentHeader<'_>,
        asked: &ParsedProperties<'_>,
    ) -> Outcome<()> {
        let mut routing_keys = vec![whole.routing_key];
        let mut headers = asked.headers.map(|headers| headers.to_owned());
        let mut hidden_keys = Vec::new();
        if let Some(table) = asked.headers {
            sender_selected_keys(&table, &mut routing_keys)?;
            hidden_keys = hidden_keys_of(&table);
            if let Some(headers) = &mut headers {
                headers.remove(b"BCC");
            }
        }
        let address = channel.reply_consumer.as_ref().map(|consumer| consumer.address.clone());
        let mut header = *published;
        if asked.wants_fast_reply {
            header.properties.reply_to = address.as_deref().map(str::as_bytes);
        }
        header.properties.headers = headers.as_ref().map(|headers| headers.as_table());
        let mut payload = Vec::with_capacity(whole.header.len() + 64);
        header.encode(&mut payload);
        let rewritten = CompletePublish { header: &payload, ..*whole };
        if whole.exchange.is_empty() && reply_to::is_address(whole.routing_key) {
            return self.publish_reply(channel, &rewritten);
        }
        let targets = self.route_afresh(&rewritten, &routing_keys, &published.properties, asked.terms.is_delayed())?;
        self.store_publish(channel, &rewritten, &targets, asked.terms, &hidden_keys);
        Ok(())
    }

    /// A reply to a direct reply-to consumer: it goes to that consumer's connection, past all queues.
    fn publish_reply(&mut self, channel: &mut Channel, whole: &CompletePublish<'_>) -> Outcome<()> {
        let permitted = self.access().check_publish(whole.exchange, &[whole.routing_key])?;
        match &mut channel.tx {
            Some(tx) => {
                let parts = whole.parts(self.turn.now_ms, History::default());
                tx.publish(&parts, whole.mandatory, PendingTarget::Reply(permitted), PublishOptions::default());
            }
            None => self.send_reply(channel, whole, permitted),
        }
        Ok(())
    }

    /// Sends a reply to where its routing key says.
    pub(super) fn send_reply(&mut self, channel: &mut Channel, whole: &CompletePublish<'_>, _permitted: Permitted) {
        if self.broker.engine.taps.want(told::OF_BATCHES) {
            self.tell_reply_published(channel.number, whole);
        }
        let content = self.content(whole, History::default(), Kind::Transient);
        let is_there = self.broker.replies.send(self.vhost().name().as_str(), whole.routing_key, content);
        if !is_there && whole.mandatory {
            self.return_unroutable(channel, whole);
        }
        let confirm_seq = channel.confirms.as_mut().map_or(0, |confirms| confirms.take_seq());
        self.confirm_now(channel, confirm_seq);
    }

    /// Publishes to queues: at once, or when the transaction is committed.
    #[inline(always)]
    fn store_publish(
        &mut self,
        channel: &mut Channel,
        whole: &CompletePublish<'_>,
        targets: &Arc<Targets>,
        terms: PublishOptions,
        hidden_keys: &[u8],
    ) {
        let history = History { ttl_ms: terms.ttl_ms, hidden_keys, ..History::default() };
        match &mut channel.tx {
            Some(tx) => {
                tx.publish(
                    &whole.parts(self.turn.now_ms, history),
                    whole.mandatory,
                    PendingTarget::Queues(targets.clone()),
                    terms,
                );
            }
            None => self.publish_to(channel, whole, targets, terms, history),
        }
    }

    /// Copies the message into a chunk and puts it into the batch; or returns or drops it where no queue wants it.
    // Always, as with writing the parts: most of a history is not there, and is not even looked at then.
    #[inline(always)]
    pub(super) fn publish_to(
        &mut self,
        channel: &mut Channel,
        whole: &CompletePublish<'_>,
        targets: &Arc<Targets>,
        terms: PublishOptions,
        history: History<'_>,
    ) {
        channel.counts.add(ChannelNumber::Published, 1);
        self.turn.gathered.publish(whole.body.len() as u64);
        let confirm_seq = channel.confirms.as_mut().map_or(0, |confirms| confirms.take_seq());
        if targets.is_empty() {
            if self.broker.engine.taps.want(told::OF_BATCHES) {
                // In parts: what is passed as a whole is written down as a whole, for each publish.
                self.tell_unroutable(channel, whole, targets, (history.ttl_ms, history.hidden_keys));
            }
            self.turn.gathered.published_to_confirm += u64::from(confirm_seq != 0);
            if whole.mandatory {
                self.return_unroutable(channel, whole);
            } else {
                channel.counts.add(ChannelNumber::Dropped, 1);
                self.vhost().counters.stripe().dropped.add(1);
            }
            if let Some(counted) = &targets.counted {
                counted.exchange.published_in.add(1);
                self.broker.engine.statistics.exchanges.note(&counted.exchange);
            }
            if self.broker.engine.statistics.options.has_rates() {
                channel.note_places(targets, 1);
            }
            self.confirm_now(channel, confirm_seq);
            return;
        }
        if let Some(delay) = &targets.delay
            && delay.is_returned
        {
            // It waits nevertheless: that it was not routable then does not mean that it will not be.
            self.return_unroutable(channel, whole);
        }
        let content = self.content(whole, history, targets.kind(terms.is_persistent));
        let publish = Publish::new(content, whole.body.len(), terms);
        self.batch.publish(targets, publish.confirmed_as(channel.number, confirm_seq));
    }

    #[inline(always)]
    fn content(&self, whole: &CompletePublish<'_>, history: History<'_>, kind: Kind) -> store::Content {
        let parts = whole.parts(self.turn.now_ms, history);
        self.broker.engine.chunks.write(kind, parts.len(), |out| parts.write(out))
    }

    /// Confirms a publish that no queue took. As in RabbitMQ each has an ack of its own, and waits for none before it: there are clients
    /// that count acks.
    fn confirm_now(&mut self, channel: &mut Channel, confirm_seq: u64) {
        if confirm_seq == 0 {
            return;
        }
        let ack = basic::Ack { delivery_tag: confirm_seq, multiple: false };
        amqp::frame::put_method(&mut self.out, channel.number, &ack);
        channel.counts.add(ChannelNumber::Confirmed, 1);
        self.turn.gathered.confirmed += 1;
    }

    /// basic.return with 312 NO_ROUTE.
    pub(super) fn return_unroutable(&mut self, channel: &mut Channel, whole: &CompletePublish<'_>) {
        channel.counts.add(ChannelNumber::Returned, 1);
        self.vhost().counters.stripe().returned.add(1);
        let method = basic::Return {
            reply_code: amqp::reply::ReplyCode::NoRoute.code(),
            reply_text: b"NO_ROUTE",
            exchange: whole.exchange,
            routing_key: whole.routing_key,
        };
        amqp::frame::put_method(&mut self.out, channel.number, &method);
        self.put_content(channel.number, whole.header, whole.body);
    }
}
