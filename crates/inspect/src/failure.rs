//! Why there is nothing to show.

/// One sentence, and the exit status: 1 failed, 2 bad usage, 0 where there is nothing to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    pub(crate) status: u8,
    pub(crate) text: String,
}

impl Failure {
    /// What was tried failed.
    pub(crate) fn failed(text: impl Into<String>) -> Failure {
        Failure { status: 1, text: text.into() }
    }

    /// The command line makes no sense.
    pub(crate) fn usage(text: impl Into<String>) -> Failure {
        Failure { status: 2, text: text.into() }
    }

    /// What reads the output has had enough, as `head` has: an end, and not an error.
    pub(crate) fn unread() -> Failure {
        Failure { status: 0, text: String::new() }
    }
}
