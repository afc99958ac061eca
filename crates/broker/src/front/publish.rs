//! A publish: from a message in full to its place in the batch, or in a transaction.

use std::sync::Arc;

use engine::publish::{Publish, PublishOptions};
use engine::router::Routing;
use engine::targets::Targets;
use message::{History, View};
use model::refusal::{self, Outcome};
use store::Kind;

use super::incoming::Incoming;
use super::lane::Lane;
use super::last_route::LastRoute;
use super::tracer::OF_BATCHES;
use super::transaction::PendingTarget;
use super::{Confirm, Front, Protocol};
use crate::limits::CACHED_TARGET_COUNT;
use crate::permissions::Permitted;
use crate::publish_properties::{ParsedProperties, hidden_keys_of, sender_selected_keys};
use crate::reply_to;
use crate::statistics::ChannelNumber;
use crate::trace_points::ROUTE;

/// What a message says of itself. Large: what is needed of it is kept, not the view, and where more is needed it is read again.
#[inline(always)]
fn view_of<'a>(message: &Incoming<'a>) -> Outcome<View<'a>> {
    match message.header.view() {
        Some(view) => Ok(view),
        None => refusal::malformed("the properties of a message cannot be read"),
    }
}

impl<P: Protocol> Front<P> {
    /// Publishes a message on a lane: routes it, stores its content, and puts it into the batch (or the transaction). Refuses as
    /// [`RefusalKind::Malformed`](model::refusal::RefusalKind) properties that cannot be read.
    pub(crate) fn publish(&mut self, lane: &mut Lane<P::Lane>, message: &Incoming<'_>) -> Outcome<()> {
        let (options, is_special) = {
            let view = view_of(message)?;
            let parsed = self.access().check_properties(&view)?;
            (parsed.options, parsed.has_sender_selected || parsed.wants_fast_reply)
        };
        if is_special || (message.exchange.is_empty() && reply_to::is_address(message.routing_key)) {
            return self.publish_specially(lane, message);
        }
        // Whether a delayed one would be routable now is looked for each time.
        let is_known = !(options.is_delayed() && message.is_mandatory);
        let epoch = self.vhost().epoch();
        let is_same = |last: &mut Box<LastRoute>| is_known && last.is_for(epoch, message, options.is_delayed());
        match lane.last_route.take_if(is_same) {
            Some(last) => {
                self.store_publish(lane, message, &last.targets, options, &[]);
                lane.last_route = Some(last);
                Ok(())
            }
            None => self.publish_elsewhere(lane, message, options, is_known),
        }
    }

    /// Publishes a message whose route is not that of the lane's last.
    fn publish_elsewhere(
        &mut self,
        lane: &mut Lane<P::Lane>,
        message: &Incoming<'_>,
        options: PublishOptions,
        is_known: bool,
    ) -> Outcome<()> {
        let (epoch, is_delayed) = (self.vhost().epoch(), options.is_delayed());
        let known = match is_known {
            true => self.routes.of(is_delayed).get(epoch, message.exchange, message.routing_key).cloned(),
            false => None,
        };
        let targets = match known {
            Some(targets) => {
                LastRoute::remember(&mut lane.last_route, epoch, message, is_delayed, &targets);
                targets
            }
            None => self.route_afresh(message, &[message.routing_key], &view_of(message)?, is_delayed)?,
        };
        self.store_publish(lane, message, &targets, options, &[]);
        Ok(())
    }

    /// A publish with more than one routing key, or of a reply, or that asks for one.
    #[cold]
    fn publish_specially(&mut self, lane: &mut Lane<P::Lane>, message: &Incoming<'_>) -> Outcome<()> {
        let view = view_of(message)?;
        let parsed = self.access().check_properties(&view)?;
        if parsed.wants_fast_reply && lane.reply_consumer.is_none() {
            return refusal::precondition_failed("fast reply consumer does not exist");
        }
        if parsed.has_sender_selected || parsed.wants_fast_reply {
            return self.publish_rewritten(lane, message, &view, &parsed);
        }
        self.publish_reply(lane, message)
    }

    fn route_afresh(
        &mut self,
        message: &Incoming<'_>,
        routing_keys: &[&[u8]],
        view: &View<'_>,
        is_delayed: bool,
    ) -> Outcome<Arc<Targets>> {
        let exchange = message.exchange;
        let vhost = self.vhost().clone();
        // Read before the permission is: what is revoked in between must not be remembered as allowed.
        let epoch = vhost.epoch();
        let mut call = ROUTE.enter(|arguments| {
            arguments.text("vhost", vhost.name().as_str()).bytes("exchange", exchange);
            arguments.bytes("routing_key", message.routing_key);
        });
        let permitted = self.access().check_publish(exchange, routing_keys)?;
        let content = || {
            let ttl_ms = view.expiration().and_then(|text| std::str::from_utf8(text).ok()?.parse().ok());
            message.parts(self.turn.now_ms, History { ttl_ms, ..History::default() }).to_kept()
        };
        let routing = Routing { exchange, routing_keys, view, content: &content, is_delayed };
        let mut routed = self.access().route(permitted, &routing)?;
        if message.is_mandatory
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
            && !(is_delayed && message.is_mandatory)
            && targets.queues.len() <= CACHED_TARGET_COUNT
        {
            self.routes.of(is_delayed).insert(epoch, exchange, routing_key, targets.clone());
        }
        Ok(targets)
    }

    /// A message with CC or BCC headers, or a reply-to that has to be replaced: its properties are encoded anew.
    fn publish_rewritten(
        &mut self,
        lane: &mut Lane<P::Lane>,
        message: &Incoming<'_>,
        published: &View<'_>,
        parsed: &ParsedProperties<'_>,
    ) -> Outcome<()> {
        let mut routing_keys = vec![message.routing_key];
        let mut headers = parsed.headers.map(|headers| headers.to_owned());
        let mut hidden_keys = Vec::new();
        if let Some(table) = parsed.headers {
            sender_selected_keys(&table, &mut routing_keys)?;
            hidden_keys = hidden_keys_of(&table);
            if let Some(headers) = &mut headers {
                headers.remove(b"BCC");
            }
        }
        let address = lane.reply_consumer.as_ref().map(|consumer| consumer.address.clone());
        let mut view = published.with_headers(headers.as_ref().map(|headers| headers.as_table()));
        if parsed.wants_fast_reply {
            view = view.with_reply_to(address.as_deref().map(str::as_bytes));
        }
        let header = view.encode();
        let rewritten = Incoming { header: header.as_header(), ..*message };
        if message.exchange.is_empty() && reply_to::is_address(message.routing_key) {
            return self.publish_reply(lane, &rewritten);
        }
        let targets = self.route_afresh(&rewritten, &routing_keys, published, parsed.options.is_delayed())?;
        self.store_publish(lane, &rewritten, &targets, parsed.options, &hidden_keys);
        Ok(())
    }

    /// A reply to a direct reply-to consumer: it is sent to that consumer's connection, past all queues.
    fn publish_reply(&mut self, lane: &mut Lane<P::Lane>, message: &Incoming<'_>) -> Outcome<()> {
        let permitted = self.access().check_publish(message.exchange, &[message.routing_key])?;
        match &mut lane.tx {
            Some(tx) => {
                let parts = message.parts(self.turn.now_ms, History::default());
                tx.publish(&parts, message.is_mandatory, PendingTarget::Reply(permitted), PublishOptions::default());
            }
            None => self.send_reply(lane, message, permitted),
        }
        Ok(())
    }

    /// Sends a reply to where its routing key says.
    pub(super) fn send_reply(&mut self, lane: &mut Lane<P::Lane>, message: &Incoming<'_>, _permitted: Permitted) {
        if self.broker.engine.taps.want(OF_BATCHES) {
            self.report_reply_published(lane.number, message);
        }
        let content = self.content(message, History::default(), Kind::Transient);
        let is_there = self.broker.replies.send(self.vhost().name().as_str(), message.routing_key, content);
        if !is_there && message.is_mandatory {
            self.return_unroutable(lane, message);
        }
        let confirm_seq = lane.confirms.as_mut().map_or(0, |confirms| confirms.take_seq());
        self.confirm_now(lane, confirm_seq);
    }

    /// Publishes to queues: at once, or when the transaction is committed.
    #[inline(always)]
    fn store_publish(
        &mut self,
        lane: &mut Lane<P::Lane>,
        message: &Incoming<'_>,
        targets: &Arc<Targets>,
        options: PublishOptions,
        hidden_keys: &[u8],
    ) {
        let history = History { ttl_ms: options.ttl_ms, hidden_keys, ..History::default() };
        match &mut lane.tx {
            Some(tx) => {
                tx.publish(
                    &message.parts(self.turn.now_ms, history),
                    message.is_mandatory,
                    PendingTarget::Queues(targets.clone()),
                    options,
                );
            }
            None => self.publish_to(lane, message, targets, options, history),
        }
    }

    /// Copies the message into a chunk and puts it into the batch; or returns or drops it where no queue wants it.
    // Always, as with writing the parts: most of a history is not there, and is not even looked at then.
    #[inline(always)]
    pub(super) fn publish_to(
        &mut self,
        lane: &mut Lane<P::Lane>,
        message: &Incoming<'_>,
        targets: &Arc<Targets>,
        options: PublishOptions,
        history: History<'_>,
    ) {
        lane.counts.add(ChannelNumber::Published, 1);
        self.turn.counted.publish(message.body.len() as u64);
        let confirm_seq = lane.confirms.as_mut().map_or(0, |confirms| confirms.take_seq());
        if targets.is_empty() {
            if self.broker.engine.taps.want(OF_BATCHES) {
                // In parts: what is passed as a whole is written down as a whole, for each publish.
                self.report_unroutable(lane, message, targets, (history.ttl_ms, history.hidden_keys));
            }
            self.turn.counted.published_to_confirm += u64::from(confirm_seq != 0);
            if message.is_mandatory {
                self.return_unroutable(lane, message);
            } else {
                lane.counts.add(ChannelNumber::Dropped, 1);
                self.vhost().counters.stripe().dropped.add(1);
            }
            if let Some(counted) = &targets.counted {
                counted.exchange.published_in.add(1);
                self.broker.engine.statistics.exchanges.note(&counted.exchange);
            }
            if self.broker.engine.statistics.options.has_rates() {
                lane.note_places(targets, 1);
            }
            self.confirm_now(lane, confirm_seq);
            return;
        }
        if let Some(delay) = &targets.delay
            && delay.is_returned
        {
            // It waits nevertheless: that it was not routable then does not mean that it will not be.
            self.return_unroutable(lane, message);
        }
        let content = self.content(message, history, targets.kind(options.is_persistent));
        let publish = Publish::new(content, message.body.len(), options);
        self.batch.publish(targets, publish.confirmed_as(lane.number, confirm_seq));
    }

    #[inline(always)]
    fn content(&self, message: &Incoming<'_>, history: History<'_>, kind: Kind) -> store::Content {
        let parts = message.parts(self.turn.now_ms, history);
        self.broker.engine.chunks.write(kind, parts.len(), |out| parts.write(out))
    }

    /// Confirms a publish that no queue took. As in RabbitMQ each has an ack of its own, and waits for none before it: there are clients
    /// that count acks.
    fn confirm_now(&mut self, lane: &mut Lane<P::Lane>, confirm_seq: u64) {
        if confirm_seq == 0 {
            return;
        }
        P::put_confirm(&mut self.out, lane.number, Confirm::Accepted { seq: confirm_seq, is_multiple: false });
        lane.counts.add(ChannelNumber::Confirmed, 1);
        self.turn.counted.confirmed += 1;
    }

    /// Gives a message back to its publisher.
    fn return_unroutable(&mut self, lane: &mut Lane<P::Lane>, message: &Incoming<'_>) {
        lane.counts.add(ChannelNumber::Returned, 1);
        self.vhost().counters.stripe().returned.add(1);
        P::put_returned(&mut self.out, &self.agreed, lane.number, message);
    }
}
