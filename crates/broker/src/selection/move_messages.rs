//! Moving messages elsewhere, and sending dead letters back to where they came from.
//!
//! Messages are read and routed without locks. Under the locks of their own queue and of all that take them they are taken out there and
//! put in here, in one batch of the journal. A message stays where it is if no queue takes it, if one refuses it, or if it would come
//! back to the same queue.

use std::collections::BTreeMap;
use std::sync::Arc;

use amqp::table::{Table, Value};
use engine::Positions;
use model::name::{ExchangeName, QueueName};
use model::user::Access;
use queue::{Counts, SeenMessage, Take};

use super::limits::{ATTEMPT_COUNT_MAX, CARRIED_COUNT_MAX, CARRIED_LEN_MAX, MISSING_NAMES_MAX};
use super::sweep::Selected;
use super::{MessageId, Selection};
use crate::changed::Changed;
use crate::events::Event;
use crate::permissions::Permitted;
use crate::vhost_access::VhostAccess;
use engine::delayed::header;
use engine::publish::Publish;
use engine::publish::PublishOptions;
use engine::queue_handle::QueueHandle;
use engine::queued_message::QueuedMessage;
use engine::router::Routing;
use engine::targets::Targets;
use engine::transfer::{Arrival, Leave, Transfer};
use message::{History, Parts};
use model::refusal::{self, Outcome};

/// Where messages are moved to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    /// To this queue.
    Queue(QueueName),
    /// To the queues that this exchange has for them.
    Exchange {
        /// The exchange.
        exchange: ExchangeName,
        /// With this routing key; `None`: with their own.
        routing_key: Option<Vec<u8>>,
    },
}

/// To which of the queues in which they died dead letters are sent back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RedriveTo {
    /// To the one where that happened first.
    First,
    /// To the one where that happened last.
    Last,
}

/// What moving messages came to.
#[derive(Debug, Clone, Default)]
pub struct MoveReport {
    /// How many are elsewhere now.
    pub count: u64,
    /// How many stay because no queue would take them, or only the one they are in.
    pub unroutable_count: u64,
    /// How many stay because a queue is full and refuses more.
    pub refused_count: u64,
    /// How many stay because they are no dead letters. Only of a redrive.
    pub not_dead_count: u64,
    /// How many stay because they are in the queue already to which they would go. Only of a redrive.
    pub already_there_count: u64,
    /// Queues that no longer exist, each with how many would have been moved there; some of them if there are many. Only of a redrive.
    pub missing: BTreeMap<String, u64>,
    /// Where there may be more of them: it was too much for one request.
    pub next: Option<MessageId>,
    /// When that is durable.
    pub changed: Changed,
}

/// Which way messages go.
enum Way<'a> {
    Move(&'a Destination),
    /// To which of its queues, and the one that it is in now.
    Redrive(RedriveTo, &'a QueueName),
}

/// A message, and what is to become of it.
enum MoveOutcome {
    Goes(Box<Arrival>),
    Unroutable,
    NotDead,
    AlreadyThere,
    Missing(String),
}

/// What one locked section came to.
#[derive(Default)]
struct Section {
    count: u64,
    refused_count: u64,
    unroutable_count: u64,
    /// They lie in a segment by now.
    unread: Vec<SeenMessage<QueuedMessage>>,
}

impl VhostAccess {
    /// Moves ready messages of a queue elsewhere, in this vhost or in the one that `target` is inside.
    pub async fn move_messages(
        &self,
        queue: &QueueName,
        selection: &Selection,
        target: &VhostAccess,
        destination: &Destination,
    ) -> Outcome<MoveReport> {
        let source = self.retry_until_authorized(|access| access.queue_for(Access::Read, queue)).await?;
        let permitted = target.retry_until_authorized(|target| target.check_target(&source, destination)).await?;
        let moved = self.move_in_pieces(permitted.with(&source), selection, target, &Way::Move(destination)).await?;
        if moved.count > 0 {
            let (kind, name) = match destination {
                Destination::Queue(queue) => ("target_queue", queue.as_str()),
                Destination::Exchange { exchange, .. } => ("target_exchange", exchange.as_str()),
            };
            let vhost = target.vhost.name().as_str();
            self.emit(|| {
                Event::messages_moved(&source, moved.count).with_text("target_vhost", vhost).with_text(kind, name)
            });
        }
        Ok(moved)
    }

    /// Sends dead letters in a queue back to the queues in which they died. Others stay.
    pub async fn redrive(&self, queue: &QueueName, selection: &Selection, to: RedriveTo) -> Outcome<MoveReport> {
        let (source, republish) = self
            .retry_until_authorized(|access| {
                let republish = access.check_publish(b"", &[queue.as_bytes()])?;
                Ok((access.queue_for(Access::Read, queue)?, republish))
            })
            .await?;
        let moved = self.move_in_pieces(republish.with(&source), selection, self, &Way::Redrive(to, queue)).await?;
        if moved.count > 0 {
            self.emit(|| Event::messages_redriven(&source, moved.count));
        }
        Ok(moved)
    }

    fn check_target(&self, source: &QueueHandle, destination: &Destination) -> Outcome<Permitted> {
        let permitted = match destination {
            Destination::Queue(name) => {
                let permitted = self.check_publish(b"", &[name.as_bytes()])?;
                let target = self.own_queue(name)?;
                if target.id() == source.id() {
                    return refusal::precondition_failed(format!(
                        "the messages are in {} already",
                        target.definition.resource()
                    ));
                }
                permitted
            }
            Destination::Exchange { exchange, routing_key } => {
                let routing_key = routing_key.as_deref().unwrap_or_default();
                let permitted = self.check_publish(exchange.as_bytes(), &[routing_key])?;
                if !exchange.as_str().is_empty() {
                    match self.vhost.exchange(exchange.as_str()) {
                        None => return self.vhost.no_exchange(exchange.as_bytes()),
                        Some(definition) if definition.is_internal => {
                            return refusal::access_refused(format!(
                                "cannot publish to internal exchange '{}' in vhost '{}'",
                                exchange.as_str(),
                                self.vhost.name()
                            ));
                        }
                        Some(_) => {}
                    }
                }
                permitted
            }
        };
        Ok(permitted)
    }

    async fn move_in_pieces(
        &self,
        source: Permitted<&Arc<QueueHandle>>,
        selection: &Selection,
        target: &VhostAccess,
        way: &Way<'_>,
    ) -> Outcome<MoveReport> {
        if self.broker.engine.store.is_disk_full() {
            // As a publisher's, what is moved takes room before its old place is free.
            return refusal::precondition_failed("the disk is full: messages can be moved when there is room again");
        }
        let source = source.into_inner();
        let mut selected = Selected::new(&self.broker, source, selection);
        let mut moved = MoveReport::default();
        while let Some(mut seen) = selected.next(CARRIED_COUNT_MAX, CARRIED_LEN_MAX).await? {
            for attempt in 0..ATTEMPT_COUNT_MAX {
                let mut transfers = Vec::new();
                for seen in std::mem::take(&mut seen) {
                    match self.outcome_when_authorized(target, way, &seen).await? {
                        MoveOutcome::Goes(arrival) => {
                            transfers.push(Transfer { source: seen, arrival: Some(*arrival) })
                        }
                        MoveOutcome::Unroutable => moved.unroutable_count += 1,
                        MoveOutcome::NotDead => moved.not_dead_count += 1,
                        MoveOutcome::AlreadyThere => moved.already_there_count += 1,
                        MoveOutcome::Missing(name) => {
                            if moved.missing.len() < MISSING_NAMES_MAX || moved.missing.contains_key(&name) {
                                *moved.missing.entry(name).or_default() += 1;
                            }
                            moved.unroutable_count += 1;
                        }
                    }
                }
                let (section, position) = self.transfer(source, transfers)?;
                moved.count += section.count;
                moved.refused_count += section.refused_count;
                moved.unroutable_count += section.unroutable_count;
                moved.changed.position.add(position);
                if attempt + 1 == ATTEMPT_COUNT_MAX {
                    break;
                }
                for unread in section.unread {
                    seen.extend(selected.find_again(unread.position).await?);
                }
                if seen.is_empty() {
                    break;
                }
            }
            // Not faster than the disk: what is on its way takes memory.
            if !self.broker.engine.until_durable(moved.changed.position).await {
                // The caller gets this error when it waits for all of it.
                break;
            }
        }
        moved.next = selected.next_position();
        Ok(moved)
    }

    async fn outcome_when_authorized(
        &self,
        target: &VhostAccess,
        way: &Way<'_>,
        seen: &SeenMessage<QueuedMessage>,
    ) -> Outcome<MoveOutcome> {
        // Only keys of their own have to be asked about one by one.
        if let Way::Move(Destination::Exchange { routing_key: None, .. }) = way {
            return target.retry_until_authorized(|target| target.move_outcome(way, seen)).await;
        }
        target.move_outcome(way, seen)
    }

    /// The destination of a message, rewritten as it arrives there.
    fn move_outcome(&self, way: &Way<'_>, seen: &SeenMessage<QueuedMessage>) -> Outcome<MoveOutcome> {
        let Some(parts) = Parts::read(seen.message.content().bytes()) else { return Ok(MoveOutcome::Unroutable) };
        let Some(view) = parts.header.view() else { return Ok(MoveOutcome::Unroutable) };
        let headers = view.headers();
        let (exchange, routing_key): (&[u8], &[u8]) = match way {
            Way::Move(Destination::Queue(queue)) => (b"", queue.as_bytes()),
            Way::Move(Destination::Exchange { exchange, routing_key }) => {
                if routing_key.is_none() {
                    let _: Permitted = self.check_publish(exchange.as_bytes(), &[parts.routing_key])?;
                }
                (exchange.as_bytes(), routing_key.as_deref().unwrap_or(parts.routing_key))
            }
            Way::Redrive(to, source) => match queue_of_death(headers, *to) {
                None => return Ok(MoveOutcome::NotDead),
                Some(queue) if queue == source.as_bytes() => return Ok(MoveOutcome::AlreadyThere),
                Some(queue) if self.vhost.queue(queue).is_none() => {
                    return Ok(MoveOutcome::Missing(String::from_utf8_lossy(queue).into_owned()));
                }
                Some(queue) => (b"", queue),
            },
        };
        let has_died = parts.history.has_died;
        let ttl_ms = parts.history.ttl_ms;
        // Keys in CC and BCC were for where it was published.
        let history = History { ttl_ms, counts: Counts::default(), has_died, has_lost_copies: true, hidden_keys: b"" };
        let published_at_ms = self.broker.engine.clock.now_ms();
        let arriving =
            Parts { published_at_ms, history, exchange, routing_key, header: parts.header, body: parts.body };
        let content = || arriving.to_kept();
        let due_ms = header::delay_in(headers).map(|delay_ms| self.broker.engine.clock.due_ms(delay_ms));
        let is_delayed = due_ms.is_some();
        let routing = Routing { exchange, routing_keys: &[routing_key], view: &view, content: &content, is_delayed };
        let targets = self.vhost.route(&routing)?.targets;
        if targets.is_empty() {
            return Ok(MoveOutcome::Unroutable);
        }
        let is_persistent = view.is_persistent();
        let content =
            self.broker.engine.chunks.write(targets.kind(is_persistent), arriving.len(), |out| arriving.write(out));
        let options = PublishOptions { is_persistent, ttl_ms, priority: view.priority(), due_ms: due_ms.unwrap_or(0) };
        let publish = Publish::new(content, parts.body.len(), options);
        Ok(MoveOutcome::Goes(Box::new(Arrival { publish, targets: Arc::new(targets) })))
    }

    /// Takes messages out of their queue and puts them where they go.
    fn transfer(
        &self,
        source: &Arc<QueueHandle>,
        mut transfers: Vec<Transfer<SeenMessage<QueuedMessage>>>,
    ) -> Outcome<(Section, Positions)> {
        let mut mover = FromQueue { source, section: None };
        let committed = self.broker.engine.transfer(&mut transfers, source.shard_bit(), &mut mover);
        match mover.section {
            Some(section) => Ok((section, committed.position)),
            None => refusal::not_found(format!("no {}", source.definition.resource())),
        }
    }
}

/// Messages that an operator moves leave their queue, if all that they go to takes them.
struct FromQueue<'a> {
    source: &'a QueueHandle,
    /// `None`: the queue is deleted.
    section: Option<Section>,
}

impl Leave<SeenMessage<QueuedMessage>> for FromQueue<'_> {
    fn begin(&mut self, locked: &mut engine::section::Section<'_, '_>) {
        self.section = locked.queue(self.source).map(|_| Section::default());
    }

    fn leave(
        &mut self,
        locked: &mut engine::section::Section<'_, '_>,
        transfer: &mut Transfer<SeenMessage<QueuedMessage>>,
    ) -> bool {
        let (Some(section), Some(Arrival { publish, targets })) = (&mut self.section, &mut transfer.arrival) else {
            return false;
        };
        match welcome(locked, self.source, publish, targets) {
            Welcome::None => section.unroutable_count += 1,
            Welcome::Refused => section.refused_count += 1,
            // It would be lost.
            Welcome::All if locked.would_be_dropped(publish, targets) => section.refused_count += 1,
            Welcome::All => {
                let Some((entry, work)) = locked.queue(self.source) else { return false };
                match work.take_seen(entry, &transfer.source) {
                    Take::Missing => {}
                    Take::Unread(_) => section.unread.push(transfer.source.clone()),
                    Take::Taken(held) => {
                        let seq = transfer.source.position.seq;
                        work.note_by_operator(&entry.handle.clone(), seq, &held, Some(targets));
                        work.let_go(entry, [(transfer.source.position.seq, held)]);
                        locked.touch(self.source);
                        section.count += 1;
                        return true;
                    }
                }
            }
        }
        false
    }
}

/// Which queues take a message in.
enum Welcome {
    All,
    /// A queue is full.
    Refused,
    /// There is none, or it would come back to where it is.
    None,
}

fn welcome(
    locked: &mut engine::section::Section<'_, '_>,
    source: &QueueHandle,
    publish: &Publish,
    targets: &Targets,
) -> Welcome {
    let mut is_there = false;
    for queue in &targets.queues {
        if queue.id() == source.id() {
            return Welcome::None;
        }
        let Some((entry, _)) = locked.queue(queue) else { continue };
        if entry.queue.refuses(publish.body_len) {
            return Welcome::Refused;
        }
        is_there = true;
    }
    let sets = targets.delay.iter().flat_map(|delay| delay.sets.iter());
    let is_kept = sets.into_iter().any(|set| locked.takes_delayed(set));
    if is_there || is_kept { Welcome::All } else { Welcome::None }
}

/// The queue in which a message died first, or last.
fn queue_of_death<'a>(headers: Option<Table<'a>>, to: RedriveTo) -> Option<&'a [u8]> {
    let headers = headers?;
    let name = match to {
        RedriveTo::First => "x-first-death-queue",
        RedriveTo::Last => "x-last-death-queue",
    };
    let text = |value: Value<'a>| match value {
        Value::LongStr(text) => Some(text),
        _ => None,
    };
    if let Some(queue) = headers.get(name).and_then(text) {
        return Some(queue);
    }
    // Brokers before RabbitMQ 3.13 name no last one.
    let Some(Value::Array(deaths)) = headers.get("x-death") else { return None };
    let mut deaths = deaths.iter().filter_map(|death| match death {
        Value::Table(death) => death.get("queue").and_then(text),
        _ => None,
    });
    match to {
        RedriveTo::First => deaths.last(),
        RedriveTo::Last => deaths.next(),
    }
}
