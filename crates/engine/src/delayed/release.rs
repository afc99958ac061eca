//! The way out: what is due is routed by the bindings of now, and moves from its set to its queues in one batch of the journal.

use std::sync::Arc;

use message::{HeaderBuf, History, Parts, Patch, kept};
use queue::{DelayId, Progress, SettledDelays};
use routing::Epoch;
use store::Content;

use super::DelaySet;
use super::header::{DelayOver, with_delay_over};
use crate::dead_letters::copied_keys;
use crate::engine::Engine;
use crate::publish::{Publish, PublishOptions};
use crate::queued_message::QueuedMessage;
use crate::router::{Routing, VhostRouter};
use crate::section::Section;
use crate::tap::{Kind, NoteOf};
use crate::targets::Targets;
use crate::trace_points::RELEASE;
use crate::transfer::{Arrival, Leave, Transfer};

/// Messages that are released at once: locks are held for no more, and others' timers wait for no more.
const RELEASED_COUNT_MAX: usize = 1024;
/// Messages that are released in a millisecond as long as consumers of one of their queues would take more than they get: what is
/// released waits for them in its queue, where it may even have to be written to a segment once more, and releasing it takes the
/// processor's time from them.
const RELEASED_COUNT_LAGGING: usize = 128;
/// How long what is due waits for a disk that is full, before it is looked at again.
const HELD_FOR_MS: u64 = 1_000;
/// A first message that is so late is a sign that messages come in faster than they leave, perhaps because consumers are behind.
const BEHIND_MS: u64 = 20;

/// What became of the last message, for the next that is like it: then nothing of its header is looked at.
struct LastRoute {
    epoch: Epoch,
    routing_key: Vec<u8>,
    header: HeaderBuf,
    changes: Changes,
    targets: Arc<Targets>,
}

/// What a header says of a message that is released, and what is changed in it.
struct Changes {
    delay_over: DelayOver,
    is_persistent: bool,
    priority: Option<u8>,
}

/// Releases what is due, as much as may be at once, and has the set looked after again when there is more. `timer_at_ms`: which of its
/// timers it was; one that an earlier has replaced does nothing.
pub(crate) fn release_due(engine: &Engine, set: &Arc<DelaySet>, timer_at_ms: u64) {
    let _call = RELEASE.enter(|arguments| {
        arguments.text("exchange", &set.name()).text("vhost", set.vhost());
    });
    let now_ms = engine.clock.now_ms();
    if engine.store.is_disk_full() {
        // As a publisher's, a message that is released takes room before what it was in is free.
        set.with(|state| state.put_off(set, engine, timer_at_ms, now_ms + HELD_FOR_MS));
        return;
    }
    let rate = set.release_rate();
    let (mut due, mut asks) = (Vec::new(), Vec::new());
    let is_replaced = set.with(|state| {
        if state.timer_at_ms != timer_at_ms {
            return true;
        }
        state.timer_at_ms = 0;
        let count_max = if state.lagged_at_ms > 0 { RELEASED_COUNT_LAGGING } else { RELEASED_COUNT_MAX };
        let count_max = state.pace.allowed(rate, count_max, now_ms);
        let progress = state.delays.release(now_ms, count_max, &mut due, &mut asks);
        state.pace.note_released(rate, due.len());
        let is_late = |due_ms: u64| due_ms.saturating_add(BEHIND_MS) < now_ms;
        let is_behind = rate.is_none() && progress != Progress::Done && state.delays.next_due_ms().is_some_and(is_late);
        state.flow.note_released(due.len(), is_behind);
        false
    });
    if is_replaced {
        return;
    }
    asks.drain(..).for_each(|ask| engine.store.load(ask.generation, ask.load));
    move_on(engine, set, due);
}

/// Brings messages that are leaving a set to their queues.
fn move_on(engine: &Engine, set: &Arc<DelaySet>, leaving: Vec<(DelayId, QueuedMessage)>) {
    let now_ms = engine.clock.now_ms();
    let vhost = engine.router.vhost(&set.site.vhost);
    let mut last = None;
    let mut transfers: Vec<Transfer<DelayId>> = leaving
        .into_iter()
        .map(|(id, held)| {
            let content = held.into_content();
            let arrival = vhost.as_ref().and_then(|vhost| route(engine, &**vhost, set, &content, now_ms, &mut last));
            Transfer { source: id, arrival }
        })
        .collect();
    let ids = transfers.iter().map(|transfer| transfer.source).collect();
    let mut mover = FromSet { engine, set, vhost, now_ms, ids, settled: SettledDelays::default(), released_count: 0 };
    engine.with_work(|work| work.transfer(&mut transfers, 0, vec![set.clone()], &mut mover));
}

/// Delayed messages leave their set for good.
struct FromSet<'a> {
    engine: &'a Engine,
    set: &'a Arc<DelaySet>,
    vhost: Option<Arc<dyn VhostRouter>>,
    now_ms: u64,
    /// Those that are released.
    ids: Vec<DelayId>,
    /// Freed when the locks are released.
    settled: SettledDelays<QueuedMessage>,
    released_count: u64,
}

impl Leave<DelayId> for FromSet<'_> {
    fn begin(&mut self, section: &mut Section<'_, '_>) {
        self.settled = section.locked.sets.get(self.set).settle(self.set, section.work, self.ids.drain(..));
    }

    fn leave(&mut self, section: &mut Section<'_, '_>, transfer: &mut Transfer<DelayId>) -> bool {
        // The exchange may have been deleted meanwhile, and its messages with it.
        if self.settled.messages.binary_search_by_key(&transfer.source, |(id, _)| *id).is_err() {
            return false;
        }
        self.released_count += 1;
        if section.work.wanted.has(Kind::Released) {
            let found = self.settled.messages.binary_search_by_key(&transfer.source, |(id, _)| *id).ok();
            let content = found.and_then(|at| self.settled.messages[at].1.known_content());
            let targets = transfer.arrival.as_ref().map(|arrival| arrival.targets.clone());
            section.work.note_delayed(self.set, content, NoteOf::Released(targets));
        }
        if let (None, Some(vhost)) = (&transfer.arrival, &self.vhost) {
            vhost.counters().stripe().dropped.add(1);
            self.engine.statistics.vhosts.note(vhost.counters());
        }
        true
    }

    fn end(&mut self, section: &mut Section<'_, '_>, consumers_lag: bool) {
        self.set.released.add(self.released_count);
        self.engine.statistics.released.add(self.released_count);
        let state = section.locked.sets.get(self.set);
        if self.released_count > 0 {
            state.lagged_at_ms = if consumers_lag { self.now_ms } else { 0 };
        }
        state.set_timer(self.set, section.work);
    }
}

/// The message as it enters its queues, and these. `None` if there are none.
fn route(
    engine: &Engine,
    vhost: &dyn VhostRouter,
    set: &DelaySet,
    content: &Content,
    now_ms: u64,
    last: &mut Option<LastRoute>,
) -> Option<Arrival> {
    let parts = Parts::read(content.bytes())?;
    if !last.as_ref().is_some_and(|last| last.is_like(vhost, &parts)) {
        *last = None;
        let (changes, targets, cacheable_at) = look_up(vhost, set, &parts, now_ms)?;
        match cacheable_at {
            Some(epoch) if parts.history == History::default() => {
                let (routing_key, header) = (parts.routing_key.to_vec(), parts.header.to_owned());
                *last = Some(LastRoute { epoch, routing_key, header, changes, targets });
            }
            _ => return released(engine, &parts, now_ms, &changes, &targets),
        }
    }
    let LastRoute { changes, targets, .. } = last.as_ref()?;
    released(engine, &parts, now_ms, changes, targets)
}

impl LastRoute {
    fn is_like(&self, vhost: &dyn VhostRouter, parts: &Parts<'_>) -> bool {
        self.header.as_header() == parts.header
            && self.routing_key == parts.routing_key
            && parts.history == History::default()
            && self.epoch == vhost.epoch()
    }
}

/// What is to be changed in a message's header, where it is routed from now on, and for how long others like it are routed there.
fn look_up(
    vhost: &dyn VhostRouter,
    set: &DelaySet,
    parts: &Parts<'_>,
    now_ms: u64,
) -> Option<(Changes, Arc<Targets>, Option<Epoch>)> {
    let view = parts.header.view()?;
    let copies = if parts.history.has_lost_copies { Vec::new() } else { copied_keys(view.headers()) };
    let only = [parts.routing_key];
    let mut many = Vec::new();
    let routing_keys = if copies.is_empty() && parts.history.hidden_keys.is_empty() {
        &only[..]
    } else {
        many.extend(only.into_iter().chain(copies).chain(parts.history.hidden_keys()));
        &many
    };
    let delay_over = with_delay_over(&view, parts.header);
    let content = || {
        let (parts, patch) = changed(parts, now_ms, &delay_over);
        kept(parts.len(), |out| write(&parts, patch, out))
    };
    let routing =
        Routing { exchange: &set.site.exchange, routing_keys, view: &view, content: &content, is_delayed: false };
    // An exchange that is not there is as good as one without bindings.
    let routed = vhost.route_released(&routing)?;
    let is_persistent = view.is_persistent();
    let changes = Changes { delay_over, is_persistent, priority: view.priority() };
    Some((changes, Arc::new(routed.targets), routed.cacheable_at))
}

/// The message as it enters these queues. `None` if there are none.
fn released(
    engine: &Engine,
    parts: &Parts<'_>,
    now_ms: u64,
    changes: &Changes,
    targets: &Arc<Targets>,
) -> Option<Arrival> {
    if targets.is_empty() {
        return None;
    }
    let Changes { delay_over, is_persistent, priority } = changes;
    let (is_persistent, priority) = (*is_persistent, *priority);
    let (parts, patch) = changed(parts, now_ms, delay_over);
    let content = engine.chunks.write(targets.kind(is_persistent), parts.len(), |out| write(&parts, patch, out));
    let options = PublishOptions { is_persistent, ttl_ms: parts.history.ttl_ms, priority, due_ms: 0 };
    Some(Arrival { publish: Publish::new(content, parts.body.len(), options), targets: targets.clone() })
}

/// The parts of a message as it enters its queues, but for some bytes of its header.
fn changed<'a>(parts: &Parts<'a>, now_ms: u64, delay_over: &'a DelayOver) -> (Parts<'a>, Option<&'a Patch>) {
    let (header, patch) = match delay_over {
        DelayOver::InPlace(patch) => (parts.header, Some(patch)),
        DelayOver::Anew(header) => (header.as_header(), None),
        DelayOver::Nothing => (parts.header, None),
    };
    (Parts { published_at_ms: now_ms, header, ..*parts }, patch)
}

fn write(parts: &Parts<'_>, patch: Option<&Patch>, out: &mut [u8]) {
    parts.write(out);
    if let Some(patch) = patch {
        patch.apply(parts.header_in(out));
    }
}
