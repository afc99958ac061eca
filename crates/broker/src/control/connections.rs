//! Connections, closed by an operator.

use super::{ControlError, not_found};
use crate::broker::Broker;
use crate::connections::ConnectionHandle;
use crate::events::Event;
use crate::identity::Actor;
use engine::outbox::ConnectionEvent;

impl Broker {
    /// Closes the connection of this name.
    pub fn close_connection(&self, actor: &Actor, name: &str, reason: &str) -> Result<(), ControlError> {
        let found = self.connections.all().into_iter().find(|connection| connection.name() == name);
        let Some(connection) = found else { return not_found(format!("no connection '{name}'")) };
        connection.outbox.notify(ConnectionEvent::Close { reason: reason.to_owned() });
        let event = Event::new("connection.close.requested").with_text("name", name).with_text("reason", reason);
        self.emit_by(actor, event);
        Ok(())
    }

    /// Closes all connections of a user. Says how many there were.
    pub fn close_connections_of(&self, actor: &Actor, user: &str, reason: &str) -> usize {
        self.close_connections_that(actor, |connection| connection.is_of(user), reason)
    }

    /// Closes all connections. Says how many there were.
    pub fn close_all_connections(&self, actor: &Actor, reason: &str) -> usize {
        self.close_connections_that(actor, |_| true, reason)
    }

    fn close_connections_that(
        &self,
        actor: &Actor,
        is_meant: impl Fn(&ConnectionHandle) -> bool,
        reason: &str,
    ) -> usize {
        let all = self.connections.all();
        let meant: Vec<_> = all.iter().filter(|connection| is_meant(connection)).collect();
        for connection in &meant {
            connection.outbox.notify(ConnectionEvent::Close { reason: reason.to_owned() });
            let name = connection.name();
            let event = Event::new("connection.close.requested").with_text("name", &name).with_text("reason", reason);
            self.emit_by(actor, event);
        }
        meant.len()
    }
}
