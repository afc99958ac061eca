//! A connection's channels by number.

use amqp::frame::put_method;
use amqp::method::basic;
use model::ids::JournalPosition;

use crate::session::channel::Channel;
use crate::session::confirms::Standing;
use crate::statistics::{ChannelNumber, VhostCounters};

/// Looked up by index: numbers are small, and clients count from one.
#[derive(Debug, Default)]
pub(super) struct Channels {
    slots: Vec<Option<Box<Channel>>>,
    /// Those that may have changed since the last [`Channels::report`].
    changed: Vec<u16>,
    /// Those whose confirms have something to write or to wait for. Nearly always one: most connections publish on one at a time.
    confirming: Vec<u16>,
    /// Those that both sides have closed at once: the client's `close-ok` is yet to come.
    crossing: Vec<u16>,
}

impl Channels {
    #[inline]
    pub(super) fn get_mut(&mut self, number: u16) -> Option<&mut Channel> {
        let channel = self.slots.get_mut(usize::from(number))?.as_deref_mut()?;
        note(&mut self.changed, channel);
        Some(channel)
    }

    /// Bytes that they take.
    pub(super) fn memory_len(&self) -> usize {
        let channels = self.slots.iter().flatten().map(|channel| channel.memory_len()).sum::<usize>();
        channels + self.slots.capacity() * size_of::<Option<Box<Channel>>>()
    }

    pub(super) fn is_open(&self, number: u16) -> bool {
        self.slots.get(usize::from(number)).is_some_and(|slot| slot.is_some())
    }

    /// Both sides have closed a channel at once. It does not exist any more, and the client's `close-ok` is yet to come.
    pub(super) fn begin_crossing(&mut self, number: u16) {
        if !self.crossing.contains(&number) {
            self.crossing.push(number);
        }
    }

    /// That answer has come, if any was to.
    pub(super) fn end_crossing(&mut self, number: u16) -> bool {
        let found = self.crossing.iter().position(|crossing| *crossing == number);
        found.map(|at| self.crossing.swap_remove(at)).is_some()
    }

    /// Takes a channel out, to work on it beside the rest of the session; [`Channels::put`] brings it back.
    #[inline]
    pub(super) fn take(&mut self, number: u16) -> Option<Box<Channel>> {
        self.slots.get_mut(usize::from(number))?.take()
    }

    #[inline(always)]
    pub(super) fn put(&mut self, mut channel: Box<Channel>) {
        note(&mut self.changed, &mut channel);
        match self.slots.get_mut(usize::from(channel.number)) {
            Some(slot @ None) => *slot = Some(channel),
            _ => self.put_first(channel),
        }
    }

    fn put_first(&mut self, channel: Box<Channel>) {
        let index = usize::from(channel.number);
        assert!(index >= self.slots.len(), "a channel is opened once");
        self.slots.resize_with(index + 1, || None);
        self.slots[index] = Some(channel);
    }

    /// A publish that is to be confirmed has been refused by a queue, or is done once the journal is durable up to `position`.
    // Always: there are two who call it, and one of them does so for each message.
    #[inline(always)]
    pub(super) fn complete(&mut self, number: u16, seq: u64, is_refused: bool, position: Option<JournalPosition>) {
        let Some(channel) = self.get_mut(number) else { return };
        let Some(confirms) = &mut channel.confirms else { return };
        if is_refused {
            confirms.refuse(seq);
        } else {
            confirms.complete(seq, position);
        }
        if self.confirming.last() != Some(&number) && !self.confirming.contains(&number) {
            self.confirming.push(number);
        }
    }

    /// What has become of a publish that is to be confirmed.
    pub(super) fn standing(&self, number: u16, seq: u64) -> Standing {
        let channel = self.slots.get(usize::from(number)).and_then(|slot| slot.as_deref());
        let confirms = channel.and_then(|channel| channel.confirms.as_ref());
        confirms.map_or(Standing::Gone, |confirms| confirms.standing(seq))
    }

    /// Whether there are confirms to write or to wait for.
    #[inline]
    pub(super) fn are_confirming(&self) -> bool {
        !self.confirming.is_empty()
    }

    /// Writes the confirms that may leave. Gives how many publishes were confirmed, and the earliest position that others wait for.
    pub(super) fn write_confirms(
        &mut self,
        durable: JournalPosition,
        vhost: &VhostCounters,
        out: &mut Vec<u8>,
    ) -> (u64, Option<JournalPosition>) {
        let (mut confirmed, mut waits_for) = (0, None::<JournalPosition>);
        let mut confirming = std::mem::take(&mut self.confirming);
        confirming.retain(|&number| {
            let Some(channel) = self.get_mut(number) else { return false };
            let Some(confirms) = &mut channel.confirms else { return false };
            for delivery_tag in confirms.take_refused() {
                vhost.stripe().refused.add(1);
                put_method(out, number, &basic::Nack { delivery_tag, multiple: false, requeue: false });
            }
            let count = confirms.write(durable, |delivery_tag, multiple| {
                put_method(out, number, &basic::Ack { delivery_tag, multiple });
            });
            channel.counts.add(ChannelNumber::Confirmed, count);
            confirmed += count;
            let position = confirms.waits_for();
            waits_for = match (waits_for, position) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            };
            position.is_some()
        });
        self.confirming = confirming;
        (confirmed, waits_for)
    }

    /// Forgets where messages went last: it has to be looked up again.
    pub(super) fn forget_routes(&mut self) {
        self.slots.iter_mut().flatten().for_each(|channel| channel.last_route = None);
    }

    /// Writes down how things stand on the channels that may have changed, for listings.
    pub(super) fn report(&mut self) {
        for number in std::mem::take(&mut self.changed) {
            if let Some(channel) = self.slots.get_mut(usize::from(number)).and_then(|slot| slot.as_deref_mut()) {
                channel.report();
            }
        }
    }

    /// How many are open, without those that wait for close-ok.
    pub(super) fn open_count(&self) -> usize {
        self.slots.iter().flatten().filter(|channel| !channel.is_closing).count()
    }

    pub(super) fn take_all(&mut self) -> impl Iterator<Item = Box<Channel>> + use<> {
        self.confirming.clear();
        std::mem::take(&mut self.slots).into_iter().flatten()
    }
}

#[inline]
fn note(changed: &mut Vec<u16>, channel: &mut Channel) {
    if !std::mem::replace(&mut channel.is_changed, true) {
        changed.push(channel.number);
    }
}
