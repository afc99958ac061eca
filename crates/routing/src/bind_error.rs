//! Why a binding could not be added or removed.

use crate::consistent_hash::InvalidWeight;

/// Why something could not be bound, or unbound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BindError {
    /// The default exchange has its implicit bindings and no others, in either direction.
    #[error("nothing can be bound to or from the default exchange")]
    DefaultExchange,
    /// There is no such source. (Of a binding to be removed, that is no error.)
    #[error("no such source exchange")]
    SourceMissing,
    /// There is no such queue, or destination exchange.
    #[error("no such destination")]
    DestinationMissing,
    /// A headers exchange does not know this value of the argument `x-match`, or it is no string.
    #[error("invalid x-match")]
    InvalidMatch,
    /// A consistent hash exchange does not know this binding key as a weight.
    #[error("invalid weight: {0}")]
    InvalidWeight(InvalidWeight),
}
