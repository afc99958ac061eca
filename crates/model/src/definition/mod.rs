//! Definitions: what an operator or a client declared and the broker must remember. Each is one key and one value for
//! the store, which knows nothing of either; the last value of a key counts, a deleted key has none.
//!
//! ```text
//!  key    | kind u8 | names … |              name    | len u8 | bytes |
//!  value  | version u8 | fields … |          text    | len u32 | bytes |      integers are little-endian
//! ```
//!
//! Keys sort by kind, then by vhost, so that a prefix of a key finds all of one kind or of one vhost, and reading them in
//! order meets vhosts before users, exchanges and queues before bindings, and all of them before policies. `docs/formats/definitions.md`
//! has every byte.

mod binding;
mod codec;
mod exchange;
mod kind;
mod parameter;
mod policy;
mod queue;
mod user;
mod vhost;

pub use binding::{Binding, BindingChange, Destination};
pub use exchange::Exchange;
pub use kind::{DecodeError, Kind, prefix};
pub use queue::Queue;
pub use user::UserPermission;

use crate::parameter::{GlobalParameter, VhostParameter};
use crate::policy::Policy;
use crate::user::{TopicPermission, User};
use crate::vhost::Vhost;
use codec::{Reader, Writer};
use kind::kind_of;

/// Anything that is defined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Definition {
    /// A vhost.
    Vhost(Vhost),
    /// A user.
    User(User),
    /// What a user may do in a vhost.
    Permission(UserPermission),
    /// An exchange.
    Exchange(Exchange),
    /// A queue.
    Queue(Queue),
    /// A binding.
    Binding(Binding),
    /// Which routing keys a user may use on a topic exchange.
    TopicPermission(TopicPermission),
    /// A user's or an operator's policy.
    Policy(Policy),
    /// A parameter of the whole cluster.
    GlobalParameter(GlobalParameter),
    /// A parameter of a vhost.
    Parameter(VhostParameter),
}

impl Definition {
    /// What it defines.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Definition::Vhost(_) => Kind::Vhost,
            Definition::User(_) => Kind::User,
            Definition::Permission(_) => Kind::Permission,
            Definition::Exchange(_) => Kind::Exchange,
            Definition::Queue(_) => Kind::Queue,
            Definition::Binding(_) => Kind::Binding,
            Definition::TopicPermission(_) => Kind::TopicPermission,
            Definition::Policy(_) => Kind::Policy,
            Definition::GlobalParameter(_) => Kind::GlobalParameter,
            Definition::Parameter(_) => Kind::Parameter,
        }
    }

    /// The key under which it is stored; another definition of the same thing has the same.
    #[must_use]
    pub fn key(&self) -> Vec<u8> {
        match self {
            Definition::Vhost(vhost) => vhost.key(),
            Definition::User(user) => user.key(),
            Definition::Permission(permission) => permission.key(),
            Definition::Exchange(exchange) => exchange.key(),
            Definition::Queue(queue) => queue.key(),
            Definition::Binding(binding) => binding.key(),
            Definition::TopicPermission(permission) => permission.key(),
            Definition::Policy(policy) => policy.key(),
            Definition::GlobalParameter(parameter) => parameter.key(),
            Definition::Parameter(parameter) => parameter.key(),
        }
    }

    /// The value to store: all that is not in the key.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut value = Writer::default();
        value.u8(self.kind().version());
        match self {
            Definition::Vhost(vhost) => vhost.put_value(&mut value),
            Definition::User(user) => user.put_value(&mut value),
            Definition::Permission(permission) => permission.put_value(&mut value),
            Definition::Exchange(exchange) => exchange.put_value(&mut value),
            Definition::Queue(queue) => queue.put_value(&mut value),
            Definition::Binding(binding) => binding.put_value(&mut value),
            Definition::TopicPermission(permission) => permission.put_value(&mut value),
            Definition::Policy(policy) => policy.put_value(&mut value),
            Definition::GlobalParameter(parameter) => parameter.put_value(&mut value),
            Definition::Parameter(parameter) => parameter.put_value(&mut value),
        }
        value.finish()
    }

    /// Reads a stored definition.
    pub fn decode(key: &[u8], value: &[u8]) -> Result<Definition, DecodeError> {
        let (kind, names) = kind_of(key)?;
        let corrupt = |what| DecodeError::Corrupt { kind, what };
        let (&version, fields) = value.split_first().ok_or(corrupt("the value is empty"))?;
        if version == 0 || version > kind.version() {
            return Err(DecodeError::UnknownVersion { kind, version });
        }
        let (mut names, mut fields) = (Reader::new(names), Reader::new(fields));
        let definition = Definition::read(kind, version, &mut names, &mut fields).map_err(corrupt)?;
        if !fields.is_empty() {
            return Err(corrupt("the value is too long"));
        }
        if definition.key() != key {
            return Err(corrupt("the key does not fit the value"));
        }
        Ok(definition)
    }

    fn read(
        kind: Kind,
        version: u8,
        names: &mut Reader<'_>,
        fields: &mut Reader<'_>,
    ) -> Result<Definition, &'static str> {
        Ok(match kind {
            Kind::Vhost => Definition::Vhost(Vhost::read(version, names, fields)?),
            Kind::User => Definition::User(User::read(version, names, fields)?),
            Kind::Permission => Definition::Permission(UserPermission::read(names, fields)?),
            Kind::Exchange => Definition::Exchange(Exchange::read(names, fields)?),
            Kind::Queue => Definition::Queue(Queue::read(names, fields)?),
            Kind::Binding => Definition::Binding(Binding::read(names, fields)?),
            Kind::TopicPermission => Definition::TopicPermission(TopicPermission::read_from(names, fields)?),
            Kind::Policy => Definition::Policy(Policy::read(names, fields)?),
            Kind::GlobalParameter => Definition::GlobalParameter(GlobalParameter::read(names, fields)?),
            Kind::Parameter => Definition::Parameter(VhostParameter::read(names, fields)?),
        })
    }
}

#[cfg(test)]
mod tests;
