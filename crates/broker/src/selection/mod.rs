//! What operators do with single messages of a queue: browse them, delete them, bring them elsewhere.

#[expect(dead_code, reason = "whoever browses or takes out a message in a segment reads it by this")]
mod looks;

pub(crate) use looks::Looks;
