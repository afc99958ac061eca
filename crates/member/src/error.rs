//! Why a member cannot run.

use std::sync::Arc;

use store::OpenError;
use store::group::MemberDirError;
use store::journal;
use thiserror::Error;

/// Why a member cannot run, or its store cannot be opened.
#[derive(Debug, Error)]
pub enum MemberError {
    /// Its directory is no member's, or cannot become one.
    #[error(transparent)]
    Directory(#[from] MemberDirError),
    /// Its files cannot be used.
    #[error(transparent)]
    Files(#[from] OpenError),
    /// It must not go on as this member.
    #[error("this directory has lost data that it had confirmed to its cluster, and must join it again: {0}")]
    Promise(#[from] consensus::OpenError),
    /// Its journal is whole, and is not what a member writes.
    #[error("this directory's log is damaged: {what}")]
    Log {
        /// What is wrong.
        what: String,
    },
    /// Another member leads by now.
    #[error("this node is no longer the leader")]
    NotLeader,
    /// It has failed before.
    #[error("{0}")]
    Failed(Arc<str>),
}

impl From<journal::Failed> for MemberError {
    fn from(failed: journal::Failed) -> Self {
        MemberError::Failed(failed.to_string().into())
    }
}
