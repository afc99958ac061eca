//! Why a document cannot be imported.

use crate::read_error::ReadError;

/// Why definitions cannot be imported, with the entry that is in the way. Nothing has been imported unless the text says that.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DefinitionsError(pub String);

impl From<ReadError> for DefinitionsError {
    fn from(error: ReadError) -> DefinitionsError {
        DefinitionsError(error.in_words_of_rabbitmq())
    }
}
