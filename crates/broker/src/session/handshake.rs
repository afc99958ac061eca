//! From the protocol header to connection.open-ok (AMQP 0-9-1, 2.2.4): who it is, and what both sides can do.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Instant, SystemTime};

use amqp::frame::put_method;
use amqp::limits::FRAME_LEN_MAX_INITIAL;
use amqp::method::{Method, connection};
use amqp::sasl;
use amqp::server::{ClientCapabilities, Violation, agree};
use model::config::AuthMechanism;
use model::user::Access;

use crate::backend::LoginAttempt;
use crate::certificate_login;
use crate::connections::{ConnectionState, Opened};
use crate::events::Event;
use crate::identity::{Actor, Identity};
use crate::limits::REFUSED_LOGIN_DELAY;
use crate::login::LoginRefused;
use crate::permissions::Resource;
use crate::refusal::{self, Outcome, Refusal};
use crate::session::consumer_slots::ConsumerSlot;
use crate::session::principal::Login;
use crate::session::waits::Question;
use crate::session::{Phase, Session, Site};
use crate::usage::{Counted, Seat};
use crate::vhost::Vhost;
use crate::vhost_access::VhostAccess;
use engine::queue_handle::QueueHandle;

/// What is expected next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Handshake {
    Header,
    StartOk,
    TuneOk,
    Open,
}

/// Why a login failed, for the log; the client learns only that it did.
enum LoginError {
    Refused(String),
    Protocol(Box<Refusal>),
}

impl Session {
    /// Who logged in. Methods of an open connection come after that.
    #[inline]
    pub(super) fn login(&self) -> &Login {
        self.principal.login()
    }

    /// Who it is, whatever login it shows.
    pub(crate) fn know(&mut self, identity: Identity) {
        self.principal.answer(Ok(identity));
    }

    pub(super) fn user_name(&self) -> &str {
        self.login().identity.name()
    }

    /// What is offered. EXTERNAL needs TLS, as in RabbitMQ: without a certificate it fails, but the log says why.
    fn mechanisms(&self) -> impl Iterator<Item = AuthMechanism> {
        let is_offered = |mechanism: &AuthMechanism| *mechanism != AuthMechanism::External || self.handle.tls.is_some();
        self.broker.options.mechanisms.iter().copied().filter(is_offered)
    }

    /// connection.start.
    pub(super) fn start(&mut self) {
        let mechanisms = self.mechanisms().map(AuthMechanism::name).collect::<Vec<_>>().join(" ");
        let server_properties = self.broker.server_properties.read().clone();
        let method = connection::Start {
            version_major: 0,
            version_minor: 9,
            server_properties: server_properties.as_table(),
            mechanisms: mechanisms.as_bytes(),
            locales: b"en_US",
        };
        put_method(&mut self.out, 0, &method);
        self.phase = Phase::Handshake(Handshake::StartOk);
    }

    /// A method of channel 0 before the connection is open.
    pub(super) fn handshake_method(&mut self, method: Method<'_>) -> Outcome<()> {
        let Phase::Handshake(expected) = self.phase else { return Ok(()) };
        match (expected, method) {
            (Handshake::StartOk, Method::ConnectionStartOk(start_ok)) => self.start_ok(&start_ok),
            (Handshake::TuneOk, Method::ConnectionTuneOk(tune_ok)) => self.tune_ok(tune_ok),
            (Handshake::Open, Method::ConnectionOpen(open)) => self.open(&open),
            (_, Method::ConnectionClose(_)) => {
                self.part();
                Ok(())
            }
            (_, other) => Err(Violation::method_in_handshake(other.name()).into()),
        }
    }

    fn start_ok(&mut self, start_ok: &connection::StartOk<'_>) -> Outcome<()> {
        let capabilities = ClientCapabilities::of(&start_ok.client_properties);
        let name = String::from_utf8_lossy(start_ok.mechanism).into_owned();
        match self.authenticate(&name, start_ok.response) {
            // The same comes again when it is known.
            Ok(None) => Ok(()),
            Ok(Some(identity)) => {
                let expires_at_ms = self.expiry_of(&identity);
                self.principal.log_in(Login {
                    identity,
                    expires_at_ms,
                    mechanism: name.into(),
                    client_properties: start_ok.client_properties.to_owned(),
                    capabilities,
                    channel_max: 0,
                    heartbeat_s: 0,
                });
                self.handle.set_state(ConnectionState::Tuning);
                let method = self.tune();
                put_method(&mut self.out, 0, &method);
                self.phase = Phase::Handshake(Handshake::TuneOk);
                Ok(())
            }
            Err(LoginError::Protocol(refusal)) => Err(refusal),
            Err(LoginError::Refused(reason)) => {
                tracing::warn!(peer = %self.peer(), mechanism = %name, %reason, "login was refused");
                self.refuse_login(&name, capabilities);
                Ok(())
            }
        }
    }

    /// What is offered to every client.
    fn tune(&self) -> connection::Tune {
        let options = &self.broker.options;
        connection::Tune {
            channel_max: options.channel_max,
            frame_max: options.frame_len_max,
            heartbeat: options.heartbeat_s,
        }
    }

    /// When an identity holds no longer, by the broker's time: a system's clock that is set back gives a token no more of it.
    fn expiry_of(&self, identity: &Identity) -> Option<u64> {
        let left = identity.expires_at?.duration_since(SystemTime::now()).unwrap_or_default();
        Some(self.broker.engine.clock.now_ms().saturating_add(u64::try_from(left.as_millis()).unwrap_or(u64::MAX)))
    }

    fn refuse_login(&mut self, mechanism: &str, capabilities: ClientCapabilities) {
        if !capabilities.authentication_failure_close {
            self.phase = Phase::Refused { until: Instant::now() + REFUSED_LOGIN_DELAY };
            return;
        }
        let refusal: Box<Refusal> = Violation::login_refused(mechanism).into();
        self.fail_connection(&refusal, Site::default());
    }

    /// Who it is. None: a back end has to be asked first.
    fn authenticate(&mut self, mechanism: &str, response: &[u8]) -> Result<Option<Arc<Identity>>, LoginError> {
        if let Some(result) = self.principal.take_answer() {
            return identified(result).map(Some);
        }
        let attempt = self.attempt(mechanism, response)?;
        if self.broker.logs_in_at_once() {
            return identified(self.broker.log_in_at_once(&attempt)).map(Some);
        }
        let broker = self.broker.clone();
        self.waits.ask(Question::Login(Box::pin(async move { broker.log_in_by_chain(attempt).await })));
        Ok(None)
    }

    fn attempt(&self, mechanism: &str, response: &[u8]) -> Result<LoginAttempt, LoginError> {
        let offered = self.mechanisms().find(|offered| offered.name() == mechanism);
        let with_password = |(name, password)| (name, Some(password));
        let credentials = match offered {
            Some(AuthMechanism::Plain) => sasl::plain(response).map(with_password),
            Some(AuthMechanism::Amqplain) => sasl::amqplain(response).map(with_password),
            Some(AuthMechanism::Anonymous) => {
                let login = self.broker.options.anonymous_login.as_ref();
                login.map(|login| (login.name.to_string(), Some(login.password.clone().into_bytes())))
            }
            // TLS has verified the certificate: that is the proof.
            Some(AuthMechanism::External) => Some((self.certified_name()?, None)),
            None => return Err(LoginError::Protocol(Violation::unknown_mechanism(mechanism).into())),
        };
        let unreadable = || LoginError::Refused("the response could not be read".to_owned());
        let (name, password) = credentials.ok_or_else(unreadable)?;
        Ok(LoginAttempt { name, password, origin: self.origin() })
    }

    /// Who the client is, as its certificate says.
    fn certified_name(&self) -> Result<String, LoginError> {
        let refused = |reason: &str| LoginError::Refused(reason.to_owned());
        let peer = self.handle.tls.as_ref().and_then(|tls| tls.peer.as_ref());
        let certificate = peer.ok_or_else(|| refused("no peer certificate"))?;
        let from = self.broker.options.certificate_login;
        certificate_login::user_name(certificate, from).ok_or_else(|| refused("no name found"))
    }

    fn tune_ok(&mut self, tune_ok: connection::TuneOk) -> Outcome<()> {
        let floor = self.broker.options.initial_frame_len_max.min(FRAME_LEN_MAX_INITIAL);
        let agreed = agree(self.tune(), tune_ok, floor)?;
        self.frame_len_max = agreed.frame_max;
        self.principal.agree(agreed.channel_max, agreed.heartbeat);
        self.phase = Phase::Handshake(Handshake::Open);
        self.handle.set_state(ConnectionState::Opening);
        Ok(())
    }

    fn open(&mut self, open: &connection::Open<'_>) -> Outcome<()> {
        let name = String::from_utf8_lossy(open.virtual_host).into_owned();
        let user = self.user_name().to_owned();
        if let Some(connection_max) = self.broker.options.connection_max
            && self.broker.connections.count() > connection_max
        {
            return refusal::not_allowed(format!(
                "connection refused: node connection limit ({connection_max}) is reached"
            ));
        }
        let Some(vhost) = self.broker.vhosts.get(&name) else {
            return refusal::not_allowed(format!("vhost {name} not found"));
        };
        let actor = Actor { identity: self.login().identity.clone(), origin: self.origin() };
        // It may have come this far before, and waited for an answer.
        let entered = self.principal.known_access().filter(|access| Arc::ptr_eq(&access.vhost, &vhost)).cloned();
        let enter = || Arc::new(VhostAccess::new(self.broker.clone(), vhost.clone(), &actor, Some(self.handle.id)));
        let access = entered.unwrap_or_else(enter);
        let still_allowed = access.still_allowed();
        self.principal.enter(access);
        if !still_allowed {
            return refusal::not_allowed(format!("access to vhost '{name}' refused for user '{user}'"));
        }
        {
            let broker = self.broker.clone();
            let _opening = broker.opening.lock();
            // It may have been deleted while others were asked; from here on its deletion finds this connection.
            if !broker.vhosts.get(&name).is_some_and(|found| Arc::ptr_eq(&found, &vhost)) {
                return refusal::not_allowed(format!("vhost {name} not found"));
            }
            self.take_user_anew(&vhost)?;
            let seat = self.take_connection_seat(&vhost, &user)?;
            self.holdings.take_seat(seat);
            self.run();
        }
        put_method(&mut self.out, 0, &connection::OpenOk { known_hosts: b"" });
        tracing::debug!(peer = %self.peer(), %user, vhost = %name, "connection was opened");
        self.broker.emit(Event::connection_created(&self.handle, &self.broker.options.node));
        Ok(())
    }

    /// connection.open succeeded.
    fn run(&mut self) {
        let client_properties = self.principal.take_client_properties();
        let login = self.login();
        let vhost = self.vhost();
        let opened = Opened {
            identity: login.identity.clone(),
            vhost: vhost.name().clone(),
            mechanism: login.mechanism.clone(),
            client_properties,
            channel_max: login.channel_max,
            frame_max: self.frame_len_max,
            heartbeat_s: login.heartbeat_s,
        };
        // It was empty: a connection is opened once.
        let _ = self.handle.opened.set(opened);
        vhost.connection_count.fetch_add(1, Ordering::Relaxed);
        self.principal.opened();
        self.phase = Phase::Running;
    }

    /// The user may have been changed or deleted since it logged in. From here on such a change finds this connection.
    fn take_user_anew(&mut self, vhost: &Vhost) -> Outcome<()> {
        let identity = self.login().identity.clone();
        if !identity.is_stored() {
            return Ok(());
        }
        let user = self.broker.users.get(identity.name());
        if let Some(user) = &user {
            self.principal.change_login(Arc::new(Identity { user: user.clone(), ..(*identity).clone() }));
        }
        if user.is_none() || !self.access().still_allowed() {
            let (vhost, user) = (vhost.name(), identity.name());
            return refusal::not_allowed(format!("access to vhost '{vhost}' refused for user '{user}'"));
        }
        Ok(())
    }

    fn take_connection_seat(&self, vhost: &Vhost, user: &str) -> Outcome<Seat> {
        let name = vhost.name();
        if let Some(connection_max) = vhost.facts().limits.connection_max
            && vhost.connection_count.load(Ordering::Relaxed) as u64 >= connection_max
        {
            return refusal::not_allowed(format!(
                "access to vhost '{name}' refused for user '{user}': connection limit ({connection_max}) is reached"
            ));
        }
        let limit = self.broker.users.get(user).and_then(|user| user.limits.connection_max);
        self.broker.usages.take(user, Counted::Connection, limit).or_else(|connection_max| {
            refusal::not_allowed(format!(
                "connection refused for user '{user}': user connection limit ({connection_max}) is reached"
            ))
        })
    }

    /// connection.update-secret: the same user logs in again. The broker's own users keep what they have: as in RabbitMQ the
    /// secret is not looked at then.
    pub(super) fn update_secret(&mut self, update: &connection::UpdateSecret<'_>) -> Outcome<()> {
        self.apply_batch();
        let identity = self.login().identity.clone();
        if !identity.is_stored() {
            match self.principal.take_answer() {
                Some(Ok(renewed)) if renewed.name() == identity.name() => {
                    let expires_at_ms = self.expiry_of(&renewed);
                    self.principal.begin_renewal(Arc::new(renewed), expires_at_ms);
                }
                Some(_) => return secret_refused(),
                // What the new secret allows is being asked.
                None if self.principal.is_renewing() => {}
                None => {
                    let (name, password) = (identity.name().to_owned(), Some(update.new_secret.to_vec()));
                    let attempt = LoginAttempt { name, password, origin: self.origin() };
                    let broker = self.broker.clone();
                    self.waits.ask(Question::Login(Box::pin(async move { broker.log_in_again(attempt).await })));
                    return Ok(());
                }
            }
            self.check_renewed()?;
            self.principal.end_renewal();
        } else if self.broker.users.get(identity.name()).is_none() || !self.access().still_allowed() {
            return secret_refused();
        }
        self.access_changed();
        put_method(&mut self.out, 0, &connection::UpdateSecretOk);
        Ok(())
    }

    /// Ends what a new secret does not allow. Refuses where the user may not stay, or where others have to be asked first: then the
    /// same comes again.
    fn check_renewed(&mut self) -> Outcome<()> {
        let access = self.principal.access().clone();
        if !access.still_allowed() {
            let (vhost, user) = (access.vhost.name(), self.user_name());
            return refusal::not_allowed(format!("access to vhost '{vhost}' refused for user '{user}'"));
        }
        let mut lost = Vec::new();
        for (number, slot) in self.live_consumers() {
            if let Err(refusal) = access.check(Access::Read, Resource::Queue, slot.queue.name()) {
                if access.permissions.has_open() {
                    return Err(refusal);
                }
                lost.push((number, slot.queue.clone()));
            }
        }
        self.routes.clear();
        self.channels.forget_routes();
        self.end_consumers(lost);
        Ok(())
    }

    /// What the user may do may have changed: its tags are looked up again, and consumers end that it may not have.
    pub(super) fn access_changed(&mut self) {
        if !matches!(self.phase, Phase::Running) {
            return;
        }
        let identity = self.access().identity().clone();
        if identity.is_stored()
            && let Some(user) = self.broker.users.get(identity.name())
        {
            self.principal.change_identity(Arc::new(Identity { user, ..(*identity).clone() }));
        }
        let access = self.principal.access().clone();
        let lost = self
            .live_consumers()
            .filter(|(_, slot)| !access.permissions.may_go_on_reading(&access.broker.users, slot.queue.name()))
            .map(|(number, slot)| (number, slot.queue.clone()))
            .collect();
        self.end_consumers(lost);
    }

    fn live_consumers(&mut self) -> impl Iterator<Item = (u32, &mut ConsumerSlot)> {
        self.consumers.iter_mut().filter(|(_, slot)| slot.consumer.is_some() && slot.is_live)
    }

    fn end_consumers(&mut self, lost: Vec<(u32, Arc<QueueHandle>)>) {
        self.consumers_cancelled(lost.into_iter().map(|(number, queue)| (number, queue.id())).collect());
    }
}

fn secret_refused<T>() -> Outcome<T> {
    Err(Violation::secret_refused().into())
}

fn identified(result: Result<Identity, LoginRefused>) -> Result<Arc<Identity>, LoginError> {
    result.map(Arc::new).map_err(|refused| LoginError::Refused(refused.to_string()))
}
