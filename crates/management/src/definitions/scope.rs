//! What an import is about, and how far it goes.

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

/// Why what a vhost is to have cannot be imported, in RabbitMQ's words.
pub(super) fn no_vhost(name: &str) -> String {
    format!("Please create virtual host \"{name}\" prior to importing definitions.")
}
