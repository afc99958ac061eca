//! Why a node does not run.

use std::path::PathBuf;

use member::MemberError;

use super::files::FileError;
use crate::driver::DriverError;
use crate::peers::StartError;
use crate::wire::NodeName;

/// Why a node does not run.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// Its links cannot be.
    #[error(transparent)]
    Links(#[from] StartError),
    /// Its directory cannot be used.
    #[error(transparent)]
    Store(#[from] store::OpenError),
    /// Its directory cannot be a member's.
    #[error(transparent)]
    Member(#[from] MemberError),
    /// Nor this.
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// A file of its cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// The disk said no.
    #[error("the data directory cannot be used: {0}")]
    Io(#[from] std::io::Error),
    /// It was given another name.
    #[error(
        "the data directory is {was}'s, and this node is called {is}: a member of a cluster keeps its name (warren.node_name)"
    )]
    Renamed {
        /// The directory's.
        was: String,
        /// The node's.
        is: NodeName,
    },
    /// Its peers have found it to have lost what it promised.
    #[error("{0}")]
    Lost(String),
    /// Its directory was copied.
    #[error(
        "{} is a copy of {name}'s directory: of what it has promised to the others to have, it may lack what came after. Empty the \
         directory, and it joins anew; or, if the directory was moved here and nothing has run on the original since, say \
         `warren ctl --data-dir {} accept_copy`",
        .dir.display(), .dir.display()
    )]
    Copy {
        /// Whose.
        name: NodeName,
        /// The directory.
        dir: PathBuf,
    },
    /// Peers could not find it.
    #[error("it is not known where peers reach {0}: its name has no host, so set warren.cluster.advertise")]
    NoAddress(NodeName),
    /// The broker on it cannot run.
    #[error("{0}")]
    Host(String),
}
