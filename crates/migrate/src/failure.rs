//! Why the migration does not continue.

/// Why something could not be done. Each is one sentence, without passwords.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// A broker does not answer, or not now: it is asked again.
    #[error("{0}")]
    Away(String),
    /// The migration cannot continue until an operator acts.
    #[error("{0}")]
    Stopped(String),
    /// An operator interrupted it.
    #[error("interrupted")]
    Interrupted,
    /// The output's reader has closed it.
    #[error("the reader of the output has closed it")]
    Unread,
}

impl Failure {
    pub(crate) fn stopped(text: impl Into<String>) -> Self {
        Failure::Stopped(text.into())
    }
}
