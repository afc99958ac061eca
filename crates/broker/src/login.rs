//! Logging in: by the chain of those that know users. The first that accepts the client counts.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use model::name::UserName;
use model::user::{Tags, User};
use telemetry::trace::{Arguments, WaitKind, WaitReason, waiting};

use crate::backend::{AuthStep, Authority, BackendUser, LoginAnswer, LoginAttempt};
use crate::broker::Broker;
use crate::events::Event;
use crate::identity::{Authorizer, Identity, Interface, Origin, Rights};
use crate::lockout::LockedOut;
use crate::trace_points::LOG_IN;

/// Why a client may not log in. For the log and for events: the client learns only that it may not.
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
    /// A back end says no.
    #[error("{backend}: {reason}")]
    Backend {
        /// Which.
        backend: String,
        /// Why.
        reason: String,
    },
    /// A back end could not be asked. That is its own fault: it does not count towards being locked out.
    #[error("{backend}: {reason}")]
    Unavailable {
        /// Which.
        backend: String,
        /// Why.
        reason: String,
    },
}

/// What a login may wait for.
pub(crate) const ASKING: WaitReason = WaitReason { kind: WaitKind::Socket, name: "a back end for users", threads: &[] };

/// A login in a trace: which user logs in from where, and never with what proof.
fn describe(attempt: &LoginAttempt, arguments: &mut Arguments) {
    arguments.text("user", &attempt.name);
    if let Some(address) = attempt.origin.peer {
        arguments.text("from", &address.to_string());
    }
}

fn outcome_text(result: &Result<Identity, LoginRefused>) -> String {
    match result {
        Ok(identity) => format!("user {}", identity.name()),
        Err(refused) => refused.to_string(),
    }
}

impl Broker {
    /// Logs a client in by name and password.
    pub async fn log_in(&self, name: &str, password: &[u8], origin: &Origin) -> Result<Identity, LoginRefused> {
        let attempt = LoginAttempt { name: name.to_owned(), password: Some(password.to_vec()), origin: *origin };
        self.log_in_by_chain(attempt).await
    }

    /// Logs a client in by a token, which names its user. To back ends it is a password without a name.
    pub async fn log_in_by_token(&self, token: &[u8], origin: &Origin) -> Result<Identity, LoginRefused> {
        self.log_in("", token, origin).await
    }

    /// Whether logging in never takes longer than looking up a user.
    pub(crate) fn logs_in_at_once(&self) -> bool {
        self.options.auth_steps.iter().all(AuthStep::is_internal)
    }

    /// Logs a client in where [`Broker::logs_in_at_once`].
    pub(crate) fn log_in_at_once(&self, attempt: &LoginAttempt) -> Result<Identity, LoginRefused> {
        let mut call = LOG_IN.enter(|arguments| describe(attempt, arguments));
        let now = Instant::now();
        let result = self.check_lockout(attempt, now).and_then(|()| self.log_in_internally(attempt));
        let result = self.concluded(attempt, now, result);
        call.returns(|| outcome_text(&result));
        result
    }

    /// Logs a client in by the chain of those that know users.
    pub(crate) async fn log_in_by_chain(&self, attempt: LoginAttempt) -> Result<Identity, LoginRefused> {
        let mut call = LOG_IN.enter(|arguments| describe(&attempt, arguments));
        let now = Instant::now();
        let result = match self.check_lockout(&attempt, now) {
            Ok(()) => self.ask_chain(&attempt).await,
            Err(refused) => Err(refused),
        };
        let result = self.concluded(&attempt, now, result);
        call.returns(|| outcome_text(&result));
        result
    }

    /// The user of a name as it would be after a login, for operators who ask what it may do: as of a client that its certificate has
    /// proven. It counts as no login.
    pub async fn recognize(&self, name: &str, origin: &Origin) -> Result<Identity, LoginRefused> {
        self.ask_chain(&LoginAttempt { name: name.to_owned(), password: None, origin: *origin }).await
    }

    /// Logs a client in again that is: with a new secret, which the guesses of others are not to stop.
    pub(crate) async fn log_in_again(&self, attempt: LoginAttempt) -> Result<Identity, LoginRefused> {
        let now = Instant::now();
        let result = self.ask_chain(&attempt).await;
        self.concluded(&attempt, now, result)
    }

    /// The result of a login, once the user is known.
    fn concluded(
        &self,
        attempt: &LoginAttempt,
        now: Instant,
        result: Result<Identity, LoginRefused>,
    ) -> Result<Identity, LoginRefused> {
        let result = result.and_then(|identity| self.check_loopback(identity, &attempt.origin));
        self.note_attempt(attempt, now, &result);
        result
    }

    async fn ask_chain(&self, attempt: &LoginAttempt) -> Result<Identity, LoginRefused> {
        let mut refused = LoginRefused::NoUser(attempt.name.clone());
        for step in &self.options.auth_steps {
            match (self.ask_step(step, attempt).await, &refused) {
                (Ok(identity), _) => return Ok(identity),
                // That other back ends do not know the user says nothing when one that may know it could not be asked.
                (Err(LoginRefused::NoUser(_) | LoginRefused::Backend { .. }), LoginRefused::Unavailable { .. }) => {}
                // That one cannot be asked makes no wrong password a right one.
                (Err(LoginRefused::Unavailable { .. }), LoginRefused::WrongPassword(_)) => {}
                (Err(reason), _) => refused = reason,
            }
        }
        Err(refused)
    }

    async fn ask_step(&self, step: &AuthStep, attempt: &LoginAttempt) -> Result<Identity, LoginRefused> {
        let known = match &step.authentication {
            Authority::Internal => {
                let identity = self.log_in_internally(attempt)?;
                if step.is_internal() {
                    return Ok(identity);
                }
                let User { name, tags, .. } = (*identity.user).clone();
                BackendUser { name: name.to_string(), tags, grants: Arc::new(()), expires_at: None }
            }
            Authority::Backend(backend) => {
                accepted(backend.name(), waiting(ASKING, backend.log_in(attempt.clone())).await)?
            }
        };
        // As in RabbitMQ the roles are those that the back ends give which say what the user may do.
        let mut user = User::new(user_name(&known)?, None, Tags::default());
        let mut authorizers = Vec::new();
        let mut expires_at = known.expires_at;
        for authority in &step.authorization {
            let authorizer = match (authority, &step.authentication) {
                (Authority::Internal, _) => {
                    let Some(stored) = self.users.get(&known.name) else {
                        return Err(LoginRefused::NoUser(known.name));
                    };
                    user.tags = user.tags.iter().chain(stored.tags.iter()).collect();
                    Authorizer::Stored
                }
                (Authority::Backend(backend), Authority::Backend(same)) if Arc::ptr_eq(backend, same) => {
                    user.tags = user.tags.iter().chain(known.tags.iter()).collect();
                    Authorizer::Backend(backend.clone(), known.clone())
                }
                (Authority::Backend(backend), _) => {
                    let attempt = LoginAttempt { name: known.name.clone(), ..attempt.clone() };
                    let of_backend = accepted(backend.name(), waiting(ASKING, backend.recognize(attempt)).await)?;
                    user.tags = user.tags.iter().chain(of_backend.tags.iter()).collect();
                    expires_at = earlier(expires_at, of_backend.expires_at);
                    Authorizer::Backend(backend.clone(), of_backend)
                }
            };
            authorizers.push(authorizer);
        }
        let rights = Rights::Others(authorizers.into());
        Ok(Identity { user: Arc::new(user), rights, expires_at, session: None })
    }

    fn check_lockout(&self, attempt: &LoginAttempt, now: Instant) -> Result<(), LoginRefused> {
        let Some(address) = guessed_from(attempt) else { return Ok(()) };
        match self.lockout.check(&attempt.name, address, now) {
            Ok(()) => Ok(()),
            Err(LockedOut::User) => Err(LoginRefused::UserLockedOut(attempt.name.clone())),
            Err(LockedOut::Address) => Err(LoginRefused::AddressLockedOut(address)),
        }
    }

    fn log_in_internally(&self, attempt: &LoginAttempt) -> Result<Identity, LoginRefused> {
        let name = &attempt.name;
        let Some(user) = self.users.get(name) else { return Err(LoginRefused::NoUser(name.clone())) };
        if attempt.password.as_ref().is_some_and(|password| !user.verify(password)) {
            return Err(LoginRefused::WrongPassword(name.clone()));
        }
        Ok(Identity::stored(user))
    }

    /// As in RabbitMQ some may come from the host itself only, whichever back end knows them.
    pub(crate) fn check_loopback(&self, identity: Identity, origin: &Origin) -> Result<Identity, LoginRefused> {
        if !origin.is_local() && self.options.loopback_users.iter().any(|name| name == identity.name()) {
            return Err(LoginRefused::NotLocal(identity.name().to_owned()));
        }
        Ok(identity)
    }

    fn note_attempt(&self, attempt: &LoginAttempt, now: Instant, result: &Result<Identity, LoginRefused>) {
        let LoginAttempt { name, origin, .. } = attempt;
        if let Some(address) = guessed_from(attempt) {
            match result {
                Ok(_) => self.lockout.note_success(name, address, now),
                Err(LoginRefused::NoUser(_) | LoginRefused::WrongPassword(_) | LoginRefused::Backend { .. }) => {
                    self.lockout.note_failure(name, address, now)
                }
                Err(_) => {}
            }
        }
        self.auth_attempts.of(origin.interface).count(result.is_ok());
        // Over HTTP every request is a login: only those that fail are worth telling, as by RabbitMQ.
        if result.is_err() || origin.interface != Interface::Http {
            self.emit(event_of(name, origin, result.as_ref().err()));
        }
    }
}

fn accepted(backend: &str, answer: LoginAnswer) -> Result<BackendUser, LoginRefused> {
    match answer {
        LoginAnswer::Accepted(user) => Ok(user),
        LoginAnswer::Refused(reason) => Err(LoginRefused::Backend { backend: backend.to_owned(), reason }),
        LoginAnswer::Failed(reason) => {
            tracing::error!(backend, %reason, "an authentication back end could not be asked");
            Err(LoginRefused::Unavailable { backend: backend.to_owned(), reason })
        }
    }
}

/// Where a password may be guessed from; None where there is none, or no network between.
fn guessed_from(attempt: &LoginAttempt) -> Option<IpAddr> {
    attempt.password.as_ref()?;
    Some(attempt.origin.peer?.ip().to_canonical())
}

fn user_name(user: &BackendUser) -> Result<UserName, LoginRefused> {
    UserName::parse(user.name.as_bytes()).map_err(|_| LoginRefused::NoUser(user.name.clone()))
}

fn earlier(one: Option<SystemTime>, other: Option<SystemTime>) -> Option<SystemTime> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

pub(crate) fn event_of(name: &str, origin: &Origin, refused: Option<&LoginRefused>) -> Event {
    let event = match refused {
        None => Event::new("user.authentication.success"),
        Some(_) => Event::new("user.authentication.failure"),
    };
    let mut event = event
        .with_text("name", name)
        .with_text("connection_type", "network")
        .with_text("interface", origin.interface.name());
    if let Some(peer) = origin.peer {
        event = event.with_text("peer_host", &peer.ip().to_string()).with_number("peer_port", peer.port().into());
    }
    if let Some(refused) = refused {
        event = event.with_text("error", &refused.to_string());
    }
    event.from(*origin)
}
