//! Connections and channels that a feed names. A name is looked for among all connections once; from then on they are known.

use std::collections::HashMap;

use broker::Broker;
use broker::view::{ChannelView, ConnectionView};

/// Which connections bear the names.
#[derive(Debug, Default)]
pub(super) struct WatchedConnections {
    /// None: there was none of this name, and names do not come back: they have the client's port.
    known: HashMap<String, Option<u64>>,
}

impl WatchedConnections {
    /// Looks for those that are not known yet.
    pub(super) fn look_for<'a>(&mut self, broker: &Broker, names: impl Iterator<Item = &'a str>) {
        let mut unknown: Vec<&str> = names.filter(|name| !self.known.contains_key(*name)).collect();
        if unknown.is_empty() {
            return;
        }
        // A connection may be wanted, and its channels, too.
        unknown.sort_unstable();
        unknown.dedup();
        for view in broker.connection_views() {
            let name = view.name();
            if let Some(at) = unknown.iter().position(|unknown| *unknown == name) {
                unknown.swap_remove(at);
                self.known.insert(name, Some(view.id()));
            }
        }
        self.known.extend(unknown.into_iter().map(|name| (name.to_owned(), None)));
    }

    /// The connection of a name.
    pub(super) fn find(&self, broker: &Broker, name: &str) -> Option<ConnectionView> {
        broker.connection_view_by_id((*self.known.get(name)?)?)
    }

    /// The channel of a name.
    pub(super) fn find_channel(&self, broker: &Broker, name: &str) -> Option<ChannelView> {
        let connection = self.find(broker, connection_of(name))?;
        broker.channels_of(&connection).into_iter().find(|channel| channel.name() == name)
    }
}

/// The name of the connection in the name of a channel: `127.0.0.1:4000 -> 127.0.0.1:5672 (1)`.
pub(super) fn connection_of(channel: &str) -> &str {
    channel.rsplit_once(" (").map_or(channel, |(connection, _)| connection)
}

#[cfg(test)]
mod tests {
    use super::connection_of;

    #[test]
    fn a_channel_names_its_connection() {
        let connection = "127.0.0.1:4000 -> 127.0.0.1:5672";
        assert_eq!(connection_of(&format!("{connection} (12)")), connection);
        assert_eq!(connection_of("x"), "x");
    }
}
