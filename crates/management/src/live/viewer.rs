//! What a user may see, which may be less after a while.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use broker::view::ConnectionView;
use broker::{Actor, Broker, Event};
use hyper::StatusCode;
use tokio::time::Instant;

use super::FeedRequest;
use super::changes::{self, Subject};
use crate::limits::LIVE_CHECK_INTERVAL;
use crate::problem::Problem;
use crate::request_context::RequestContext;
use crate::tags::{check_management, is_administrator, is_monitor};

/// A right that the user does not have, or no longer has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LostRight {
    /// The user was deleted, or the login has expired.
    Login,
    /// To use the API.
    Management,
    /// To see the node.
    Monitoring,
    /// To do everything.
    Administrator,
    /// To be in a vhost.
    Vhost(String),
}

impl LostRight {
    /// What a stream that ends by it says.
    pub(crate) fn reason(&self) -> String {
        match self {
            LostRight::Login => "the user was deleted, or its login has expired".to_owned(),
            LostRight::Management => "the user may no longer use the management API".to_owned(),
            LostRight::Monitoring => "the user may no longer monitor the node".to_owned(),
            LostRight::Administrator => "the user is no longer an administrator".to_owned(),
            LostRight::Vhost(name) => format!("the user may no longer access vhost '{name}'"),
        }
    }

    /// The answer to a user who did not have it when the request came.
    pub(crate) fn problem(&self) -> Problem {
        match self {
            LostRight::Login => Problem::not_authenticated(),
            LostRight::Management => Problem::not_authorised("Not management user"),
            LostRight::Monitoring => Problem::not_authorised("Not monitor user"),
            LostRight::Administrator => Problem::not_authorised("Not administrator user"),
            LostRight::Vhost(name) => {
                // A user that may not enter it must not learn whether it exists.
                let reason = format!("no vhost '{name}', or no access to it");
                Problem::new(StatusCode::NOT_FOUND, "not_found", reason)
            }
        }
    }
}

/// The user of a feed.
pub(crate) struct Viewer {
    broker: Arc<Broker>,
    context: RequestContext,
    checked_at: Instant,
    /// Whether it may be in a vhost, as far as that was asked since the last check.
    decided: HashMap<String, bool>,
    /// Where it was let in at last: of the last events of a vhost this can no longer be asked.
    entered: HashSet<String>,
}

impl Viewer {
    pub(crate) fn new(broker: Arc<Broker>, actor: Actor) -> Viewer {
        let context = RequestContext::new(broker.clone(), actor);
        let (decided, entered) = (HashMap::new(), HashSet::new());
        Viewer { broker, context, checked_at: Instant::now(), decided, entered }
    }

    /// Whether it may still have what it wants. Users that are known here are looked up each time, others are asked for from time to time.
    pub(crate) async fn check(&mut self, wanted: &FeedRequest) -> Result<(), LostRight> {
        let Actor { identity, origin } = self.context.actor.clone();
        let identity = Arc::new(self.broker.renewed(&identity).ok_or(LostRight::Login)?);
        let is_due = self.checked_at.elapsed() >= LIVE_CHECK_INTERVAL;
        if is_due {
            self.entered.retain(|vhost| self.broker.has_vhost(vhost));
        }
        if identity.is_stored() || is_due {
            self.context = RequestContext::new(self.broker.clone(), Actor { identity: identity.clone(), origin });
            self.decided.clear();
            self.checked_at = Instant::now();
        }
        check_management(&identity).map_err(|_| LostRight::Management)?;
        if (wanted.has_rates || wanted.has_alerts) && !is_monitor(&identity) {
            return Err(LostRight::Monitoring);
        }
        if (wanted.has_log || wanted.has_audit) && !is_administrator(&identity) {
            return Err(LostRight::Administrator);
        }
        for vhost in wanted.vhosts.iter().filter(|_| !is_monitor(&identity)) {
            self.check_vhost(vhost).await?;
        }
        let in_vhosts = wanted.queues.iter().chain(&wanted.exchanges);
        for (vhost, _) in in_vhosts.filter(|_| !is_administrator(&identity)) {
            self.check_vhost(vhost).await?;
        }
        Ok(())
    }

    /// A deleted vhost is no right that is lost.
    async fn check_vhost(&mut self, vhost: &str) -> Result<(), LostRight> {
        if !self.broker.has_vhost(vhost) || self.enters(vhost).await {
            Ok(())
        } else {
            Err(LostRight::Vhost(vhost.to_owned()))
        }
    }

    /// Looks where it may be, so that it gets the events of what is deleted there.
    pub(crate) async fn look_around(&mut self) {
        for vhost in self.broker.vhost_names() {
            self.enters(vhost.as_str()).await;
        }
    }

    /// Whether it may see an event.
    pub(crate) async fn sees(&mut self, event: &Event) -> bool {
        let Some(subject) = changes::subject(event.name) else { return false };
        if changes::goes_with_its_vhost(event) {
            return false;
        }
        let identity = self.context.actor.identity.clone();
        let is_monitor = is_monitor(&identity);
        match subject {
            Subject::Users => is_administrator(&identity),
            Subject::Node => is_monitor,
            Subject::Connection => is_monitor || event.user.as_deref() == Some(identity.name()),
            Subject::Vhost if is_monitor => true,
            Subject::InVhost if is_administrator(&identity) => true,
            Subject::Vhost | Subject::InVhost => match changes::vhost_of(event, subject) {
                Some(vhost) => self.enters(vhost).await,
                None => false,
            },
        }
    }

    /// Whether it may see a connection: its own user may, and monitoring users.
    pub(crate) fn sees_connection(&self, connection: &ConnectionView) -> bool {
        let identity = &self.context.actor.identity;
        is_monitor(identity) || connection.opened().is_some_and(|opened| opened.user == identity.name())
    }

    async fn enters(&mut self, vhost: &str) -> bool {
        if let Some(is_let_in) = self.decided.get(vhost) {
            return *is_let_in;
        }
        if !self.broker.has_vhost(vhost) {
            return self.entered.contains(vhost);
        }
        let is_let_in = self.context.retry_until_authorized(|| self.context.enter(vhost).is_some()).await;
        self.decided.insert(vhost.to_owned(), is_let_in);
        if is_let_in {
            self.entered.insert(vhost.to_owned());
        } else {
            self.entered.remove(vhost);
        }
        is_let_in
    }
}
