//! How a command ended that did not do what it was to: one sentence, and the exit status that rabbitmqctl has for it.

/// Something that was looked at is refused here. No other command ends so.
pub(crate) const REFUSED: u8 = 1;
/// The words make no sense.
pub(crate) const USAGE: u8 = 64;
/// What was given, or what it is about, is not as it should be: a virtual host that does not exist, a file that is not valid.
pub(crate) const DATA: u8 = 65;
/// There is no such user.
pub(crate) const NO_USER: u8 = 67;
/// The server is not there, or refuses.
pub(crate) const UNAVAILABLE: u8 = 69;
/// What should not be is: a user that exists already, an answer that cannot be read.
pub(crate) const SOFTWARE: u8 = 70;
/// A file cannot be written.
pub(crate) const CANNOT_CREATE: u8 = 73;
/// No answer in time: another attempt may have one.
pub(crate) const TEMPORARY: u8 = 75;
/// The user may not do that, or did not prove who they are.
pub(crate) const NO_PERMISSION: u8 = 77;
/// A file of settings is not as it should be.
pub(crate) const CONFIG: u8 = 78;

/// Why a command failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) status: u8,
    pub(crate) text: String,
}

impl Failure {
    pub(crate) fn new(status: u8, text: impl Into<String>) -> Self {
        Failure { status, text: text.into() }
    }

    pub(crate) fn usage(text: impl Into<String>) -> Self {
        Failure::new(USAGE, text)
    }

    pub(crate) fn data(text: impl Into<String>) -> Self {
        Failure::new(DATA, text)
    }

    pub(crate) fn unavailable(text: impl Into<String>) -> Self {
        Failure::new(UNAVAILABLE, text)
    }

    /// Only a Warren has what is asked for.
    pub(crate) fn not_warren() -> Self {
        Failure::unavailable(
            "the server cannot do that over HTTP: it is Warren's own, and this may be a RabbitMQ or an older Warren",
        )
    }

    pub(crate) fn no_such_user(user: &str) -> Self {
        Failure::new(NO_USER, format!("user \"{user}\" does not exist"))
    }

    pub(crate) fn no_such_vhost(vhost: &str) -> Self {
        Failure::data(format!("virtual host '{vhost}' does not exist"))
    }
}
