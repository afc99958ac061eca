//! A connection's channels by number.

use crate::channel::Channel;

/// Looked up by index: numbers are small, and clients count from one.
#[derive(Debug, Default)]
pub(crate) struct Channels {
    slots: Vec<Option<Box<Channel>>>,
}

impl Channels {
    #[inline]
    pub(crate) fn get_mut(&mut self, number: u16) -> Option<&mut Channel> {
        self.slots.get_mut(usize::from(number))?.as_deref_mut()
    }

    /// Takes a channel out, to work on it beside the rest of the session; [`Channels::put`] brings it back.
    #[inline]
    pub(crate) fn take(&mut self, number: u16) -> Option<Box<Channel>> {
        self.slots.get_mut(usize::from(number))?.take()
    }

    #[inline]
    pub(crate) fn put(&mut self, channel: Box<Channel>) {
        let index = usize::from(channel.number);
        if index >= self.slots.len() {
            self.slots.resize_with(index + 1, || None);
        }
        let previous = self.slots[index].replace(channel);
        assert!(previous.is_none(), "a channel is opened once");
    }

    /// How many are open, without those that wait for close-ok.
    pub(crate) fn open_count(&self) -> usize {
        self.slots.iter().flatten().filter(|channel| !channel.is_closing).count()
    }

    pub(crate) fn take_all(&mut self) -> impl Iterator<Item = Box<Channel>> + use<> {
        std::mem::take(&mut self.slots).into_iter().flatten()
    }
}
