//! A request refused: the reply code and the text that the client gets, as RabbitMQ words them.

use amqp::reply::ReplyCode;
use amqp::server::Violation;

use crate::random::RandomError;

/// Why a method was refused. Whether the channel or the connection ends for it follows from the code
/// (AMQP 0-9-1, 1.2 and 2.2.4), unless the refusal says that the connection must.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// AMQP's code.
    pub code: ReplyCode,
    /// The explanation, without the code's name in front (see [`ReplyCode::text`]).
    pub text: String,
}

/// What was asked for, or why not.
pub type Outcome<T> = Result<T, Box<Refusal>>;

impl Refusal {
    fn of<T>(code: ReplyCode, text: impl Into<String>) -> Outcome<T> {
        Err(Box::new(Self { code, text: text.into() }))
    }
}

impl From<Violation> for Box<Refusal> {
    #[cold]
    fn from(violation: Violation) -> Self {
        Box::new(Refusal { code: violation.code, text: violation.text.into_owned() })
    }
}

impl From<RandomError> for Box<Refusal> {
    #[cold]
    fn from(error: RandomError) -> Self {
        Box::new(Refusal { code: ReplyCode::InternalError, text: error.to_string() })
    }
}

macro_rules! refusals {
    ($($(#[$doc:meta])* $name:ident => $code:ident;)*) => {
        $($(#[$doc])* pub(crate) fn $name<T>(text: impl Into<String>) -> Outcome<T> {
            Refusal::of(ReplyCode::$code, text)
        })*
    };
}

refusals! {
    /// 403: the name or the operation is not for this user.
    access_refused => AccessRefused;
    /// 404: no such queue, exchange, or default queue.
    not_found => NotFound;
    /// 405: another connection's exclusive queue.
    resource_locked => ResourceLocked;
    /// 406: the state of things does not allow it.
    precondition_failed => PreconditionFailed;
    /// 502: a frame that is no method.
    syntax_error => SyntaxError;
    /// 503: a method that does not belong here.
    command_invalid => CommandInvalid;
    /// 530: not allowed at all.
    not_allowed => NotAllowed;
    /// 540: known, and not built.
    not_implemented => NotImplemented;
    /// 541: our own fault.
    internal_error => InternalError;
}
