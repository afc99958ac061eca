//! Which reply code of AMQP 0-9-1 says what a refusal says.

use amqp::reply::ReplyCode;
use model::refusal::RefusalKind;

/// The code of a kind of refusal, as RabbitMQ has them.
#[must_use]
pub fn reply_code(kind: RefusalKind) -> ReplyCode {
    match kind {
        RefusalKind::AccessRefused => ReplyCode::AccessRefused,
        RefusalKind::NotFound => ReplyCode::NotFound,
        RefusalKind::Locked => ReplyCode::ResourceLocked,
        RefusalKind::PreconditionFailed => ReplyCode::PreconditionFailed,
        RefusalKind::NotAllowed => ReplyCode::NotAllowed,
        RefusalKind::Malformed => ReplyCode::SyntaxError,
        RefusalKind::NotImplemented => ReplyCode::NotImplemented,
        RefusalKind::Internal => ReplyCode::InternalError,
    }
}
