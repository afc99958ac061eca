//! Why it does not go on.

/// Why something could not be done. Each is one sentence, without passwords.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// A broker does not answer, or not now: it is asked again.
    #[error("{0}")]
    Away(String),
    /// It will not go on by itself.
    #[error("{0}")]
    Stopped(String),
    /// An operator said so.
    #[error("interrupted")]
    Interrupted,
    /// What is written is not read any more.
    #[error("the reader of the output has closed it")]
    Unread,
}

impl Failure {
    pub(crate) fn stopped(text: impl Into<String>) -> Self {
        Failure::Stopped(text.into())
    }
}
