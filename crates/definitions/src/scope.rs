//! What a document is of, and what becomes of entries that this broker cannot have.

use model::name::VhostName;

use crate::fields::Fields;
use crate::read_error::ReadError;

/// What becomes of what a document has and this broker cannot do: features that are not built, settings of plugins that are not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unsupported {
    /// The whole document is refused, and all of it is named.
    #[default]
    Refused,
    /// It is left out, with what needs it, and named.
    LeftOut,
}

/// Which definitions are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope<'a> {
    /// All.
    Broker,
    /// Those of one vhost.
    Vhost(&'a str),
}

impl Scope<'_> {
    /// The vhost of an entry: the one that the document is of, or the one that the entry names.
    pub fn vhost_of(self, fields: Fields<'_>) -> Result<VhostName, ReadError> {
        let name = match self {
            Scope::Broker => fields.required_text("vhost")?,
            Scope::Vhost(name) => name,
        };
        VhostName::parse(name.as_bytes()).map_err(ReadError::invalid)
    }
}
