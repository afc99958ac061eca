//! An open connection's publishers, until it ends or they do.

use amqp::Method;
use amqp_client::{Connection, Event, Unconfirmed};

use super::open_channel;
use super::state::{Again, Phase, Publisher};
use super::turns::Turns;
use crate::engine::clock::{now_ns, ns};
use crate::engine::control::Stage;
use crate::engine::pacer::Timer;
use crate::engine::recorder::Recorder;
use crate::engine::serving::{ServeError, Waiter, WakeReason};
use crate::engine::worker::Local;
use crate::plan::Publishers;

/// Output beyond which publishers wait for the socket: one write carries that much.
pub(super) const OUTPUT_LEN: usize = 64 * 1024;

/// How the service of a connection ended.
pub(super) enum ServiceEnd {
    /// All publishers are done, or the run is.
    Done,
    /// It carried as many messages as it was to.
    WornOut,
}

/// Lets the publishers work until they are done, the connection is worn out or lost, or the run is over.
pub(super) async fn serve(
    connection: &mut Connection,
    publishers: &mut [Publisher],
    group: &Publishers,
    start: u64,
    local: &Local,
    timer: &mut Timer,
) -> Result<ServiceEnd, ServeError> {
    let mut on_connection = group.messages_per_connection.map_or(u64::MAX, u64::from);
    let stage = local.control.stage();
    if stage >= Stage::Draining {
        // It was opened too late.
        return Ok(ServiceEnd::Done);
    }
    let mut waiter = Waiter::new(local, timer, stage);
    let mut is_stopped = false;
    let mut blocked = BlockedGauge::new(local);
    let mut turns = Turns::default();
    for (at, publisher) in publishers.iter_mut().enumerate() {
        publisher.unconfirmed = Unconfirmed::new();
        publisher.is_full = false;
        turns.push(publisher.not_before, at);
    }
    loop {
        let mut wake_at = None;
        {
            let mut recorder = local.recorder.borrow_mut();
            take_events(connection, publishers, group, &mut turns, &mut recorder)?;
            blocked.set(connection.is_blocked().is_some());
            if !is_stopped && !blocked.is_set {
                wake_at = publish(connection, publishers, &mut turns, &mut recorder, start, &mut on_connection);
            }
        }
        let is_all_confirmed = publishers.iter().all(|publisher| publisher.unconfirmed.is_empty());
        if is_all_confirmed && connection.output_len() == 0 {
            if is_stopped || publishers.iter().all(|publisher| publisher.phase == Phase::Done) {
                return Ok(ServiceEnd::Done);
            }
            if on_connection == 0 {
                return Ok(ServiceEnd::WornOut);
            }
        }
        // A broker that has blocked the connection does not even read what it would confirm.
        let patience = group.confirm_timeout.filter(|_| !(is_all_confirmed || blocked.is_set));
        let patience_ends = patience.and_then(|patience| {
            let waits_since = publishers.iter().filter_map(Publisher::waits_since).min();
            waits_since.map(|since| since.max(blocked.until).saturating_add(ns(patience)))
        });
        if let (Some(patience), Some(_)) = (patience, patience_ends.filter(|ends| now_ns() >= *ends)) {
            let patience = patience.as_secs_f64();
            return Err(ServeError::Failed(format!("no confirm came for {patience} s")));
        }
        let wake_at = [wake_at, patience_ends].into_iter().flatten().min();
        match waiter.wait(connection, wake_at).await? {
            WakeReason::Socket | WakeReason::Time => {}
            WakeReason::Stage(stage) if stage >= Stage::Draining => {
                is_stopped = true;
                publishers.iter_mut().for_each(|publisher| publisher.stop(connection));
                if stage == Stage::Ended {
                    return Ok(ServiceEnd::Done);
                }
            }
            WakeReason::Stage(_) => {}
        }
    }
}

/// Takes all that has come, and asks the publishers that may go on by it.
fn take_events(
    connection: &mut Connection,
    publishers: &mut [Publisher],
    group: &Publishers,
    turns: &mut Turns,
    recorder: &mut Recorder,
) -> Result<(), ServeError> {
    while let Some(event) = connection.next_event()? {
        let channel = on_event(event, publishers, recorder)?;
        let Some(index) = channel.map(|channel| usize::from(channel).wrapping_sub(1)) else { continue };
        let Some(publisher) = publishers.get_mut(index) else { continue };
        match publisher.phase {
            Phase::Leaving => publisher.leave_channel(connection),
            Phase::Changing => {
                publisher.phase = Phase::Open;
                publisher.on_channel = 0;
                publisher.unconfirmed = Unconfirmed::new();
                open_channel(connection, publisher.channel, group);
            }
            Phase::Open | Phase::Done => {}
        }
        turns.push(0, index);
    }
    Ok(())
}

/// Publishes what is due. Returns when something will be.
fn publish(
    connection: &mut Connection,
    publishers: &mut [Publisher],
    turns: &mut Turns,
    recorder: &mut Recorder,
    start: u64,
    on_connection: &mut u64,
) -> Option<u64> {
    while connection.output_len() < OUTPUT_LEN && *on_connection > 0 {
        let at = turns.next_at()?;
        if at > now_ns() {
            return Some(at);
        }
        let index = turns.pop()?;
        match publishers[index].publish_due(connection, recorder, start, on_connection) {
            Again::At(at) => turns.push(at, index),
            Again::Later | Again::Never => {}
        }
    }
    if *on_connection == 0 {
        publishers.iter_mut().for_each(|publisher| publisher.commit_rest(connection));
    }
    None
}

/// Takes an event. Returns the channel whose publisher may go on.
fn on_event(
    event: Event<'_>,
    publishers: &mut [Publisher],
    recorder: &mut Recorder,
) -> Result<Option<u16>, ServeError> {
    match event {
        Event::Confirmed { channel, tag, is_multiple, is_ack } => {
            let Some(publisher) = publishers.get_mut(usize::from(channel).wrapping_sub(1)) else { return Ok(None) };
            let was_full = publisher.is_full;
            publisher.settle(tag, is_multiple, is_ack, recorder);
            let may_go_on = was_full || publisher.phase == Phase::Leaving;
            Ok((may_go_on && publisher.phase != Phase::Changing).then_some(channel))
        }
        Event::Returned { channel, .. } => {
            recorder.counts.returned += 1;
            if let Some(publisher) = publishers.get_mut(usize::from(channel).wrapping_sub(1)) {
                publisher.end.returned += 1;
            }
            Ok(None)
        }
        Event::Answered { channel, method: Method::ChannelCloseOk(_) } => Ok(Some(channel)),
        Event::ChannelClosed { close, .. } => Err(ServeError::channel_closed("publisher", &close)),
        _ => Ok(None),
    }
}

/// Counts this connection among those that the broker has blocked, as long as it is.
struct BlockedGauge<'a> {
    local: &'a Local,
    is_set: bool,
    /// When it was last blocked.
    until: u64,
}

impl<'a> BlockedGauge<'a> {
    fn new(local: &'a Local) -> Self {
        BlockedGauge { local, is_set: false, until: 0 }
    }

    fn set(&mut self, is_set: bool) {
        let gauge = &self.local.gauges.blocked;
        match (std::mem::replace(&mut self.is_set, is_set), is_set) {
            (false, true) => gauge.set(gauge.get() + 1),
            (true, false) => {
                self.until = now_ns();
                gauge.set(gauge.get().saturating_sub(1));
            }
            _ => {}
        }
    }
}

impl Drop for BlockedGauge<'_> {
    fn drop(&mut self) {
        self.set(false);
    }
}
