//! Logins, and a connection's way into its virtual host.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::SystemTime;

use amqp::table::TableBuf;
use engine::lane::LaneNumber;
use engine::queue_handle::QueueHandle;
use model::refusal::{self, Outcome};
use model::user::Access;

use super::consumer_slots::ConsumerSlot;
use super::lane::Lane;
use super::principal::Login;
use super::waits::Question;
use super::{Front, Phase, Protocol};
use crate::backend::LoginAttempt;
use crate::connections::{ConnectionState, Opened};
use crate::events::Event;
use crate::identity::{Actor, Identity};
use crate::login::LoginRefused;
use crate::permissions::Resource;
use crate::usage::{Counted, Permit};
use crate::vhost::Vhost;
use crate::vhost_access::VhostAccess;

/// What client and server have agreed on, as listings show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Negotiated {
    /// How many lanes at most; 0: no limit.
    pub(crate) channel_max: u16,
    /// How long a frame may be, in bytes.
    pub(crate) frame_max: u32,
    /// The interval of signs of life, in seconds; 0: none.
    pub(crate) heartbeat_s: u16,
}

/// What has become of a new secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Renewal {
    /// It is taken.
    Done,
    /// A back end has been asked: the same comes again when it has answered.
    Pending,
    /// It is not good.
    Refused,
}

impl<P: Protocol> Front<P> {
    /// Sets the client's identity, whatever login it shows.
    pub(crate) fn know(&mut self, identity: Identity) {
        self.principal.answer(Ok(identity));
    }

    pub(crate) fn user_name(&self) -> &str {
        self.principal.login().identity.name()
    }

    /// What a back end has answered about the client's identity, if one was asked.
    pub(crate) fn take_login_answer(&mut self) -> Option<Result<Identity, LoginRefused>> {
        self.principal.take_answer()
    }

    /// Finds out the client's identity. None: a back end is asked first, and the same comes again when it has answered.
    pub(crate) fn try_login(&mut self, attempt: LoginAttempt) -> Option<Result<Identity, LoginRefused>> {
        if self.broker.logs_in_at_once() {
            return Some(self.broker.log_in_at_once(&attempt));
        }
        let broker = self.broker.clone();
        self.waits.ask(Question::Login(Box::pin(async move { broker.log_in_by_chain(attempt).await })));
        None
    }

    /// The client has logged in.
    pub(crate) fn log_in(&mut self, identity: Identity, mechanism: &str, client_properties: TableBuf) {
        let identity = Arc::new(identity);
        let expires_at_ms = self.expiry_of(&identity);
        self.principal.log_in(Login { identity, expires_at_ms, mechanism: mechanism.into(), client_properties });
        self.handle.set_state(ConnectionState::Tuning);
    }

    /// When an identity holds no longer, by the broker's time: a system's clock that is set back gives a token no more of it.
    fn expiry_of(&self, identity: &Identity) -> Option<u64> {
        let left = identity.expires_at?.duration_since(SystemTime::now()).unwrap_or_default();
        Some(self.broker.engine.clock.now_ms().saturating_add(u64::try_from(left.as_millis()).unwrap_or(u64::MAX)))
    }

    /// The client opens a virtual host: from here on it may publish and consume. Where a back end has to be asked first the call is
    /// refused, and comes again ([`Front::waits_for_answer`]).
    pub(crate) fn open(&mut self, name: &str, negotiated: Negotiated) -> Outcome<()> {
        let user = self.user_name().to_owned();
        if let Some(connection_max) = self.broker.options.connection_max
            && self.broker.connections.count() > connection_max
        {
            return refusal::not_allowed(format!(
                "connection refused: node connection limit ({connection_max}) is reached"
            ));
        }
        let Some(vhost) = self.broker.vhosts.get(name) else {
            return refusal::not_allowed(format!("vhost {name} not found"));
        };
        let actor = Actor { identity: self.principal.login().identity.clone(), origin: self.origin() };
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
            if !broker.vhosts.get(name).is_some_and(|found| Arc::ptr_eq(&found, &vhost)) {
                return refusal::not_allowed(format!("vhost {name} not found"));
            }
            self.take_user_anew(&vhost)?;
            let permit = self.acquire_connection(&vhost, &user)?;
            self.resources.keep_permit(permit);
            self.run(negotiated);
        }
        tracing::debug!(peer = %self.peer(), %user, vhost = %name, "connection was opened");
        self.broker.emit(Event::connection_created(&self.handle, &self.broker.options.node));
        Ok(())
    }

    fn run(&mut self, negotiated: Negotiated) {
        let client_properties = self.principal.take_client_properties();
        let login = self.principal.login();
        let vhost = self.vhost();
        let opened = Opened {
            identity: login.identity.clone(),
            vhost: vhost.name().clone(),
            mechanism: login.mechanism.clone(),
            client_properties,
            channel_max: negotiated.channel_max,
            frame_max: negotiated.frame_max,
            heartbeat_s: negotiated.heartbeat_s,
        };
        // It was empty: a connection is opened once.
        let _ = self.handle.opened.set(opened);
        vhost.connection_count.fetch_add(1, Ordering::Relaxed);
        self.principal.opened();
        self.phase = Phase::Running;
    }

    /// The user may have been changed or deleted since it logged in. From here on such a change finds this connection.
    fn take_user_anew(&mut self, vhost: &Vhost) -> Outcome<()> {
        let identity = self.principal.login().identity.clone();
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

    fn acquire_connection(&self, vhost: &Vhost, user: &str) -> Outcome<Permit> {
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

    /// A lane begins. The user's lanes over all its connections are limited.
    pub(crate) fn open_lane(&mut self, number: LaneNumber, state: P::Lane) -> Outcome<()> {
        let mut lane = Box::new(Lane::new(number, state));
        lane.permit = Some(self.acquire_lane()?);
        self.handle.channels.lock().insert(number.0, lane.handle.clone());
        self.lanes.put(lane);
        self.broker.counters.channels_opened.add(1);
        self.broker.emit_if_wanted(|| Event::channel_created(&self.handle, number));
        Ok(())
    }

    fn acquire_lane(&self) -> Outcome<Permit> {
        let user = self.user_name();
        let limit = self.broker.users.get(user).and_then(|user| user.limits.channel_max);
        self.broker.usages.take(user, Counted::Channel, limit).or_else(|channel_max| {
            refusal::not_allowed(format!(
                "number of channels opened for user '{user}' has reached the maximum allowed user limit of {channel_max}"
            ))
        })
    }

    /// The same user logs in again, with another secret. The broker's own users keep what they have: as in RabbitMQ the secret is not
    /// looked at then.
    pub(crate) fn renew(&mut self, secret: &[u8]) -> Outcome<Renewal> {
        self.apply_batch();
        let identity = self.principal.login().identity.clone();
        if !identity.is_stored() {
            match self.principal.take_answer() {
                Some(Ok(renewed)) if renewed.name() == identity.name() => {
                    let expires_at_ms = self.expiry_of(&renewed);
                    self.principal.begin_renewal(Arc::new(renewed), expires_at_ms);
                }
                Some(_) => return Ok(Renewal::Refused),
                // What the new secret allows is being asked.
                None if self.principal.is_renewing() => {}
                None => {
                    let (name, password) = (identity.name().to_owned(), Some(secret.to_vec()));
                    let attempt = LoginAttempt { name, password, origin: self.origin() };
                    let broker = self.broker.clone();
                    self.waits.ask(Question::Login(Box::pin(async move { broker.log_in_again(attempt).await })));
                    return Ok(Renewal::Pending);
                }
            }
            self.check_renewed()?;
            self.principal.end_renewal();
        } else if self.broker.users.get(identity.name()).is_none() || !self.access().still_allowed() {
            return Ok(Renewal::Refused);
        }
        self.access_changed();
        Ok(Renewal::Done)
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
        self.lanes.forget_routes();
        self.end_consumers(lost);
        Ok(())
    }

    /// What the user may do may have changed: its tags are looked up again, and consumers end that it may not have.
    pub(super) fn access_changed(&mut self) {
        if !self.is_running() {
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
