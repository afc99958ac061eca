//! Attempts to log in, counted by the way they came.

use crate::identity::Interface;

/// How often clients tried to log in, by the way they came.
#[derive(Debug, Default)]
pub(crate) struct AuthAttempts {
    amqp: Outcomes,
    http: Outcomes,
}

/// How that went.
#[derive(Debug, Default)]
pub(crate) struct Outcomes {
    pub(crate) succeeded: telemetry::Counter,
    pub(crate) failed: telemetry::Counter,
}

impl AuthAttempts {
    pub(crate) fn of(&self, interface: Interface) -> &Outcomes {
        match interface {
            Interface::Http => &self.http,
            // There are no logins at the control socket, and the broker itself never logs in.
            Interface::Amqp | Interface::ControlSocket | Interface::Broker => &self.amqp,
        }
    }

    /// From zero again.
    pub(crate) fn reset(&self) {
        for outcomes in [&self.amqp, &self.http] {
            outcomes.succeeded.reset();
            outcomes.failed.reset();
        }
    }
}

impl Outcomes {
    pub(crate) fn count(&self, has_succeeded: bool) {
        if has_succeeded { &self.succeeded } else { &self.failed }.add(1);
    }
}
