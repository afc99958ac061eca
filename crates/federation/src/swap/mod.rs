//! How the bindings of an upstream are made anew without a message lost: beside the exchange that is in use another one is filled, and the
//! old one is deleted when the new one is complete. Both lead to one queue, which gets each message once. No I/O.
//!
//! ```text
//!                 ┌─► A ─┐                    what exists       done in this order
//!  exchange x ────┤      ├─► queue            neither           fill B
//!                 └─► B ─┘                    one of them       fill the other one, delete it
//!                                             both              complete B, delete A; then as if B alone were there
//! ```
//!
//! Both are there when a link died between filling one and deleting the other: one of them is complete, and which one is not known. So
//! what is missing in B is added, and only then A is deleted. What B has too much is removed in the second half. RabbitMQ remembers which
//! one it has begun to fill; here the existing ones show enough.

use crate::names::Side;

/// What is done at the upstream, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// An exchange is declared, and bound to the queue.
    Declare(Side),
    /// An exchange that is there is bound to the queue.
    Lead(Side),
    /// All bindings are made.
    Bind(Side),
    /// An exchange is deleted.
    Delete(Side),
}

/// Which sides are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) a: bool,
    pub(crate) b: bool,
}

/// What is to be done, and the side that is in use then.
pub(crate) fn plan(found: Found) -> (Vec<Step>, Side) {
    let mut steps = Vec::new();
    let in_use = match found {
        Found { a: false, b: false } => None,
        Found { a: true, b: false } => Some(Side::A),
        Found { a: false, b: true } => Some(Side::B),
        Found { a: true, b: true } => {
            steps.extend([Step::Lead(Side::B), Step::Bind(Side::B), Step::Delete(Side::A)]);
            Some(Side::B)
        }
    };
    let next = in_use.map_or(Side::B, Side::other);
    steps.extend([Step::Declare(next), Step::Bind(next)]);
    steps.extend(in_use.map(Step::Delete));
    (steps, next)
}

#[cfg(test)]
mod tests;
