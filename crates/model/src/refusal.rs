//! Why the broker does not do what it is asked for: a kind and a text, whichever protocol asks.
//!
//! Each protocol says it in its own way: AMQP 0-9-1 by a reply code, the HTTP API by a status.

/// What kind of reason it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RefusalKind {
    /// The name or the operation is not for this user.
    AccessRefused,
    /// There is no such queue, exchange, message or default queue.
    NotFound,
    /// It is another connection's exclusive queue.
    Locked,
    /// The state of things does not allow it, or what exists is declared otherwise.
    PreconditionFailed,
    /// It is not allowed at all: a limit is reached, or the virtual host is not for this user.
    NotAllowed,
    /// What should be a name, or properties, is not.
    Malformed,
    /// It is known, and not built.
    NotImplemented,
    /// It is the broker's own fault.
    Internal,
}

/// Why a request was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The kind of the reason.
    pub kind: RefusalKind,
    /// The explanation, in RabbitMQ's words where it has some.
    pub text: String,
}

/// What was asked for, or why not.
pub type Outcome<T> = Result<T, Box<Refusal>>;

macro_rules! refusals {
    ($($(#[$doc:meta])* $name:ident => $kind:ident;)*) => {
        $($(#[$doc])*
        ///
        /// # Errors
        ///
        /// Always.
        #[cold]
        pub fn $name<T>(text: impl Into<String>) -> Outcome<T> {
            Err(Box::new(Refusal { kind: RefusalKind::$kind, text: text.into() }))
        })*
    };
}

refusals! {
    /// Refuses what this user may not do.
    access_refused => AccessRefused;
    /// Refuses what is about a thing that does not exist.
    not_found => NotFound;
    /// Refuses what is about another connection's exclusive queue.
    locked => Locked;
    /// Refuses what the state of things does not allow.
    precondition_failed => PreconditionFailed;
    /// Refuses what is not allowed at all.
    not_allowed => NotAllowed;
    /// Refuses a name or properties that are not valid.
    malformed => Malformed;
    /// Refuses what is known and not built.
    not_implemented => NotImplemented;
    /// Says that the broker itself has failed.
    internal => Internal;
}
