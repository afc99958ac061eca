//! Logging in: name and password against the users that the broker keeps.

use std::net::IpAddr;
use std::time::Instant;

use crate::broker::Broker;
use crate::events::Event;
use crate::identity::{Identity, Origin};
use crate::lockout::LockedOut;

/// Why somebody may not log in. For the log and for events: the client learns only that it may not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoginRefused {
    /// There is no such user.
    #[error("no user '{0}'")]
    NoUser(String),
    /// The password is another.
    #[error("wrong password for user '{0}'")]
    WrongPassword(String),
    /// The user may come from the host itself only.
    #[error("user '{0}' can only connect via localhost")]
    NotLocal(String),
    /// The user has failed too often lately.
    #[error("user '{0}' is locked out after too many failures")]
    UserLockedOut(String),
    /// The address has failed too often lately.
    #[error("address {0} is locked out after too many failures")]
    AddressLockedOut(IpAddr),
}

impl Broker {
    /// Logs somebody in by name and password.
    pub async fn log_in(&self, name: &str, password: &[u8], origin: &Origin) -> Result<Identity, LoginRefused> {
        self.log_in_now(name, password, origin)
    }

    /// As [`Broker::log_in`], where nobody has to be asked.
    pub(crate) fn log_in_now(&self, name: &str, password: &[u8], origin: &Origin) -> Result<Identity, LoginRefused> {
        self.log_in_with(name, Some(password), origin)
    }

    /// Logs somebody in whom a certificate names, which TLS has verified: that is the proof.
    pub(crate) fn log_in_certified(&self, name: &str, origin: &Origin) -> Result<Identity, LoginRefused> {
        self.log_in_with(name, None, origin)
    }

    fn log_in_with(&self, name: &str, password: Option<&[u8]>, origin: &Origin) -> Result<Identity, LoginRefused> {
        let now = Instant::now();
        let address = origin.peer.map(|peer| peer.ip().to_canonical());
        let result = self.try_log_in(name, password, origin, now);
        if let Some(address) = address {
            match &result {
                Ok(_) => self.lockout.note_success(name, address, now),
                Err(LoginRefused::NoUser(_) | LoginRefused::WrongPassword(_)) => {
                    self.lockout.note_failure(name, address, now);
                }
                Err(_) => {}
            }
        }
        self.auth_attempts.count(result.is_ok());
        self.emit(event_of(name, origin, result.as_ref().err()));
        result
    }

    fn try_log_in(
        &self,
        name: &str,
        password: Option<&[u8]>,
        origin: &Origin,
        now: Instant,
    ) -> Result<Identity, LoginRefused> {
        if let Some(peer) = origin.peer {
            let address = peer.ip().to_canonical();
            match self.lockout.check(name, address, now) {
                Ok(()) => {}
                Err(LockedOut::User) => return Err(LoginRefused::UserLockedOut(name.to_owned())),
                Err(LockedOut::Address) => return Err(LoginRefused::AddressLockedOut(address)),
            }
        }
        let Some(user) = self.users.get(name) else { return Err(LoginRefused::NoUser(name.to_owned())) };
        if password.is_some_and(|password| !user.verify(password)) {
            return Err(LoginRefused::WrongPassword(name.to_owned()));
        }
        if !origin.is_local() && self.options.loopback_users.iter().any(|local| local == name) {
            return Err(LoginRefused::NotLocal(name.to_owned()));
        }
        Ok(Identity::stored(user))
    }
}

fn event_of(name: &str, origin: &Origin, refused: Option<&LoginRefused>) -> Event {
    let event = match refused {
        None => Event::new("user.authentication.success"),
        Some(_) => Event::new("user.authentication.failure"),
    };
    let mut event = event.with_text("name", name).with_text("connection_type", origin.interface.name());
    if let Some(peer) = origin.peer {
        event = event.with_text("peer_host", &peer.ip().to_string()).with_number("peer_port", peer.port().into());
    }
    if let Some(refused) = refused {
        event = event.with_text("error", &refused.to_string());
    }
    event.from(*origin)
}

/// How often somebody tried to log in.
#[derive(Debug, Default)]
pub(crate) struct AuthAttempts {
    pub(crate) succeeded: telemetry::Counter,
    pub(crate) failed: telemetry::Counter,
}

impl AuthAttempts {
    fn count(&self, has_succeeded: bool) {
        if has_succeeded { &self.succeeded } else { &self.failed }.add(1);
    }
}
