//! A connection's channels by number.

use crate::channel::Channel;

/// Looked up by index: numbers are small, and clients count from one.
#[derive(Debug, Default)]
pub(crate) struct Channels {
    slots: Vec<Option<Box<Channel>>>,
    /// Those that somebody may have changed since the last [`Channels::report`].
    changed: Vec<u16>,
}

impl Channels {
    #[inline]
    pub(crate) fn get_mut(&mut self, number: u16) -> Option<&mut Channel> {
        let channel = self.slots.get_mut(usize::from(number))?.as_deref_mut()?;
        note(&mut self.changed, channel);
        Some(channel)
    }

    pub(crate) fn is_open(&self, number: u16) -> bool {
        self.slots.get(usize::from(number)).is_some_and(|slot| slot.is_some())
    }

    /// Takes a channel out, to work on it beside the rest of the session; [`Channels::put`] brings it back.
    #[inline]
    pub(crate) fn take(&mut self, number: u16) -> Option<Box<Channel>> {
        self.slots.get_mut(usize::from(number))?.take()
    }

    #[inline(always)]
    pub(crate) fn put(&mut self, mut channel: Box<Channel>) {
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

    /// Forgets where messages went last: it has to be looked up again.
    pub(crate) fn forget_routes(&mut self) {
        self.slots.iter_mut().flatten().for_each(|channel| channel.last_route = None);
    }

    /// Writes down how things stand on the channels that may have changed, for listings.
    pub(crate) fn report(&mut self) {
        for number in std::mem::take(&mut self.changed) {
            if let Some(channel) = self.slots.get_mut(usize::from(number)).and_then(|slot| slot.as_deref_mut()) {
                channel.report();
            }
        }
    }

    /// How many are open, without those that wait for close-ok.
    pub(crate) fn open_count(&self) -> usize {
        self.slots.iter().flatten().filter(|channel| !channel.is_closing).count()
    }

    pub(crate) fn take_all(&mut self) -> impl Iterator<Item = Box<Channel>> + use<> {
        std::mem::take(&mut self.slots).into_iter().flatten()
    }
}

#[inline]
fn note(changed: &mut Vec<u16>, channel: &mut Channel) {
    if !std::mem::replace(&mut channel.is_changed, true) {
        changed.push(channel.number);
    }
}
