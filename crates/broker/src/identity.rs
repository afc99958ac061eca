//! Which user acts, and from where: the same for connections, for the HTTP API and for the control socket.

use std::net::SocketAddr;
use std::sync::{Arc, LazyLock};
use std::time::SystemTime;

use model::login_session::SessionDigest;
use model::name::UserName;
use model::user::{Tags, User};

use crate::backend::{Backend, BackendUser};

/// A user that has logged in.
#[derive(Debug, Clone)]
pub struct Identity {
    /// The user, as it was when it logged in.
    pub user: Arc<User>,
    pub(crate) rights: Rights,
    /// Until when it holds; None: without an end.
    pub expires_at: Option<SystemTime>,
    /// The session that it has been found by, and with which it ends.
    pub(crate) session: Option<SessionDigest>,
}

/// What decides what a user may do.
#[derive(Debug, Clone)]
pub(crate) enum Rights {
    /// The permissions that the broker keeps.
    Stored,
    /// Others have to agree, all of them.
    Others(Arc<[Authorizer]>),
    /// Everything: the host's own operator.
    All,
}

/// The authority that has to agree to what a user does.
#[derive(Debug, Clone)]
pub(crate) enum Authorizer {
    /// The permissions that the broker keeps.
    Stored,
    /// A back end, and what it knows of the user.
    Backend(Arc<dyn Backend>, BackendUser),
}

impl Identity {
    pub(crate) fn stored(user: Arc<User>) -> Self {
        Self { user, rights: Rights::Stored, expires_at: None, session: None }
    }

    /// Whether it is one of the broker's own users, whose tags may change.
    #[must_use]
    pub fn is_stored(&self) -> bool {
        matches!(self.rights, Rights::Stored)
    }

    /// Whether the broker's own permissions, or its own users, say what it may do.
    #[must_use]
    pub fn is_internal(&self) -> bool {
        match &self.rights {
            Rights::Stored | Rights::All => true,
            Rights::Others(all) => all.iter().any(|authorizer| matches!(authorizer, Authorizer::Stored)),
        }
    }

    /// A client at the control socket: the host's own operator, who may do everything and needs no password.
    #[must_use]
    pub fn local_operator() -> Self {
        let name = UserName::parse(LOCAL_OPERATOR.as_bytes()).expect("a name of ours");
        let user = User::new(name, None, Tags::parse(Tags::ADMINISTRATOR));
        Self { user: Arc::new(user), rights: Rights::All, expires_at: None, session: None }
    }

    /// The broker itself as a client of its own: shovels and links whose URI names no user. As with RabbitMQ's direct connections it may
    /// do everything, and messages keep the `user_id` of their publishers.
    #[must_use]
    pub fn own_client() -> Self {
        // One for all of them: there may be thousands.
        static USER: LazyLock<Arc<User>> = LazyLock::new(|| {
            let name = UserName::parse(OWN_CLIENT.as_bytes()).expect("a name of ours");
            Arc::new(User::new(name, None, Tags::parse(Tags::IMPERSONATOR)))
        });
        Self { user: USER.clone(), rights: Rights::All, expires_at: None, session: None }
    }

    /// The user's name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.user.name.as_str()
    }
}

/// What the operator at the control socket is called in the audit log and in events.
const LOCAL_OPERATOR: &str = "local-operator";

/// What RabbitMQ calls the user of a direct connection that names none.
const OWN_CLIENT: &str = "none";

/// By which way a request came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Interface {
    /// An AMQP connection.
    Amqp,
    /// The HTTP API.
    Http,
    /// The control socket in the data directory.
    ControlSocket,
    /// The broker itself: what its configuration asks for.
    Broker,
}

impl Interface {
    /// Whether only the operator of the broker's host can come this way.
    #[must_use]
    pub fn is_of_host(self) -> bool {
        matches!(self, Interface::ControlSocket | Interface::Broker)
    }

    /// What the audit log calls it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Interface::Amqp => "amqp",
            Interface::Http => "http",
            Interface::ControlSocket => "control-socket",
            Interface::Broker => "broker",
        }
    }
}

/// Where a request comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    /// The peer's address; none where there is no network between.
    pub peer: Option<SocketAddr>,
    /// By which way.
    pub interface: Interface,
}

impl Origin {
    /// The broker itself.
    #[must_use]
    pub fn broker() -> Self {
        Self { peer: None, interface: Interface::Broker }
    }

    /// Whether it comes from the host itself.
    #[must_use]
    pub fn is_local(&self) -> bool {
        self.peer.is_none_or(|peer| peer.ip().to_canonical().is_loopback())
    }
}

/// A user that does something, and from where.
#[derive(Debug, Clone)]
pub struct Actor {
    /// The user.
    pub identity: Arc<Identity>,
    /// From where.
    pub origin: Origin,
}

impl Actor {
    /// The broker itself.
    #[must_use]
    pub fn broker() -> Self {
        Self { identity: Arc::new(Identity::local_operator()), origin: Origin::broker() }
    }
}
