//! Sums over objects of a kind. None of them goes through queues: what a scrape of the whole node costs is the same with ten
//! queues and with a hundred thousand.

use broker::Broker;
use broker::statistics::numbers::CHANNEL;
use broker::statistics::{OfType, VhostMessages};
use broker::view::ChannelView;

/// Sums over everything on the node.
pub(crate) struct Sums {
    pub(crate) queue_count: u64,
    /// What has happened to messages, in deleted vhosts, too.
    pub(crate) messages: VhostMessages,
    /// The same, out of queues of all types.
    pub(crate) handed: OfType,
    pub(crate) channels: Channels,
    pub(crate) connections: Connections,
}

/// Sums over channels that are open.
#[derive(Debug, Default)]
pub(crate) struct Channels {
    pub(crate) count: u64,
    /// Those that have published.
    pub(crate) publisher_count: u64,
    pub(crate) consumer_count: u64,
    pub(crate) unacked_count: u64,
    pub(crate) unconfirmed_count: u64,
    pub(crate) uncommitted_count: u64,
    pub(crate) uncommitted_ack_count: u64,
    pub(crate) prefetch_count: u64,
    pub(crate) global_prefetch_count: u64,
}

/// Connections.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    /// Those that are open and have been let in.
    pub(crate) count: u64,
    /// Reads and writes of all that there have been.
    pub(crate) received_count: u64,
    pub(crate) sent_count: u64,
}

impl Sums {
    pub(crate) fn of(broker: &Broker) -> Sums {
        let connections = broker.connection_views();
        let mut channels = Channels::default();
        for channel in connections.iter().flat_map(|connection| broker.channels_of(connection)) {
            channels.add(&channel);
        }
        let messages = broker.all_messages();
        let (received_count, sent_count) = broker.traffic_count();
        let count = connections.iter().filter(|connection| connection.opened().is_some()).count() as u64;
        Sums {
            queue_count: broker.queue_count() as u64,
            messages,
            handed: messages.handed(),
            channels,
            connections: Connections { count, received_count, sent_count },
        }
    }

    /// Messages that wait.
    pub(crate) fn ready_count(&self) -> u64 {
        present(self.messages.ready_count)
    }

    /// Messages that are handed out and not settled.
    pub(crate) fn unacked_count(&self) -> u64 {
        present(self.messages.unacked_count)
    }

    /// Consumers of all queues.
    pub(crate) fn consumer_count(&self) -> u64 {
        present(self.messages.consumer_count)
    }

    /// Messages that were published.
    pub(crate) fn published_count(&self) -> u64 {
        self.messages.sizes.count()
    }
}

/// How many there are of what threads add to and take from, each for itself: for an instant one may have taken away what another is about
/// to add.
fn present(count: u64) -> u64 {
    count.cast_signed().max(0).cast_unsigned()
}

impl Channels {
    fn add(&mut self, channel: &ChannelView) {
        self.count += 1;
        self.publisher_count += u64::from(channel.numbers().now[PUBLISHED] > 0);
        self.consumer_count += channel.consumer_count;
        self.unacked_count += channel.unacked_count;
        self.unconfirmed_count += channel.unconfirmed_count;
        self.uncommitted_count += channel.uncommitted_count;
        self.uncommitted_ack_count += channel.uncommitted_ack_count;
        self.prefetch_count += channel.prefetch_count;
        self.global_prefetch_count += channel.global_prefetch_count;
    }
}

/// The place of what a channel has published among its numbers.
const PUBLISHED: usize = 0;
const _: () = assert!(matches!(CHANNEL[PUBLISHED].as_bytes(), b"publish"), "a channel's first number");
