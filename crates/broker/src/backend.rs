//! Other authorities on users: what RabbitMQ calls authentication and authorisation back ends, in a chain.
//!
//! A back end may have to ask over a network. A caller that needs its answer at once gets none, waits, and does the same again
//! with the answer at hand (see [`crate::session`] and [`crate::VhostAccess::settled`]).

use std::any::Any;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::SystemTime;

use model::user::{Access, Tags, TopicAccess};

use crate::identity::Origin;
use crate::permissions::Resource;

/// An answer that may take its time.
pub type Answer<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// A source of users other than the broker.
pub trait Backend: fmt::Debug + Send + Sync {
    /// What the log calls it.
    fn name(&self) -> &str;

    /// The client's identity.
    fn log_in(&self, attempt: LoginAttempt) -> Answer<LoginAnswer>;

    /// Whether this back end knows a user that another back end has logged in, and may be asked about it.
    fn recognize(&self, attempt: LoginAttempt) -> Answer<LoginAnswer>;

    /// Whether a user may do something.
    fn decide(&self, user: &BackendUser, origin: &Origin, question: &Question) -> Decision;
}

/// A client wants to log in.
#[derive(Clone)]
pub struct LoginAttempt {
    /// The name given.
    pub name: String,
    /// The password or token given; None where a certificate is the proof.
    pub password: Option<Vec<u8>>,
    /// From where.
    pub origin: Origin,
}

impl fmt::Debug for LoginAttempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not the password: this may go to a log.
        f.debug_struct("LoginAttempt").field("name", &self.name).field("origin", &self.origin).finish_non_exhaustive()
    }
}

/// What a back end says to that.
#[derive(Debug, Clone)]
pub enum LoginAnswer {
    /// Welcome.
    Accepted(BackendUser),
    /// No; why is for the log.
    Refused(String),
    /// It could not be found out; why is for the log. Counts as no.
    Failed(String),
}

/// A user that a back end knows.
#[derive(Debug, Clone)]
pub struct BackendUser {
    /// Its name, which may be another than the one given.
    pub name: String,
    /// Its roles.
    pub tags: Tags,
    /// What the back end wants to remember of it.
    pub grants: Arc<dyn Grants>,
    /// Until when that holds; None: until the connection ends.
    pub expires_at: Option<SystemTime>,
}

/// What a back end remembers of a user.
pub trait Grants: Any + fmt::Debug + Send + Sync {
    /// To find out what it is.
    fn as_any(&self) -> &dyn Any;
}

impl Grants for () {
    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// What a user wants to do.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Question {
    /// To be in a vhost.
    Vhost {
        /// Which.
        vhost: String,
    },
    /// To do something with an exchange or a queue.
    Resource {
        /// In which vhost.
        vhost: String,
        /// With what kind of thing.
        resource: Resource,
        /// Which; the default exchange is `amq.default`.
        name: String,
        /// What.
        access: Access,
    },
    /// To use a routing key of a topic exchange.
    Topic {
        /// In which vhost.
        vhost: String,
        /// Of which exchange.
        exchange: String,
        /// Which.
        routing_key: String,
        /// What for.
        access: TopicAccess,
    },
}

/// What a back end says to that.
pub enum Decision {
    /// Yes.
    Allowed,
    /// No.
    Refused,
    /// It has to ask. What cannot be found out is a no, and the back end's to log.
    Ask(Answer<bool>),
}

impl fmt::Debug for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Decision::Allowed => "Allowed",
            Decision::Refused => "Refused",
            Decision::Ask(_) => "Ask",
        })
    }
}

/// An authority that is asked.
#[derive(Debug, Clone)]
pub enum Authority {
    /// The broker's own users.
    Internal,
    /// A back end.
    Backend(Arc<dyn Backend>),
}

/// One step of the chain: which authority identifies the client, and which ones say what it may do. The first step that accepts the client
/// counts.
#[derive(Debug, Clone)]
pub struct AuthStep {
    /// The authority that identifies the client.
    pub authentication: Authority,
    /// The authorities that say what the client may do; all of them have to agree. Not empty.
    pub authorization: Vec<Authority>,
}

impl AuthStep {
    /// The broker's own users.
    #[must_use]
    pub fn internal() -> Self {
        AuthStep { authentication: Authority::Internal, authorization: vec![Authority::Internal] }
    }

    /// Whether others than the broker are asked.
    pub(crate) fn is_internal(&self) -> bool {
        let is_internal = |authority: &Authority| matches!(authority, Authority::Internal);
        is_internal(&self.authentication) && self.authorization.iter().all(is_internal)
    }
}
