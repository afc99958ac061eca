//! Delayed messages: listed, looked at, cancelled, put off, released at once.

use std::sync::Arc;

use model::ids::{QueueId, QueueSeq};
use queue::{DelayId, Message};

use super::{ControlError, not_found};
use crate::broker::Broker;
use crate::changed::Changed;
use crate::selection::has_header;
use engine::delayed::DelaySet;
use engine::delayed::operators::Outcome;
use engine::queued_message::QueuedMessage;
use message::Parts;

/// Messages that are looked at for one page of a listing, or for one request to cancel.
const LOOKED_AT_COUNT_MAX: usize = 20_000;
/// Messages that are read at a time.
const READ_COUNT: usize = 256;

/// Which delayed messages are meant: those to which all of this applies.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DelayedFilter {
    /// Due at this time or later, in milliseconds since 1970.
    pub due_from_ms: Option<u64>,
    /// Due at this time or sooner, in milliseconds since 1970.
    pub due_to_ms: Option<u64>,
    /// With this routing key.
    pub routing_key: Option<Vec<u8>>,
    /// With this header, of any value or, shown as text, of this one.
    pub header: Option<(String, Option<String>)>,
}

/// A delayed message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DelayedMessage {
    /// By which it is found again. It changes when the message is put off.
    pub id: String,
    /// When it is due, in milliseconds since 1970.
    pub due_ms: u64,
    /// To which exchange it was published.
    pub exchange: Vec<u8>,
    /// With which routing key.
    pub routing_key: Vec<u8>,
    /// Its properties, encoded ([`amqp::content::Properties::decode`]).
    pub properties: Vec<u8>,
    /// How long its body is, in bytes.
    pub body_len: u64,
    /// Its body, if that was asked for.
    pub body: Option<Vec<u8>>,
    /// Whether it outlives a restart.
    pub is_durable: bool,
}

/// Some delayed messages, by when they are due.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DelayedPage {
    /// They.
    pub messages: Vec<DelayedMessage>,
    /// Behind which of them there may be more. It is None at the end.
    pub next: Option<String>,
}

/// What cancelling several came to.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cancelled {
    /// How many.
    pub count: u64,
    /// Whether there may be more of them: it was too much for one request.
    pub is_partial: bool,
    /// When that is durable.
    pub changed: Changed,
}

impl Broker {
    /// Some of what waits at an exchange, after the message `after` or from the first on.
    pub async fn delayed_page(
        &self,
        vhost: &str,
        exchange: &str,
        filter: &DelayedFilter,
        after: Option<&str>,
        count_max: usize,
    ) -> Result<DelayedPage, ControlError> {
        let set = self.delay_set(vhost, exchange)?;
        let after = after.map(parse_id).transpose()?;
        let mut page = DelayedPage::default();
        let mut visit = |id, held: &QueuedMessage| {
            if page.messages.len() == count_max {
                return false;
            }
            page.messages.extend(self.shown(id, held, false));
            true
        };
        let next = self.for_each_delayed(&set, filter, after, &mut visit).await?;
        page.next = next.map(show_id);
        Ok(page)
    }

    /// One that waits, with its body.
    pub async fn delayed_message(&self, vhost: &str, exchange: &str, id: &str) -> Result<DelayedMessage, ControlError> {
        let (set, id) = (self.delay_set(vhost, exchange)?, parse_id(id)?);
        match set.find(&self.engine, id).await.and_then(|held| self.shown(id, &held, true)) {
            Some(message) => Ok(message),
            None => no_message(id),
        }
    }

    /// Takes one out for good.
    pub async fn cancel_delayed(&self, vhost: &str, exchange: &str, id: &str) -> Result<Changed, ControlError> {
        let (set, id) = (self.delay_set(vhost, exchange)?, parse_id(id)?);
        match set.cancel(&self.engine, id).await {
            Outcome::Done(position, _) => Ok(Changed { is_new: false, position }),
            Outcome::Missing => no_message(id),
        }
    }

    /// Takes all of these out for good, or as many as one request may.
    pub async fn cancel_all_delayed(
        &self,
        vhost: &str,
        exchange: &str,
        filter: &DelayedFilter,
    ) -> Result<Cancelled, ControlError> {
        let set = self.delay_set(vhost, exchange)?;
        let mut ids = Vec::new();
        let mut visit = |id, _: &QueuedMessage| {
            ids.push(id);
            true
        };
        let next = self.for_each_delayed(&set, filter, None, &mut visit).await?;
        let mut cancelled = Cancelled { is_partial: next.is_some(), ..Cancelled::default() };
        for id in ids {
            // Another may have been quicker.
            if let Outcome::Done(position, _) = set.cancel(&self.engine, id).await {
                cancelled.count += 1;
                cancelled.changed.position.add(position);
            }
        }
        Ok(cancelled)
    }

    /// Has one be due at another time, in milliseconds since 1970. `None`: at once. Gives its new id.
    pub async fn reschedule_delayed(
        &self,
        vhost: &str,
        exchange: &str,
        id: &str,
        due_ms: Option<u64>,
    ) -> Result<(String, Changed), ControlError> {
        let (set, id) = (self.delay_set(vhost, exchange)?, parse_id(id)?);
        let due_ms = due_ms.map_or_else(|| self.engine.clock.now_ms(), |due_ms| self.engine.clock.meant_ms(due_ms));
        match set.put_off(&self.engine, id, due_ms).await {
            Outcome::Done(position, Some(new_id)) => Ok((show_id(new_id), Changed { is_new: false, position })),
            Outcome::Done(..) | Outcome::Missing => no_message(id),
        }
    }

    /// The time in milliseconds since 1970, by the clock that all waiting messages use: it continues as it did when the system's is set.
    #[must_use]
    pub fn now_ms(&self) -> u64 {
        self.engine.clock.now_ms()
    }

    /// What time it is by the system's clock, in milliseconds since 1970.
    #[must_use]
    pub fn system_ms(&self) -> u64 {
        self.engine.clock.shown_ms(self.engine.clock.now_ms())
    }

    fn shown(&self, id: DelayId, held: &QueuedMessage, with_body: bool) -> Option<DelayedMessage> {
        let parts = Parts::read(held.content().bytes())?;
        Some(DelayedMessage {
            id: show_id(id),
            due_ms: self.engine.clock.shown_ms(id.due_ms()),
            exchange: parts.exchange.to_vec(),
            routing_key: parts.routing_key.to_vec(),
            properties: parts.header.to_amqp091_properties().into_owned(),
            body_len: parts.body.len() as u64,
            body: with_body.then(|| parts.body.to_vec()),
            is_durable: held.is_journaled(),
        })
    }

    fn delay_set(&self, vhost: &str, exchange: &str) -> Result<Arc<DelaySet>, ControlError> {
        let set = self.vhosts.get(vhost).and_then(|vhost| vhost.delays_at(exchange));
        set.map_or_else(|| not_found(format!("exchange '{exchange}' in vhost '{vhost}' delays no messages")), Ok)
    }

    /// Visits messages until `visit` has had enough, or too many have been looked at. Says after which one there may be more.
    async fn for_each_delayed(
        &self,
        set: &DelaySet,
        filter: &DelayedFilter,
        after: Option<DelayId>,
        visit: &mut (dyn FnMut(DelayId, &QueuedMessage) -> bool + Send),
    ) -> Result<Option<DelayId>, ControlError> {
        let first = filter.due_from_ms.map(|due_ms| DelayId::before(self.engine.clock.meant_ms(due_ms)));
        let due_to_ms = filter.due_to_ms.map(|due_ms| self.engine.clock.meant_ms(due_ms));
        let mut after = match (after, first) {
            (Some(after), Some(first)) if after.due_ms() < first.due_ms() => Some(first),
            (after, first) => after.or(first),
        };
        let mut looked_at_count = 0;
        while looked_at_count < LOOKED_AT_COUNT_MAX {
            let Some(page) = set.page(&self.engine, after, READ_COUNT).await else { return Ok(None) };
            looked_at_count += READ_COUNT;
            for (id, held) in &page.messages {
                if due_to_ms.is_some_and(|due_to_ms| due_to_ms < id.due_ms()) {
                    return Ok(None);
                }
                if is_meant(filter, held) && !visit(*id, held) {
                    return Ok(after);
                }
                after = Some(*id);
            }
            if page.is_last && !page.is_interrupted {
                return Ok(None);
            }
        }
        Ok(after)
    }
}

/// Whether a message has what the filter wants besides its due time.
fn is_meant(filter: &DelayedFilter, held: &QueuedMessage) -> bool {
    if filter.routing_key.is_none() && filter.header.is_none() {
        return true;
    }
    let Some(parts) = Parts::read(held.content().bytes()) else { return false };
    if filter.routing_key.as_ref().is_some_and(|key| *key != parts.routing_key) {
        return false;
    }
    let Some((name, wanted)) = &filter.header else { return true };
    let view = parts.header.view();
    view.as_ref().and_then(|view| view.headers()).is_some_and(|headers| has_header(headers, name, wanted.as_deref()))
}

fn show_id(DelayId { generation, seq }: DelayId) -> String {
    format!("{}-{}", generation.0, seq.0)
}

fn parse_id(text: &str) -> Result<DelayId, ControlError> {
    let numbers =
        text.split_once('-').and_then(|(generation, seq)| Some((generation.parse().ok()?, seq.parse().ok()?)));
    match numbers {
        Some((generation, seq)) if generation < MAX_GENERATION => {
            Ok(DelayId { generation: QueueId(generation), seq: QueueSeq(seq) })
        }
        _ => super::invalid(format!("'{text}' is not the id of a delayed message")),
    }
}

/// Ids of generations are below this.
const MAX_GENERATION: u64 = 1 << 42;

fn no_message<T>(id: DelayId) -> Result<T, ControlError> {
    not_found(format!("no delayed message '{}' waits there", show_id(id)))
}
