//! A connection's channels by number.

use crate::channel::Channel;

/// Looked up by index: numbers are small, and clients count from one.
#[derive(Debug, Default)]
pub(crate) struct Channels {
    slots: Vec<Option<Box<Channel>>>,
    count: usize,
}

impl Channels {
    #[inline]
    pub(crate) fn get_mut(&mut self, number: u16) -> Option<&mut Channel> {
        self.slots.get_mut(usize::from(number))?.as_deref_mut()
    }

    /// Takes a channel out, to work on it beside the rest of the session; [`Channels::put`] brings it back.
    #[inline]
    pub(crate) fn take(&mut self, number: u16) -> Option<Box<Channel>> {
        let channel = self.slots.get_mut(usize::from(number))?.take()?;
        self.count -= 1;
        Some(channel)
    }

    #[inline]
    pub(crate) fn put(&mut self, channel: Box<Channel>) {
        let index = usize::from(channel.number);
        if index >= self.slots.len() {
            self.slots.resize_with(index + 1, || None);
        }
        let previous = self.slots[index].replace(channel);
        assert!(previous.is_none(), "a channel is opened once");
        self.count += 1;
    }

    /// How many are open.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    pub(crate) fn take_all(&mut self) -> impl Iterator<Item = Box<Channel>> + use<> {
        self.count = 0;
        std::mem::take(&mut self.slots).into_iter().flatten()
    }
}
