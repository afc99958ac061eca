//! Exceptions of AMQP 0-9-1: the reply code and the text with which a channel or a connection is closed, as RabbitMQ words them.

use amqp::reply::ReplyCode;
use amqp::server::Violation;
use model::refusal::Refusal;

use crate::random::RandomError;
use crate::reply_codes::reply_code;

/// Why a method fails. Whether the channel or the connection ends for it follows from the code (AMQP 0-9-1, 1.2 and 2.2.4).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Exception {
    /// AMQP's code.
    pub(crate) code: ReplyCode,
    /// The explanation, without the code's name in front (see [`ReplyCode::text`]).
    pub(crate) text: String,
}

/// What became of a method.
pub(crate) type Handled<T> = Result<T, Box<Exception>>;

impl From<Box<Refusal>> for Box<Exception> {
    #[cold]
    fn from(refusal: Box<Refusal>) -> Self {
        Box::new(Exception { code: reply_code(refusal.kind), text: refusal.text })
    }
}

impl From<Violation> for Box<Exception> {
    #[cold]
    fn from(violation: Violation) -> Self {
        Box::new(Exception { code: violation.code, text: violation.text.into_owned() })
    }
}

impl From<RandomError> for Box<Exception> {
    #[cold]
    fn from(error: RandomError) -> Self {
        Box::new(Exception { code: ReplyCode::InternalError, text: error.to_string() })
    }
}

macro_rules! exceptions {
    ($($(#[$doc:meta])* $name:ident => $code:ident;)*) => {
        $($(#[$doc])*
        #[cold]
        pub(crate) fn $name<T>(text: impl Into<String>) -> Handled<T> {
            Err(Box::new(Exception { code: ReplyCode::$code, text: text.into() }))
        })*
    };
}

exceptions! {
    /// 404: no such queue, exchange, or default queue.
    not_found => NotFound;
    /// 502: a frame that is no method.
    syntax_error => SyntaxError;
    /// 503: a method that does not belong here.
    command_invalid => CommandInvalid;
    /// 540: known, and not built.
    not_implemented => NotImplemented;
}
