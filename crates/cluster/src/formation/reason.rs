//! Why a node has no cluster yet, or will have none, in sentences for its log and its status.

use std::fmt;

use crate::wire::{ClusterId, NodeName};

/// A name that is missed, and why it does not answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingPeer {
    /// Which.
    pub name: NodeName,
    /// Why.
    pub why: String,
}

/// What a node waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WaitReason {
    /// Its peers' names.
    Discovery {
        /// Why they are not known yet.
        why: String,
    },
    /// More of the listed names.
    Majority {
        /// How many of them answer, itself included.
        reachable: usize,
        /// How many are needed.
        needed: usize,
        /// How many there are to be: those listed, or what is hinted at.
        of: usize,
        /// Those that do not answer.
        missing: Vec<MissingPeer>,
    },
    /// The rest of the listed names, for a while: one of them might have data.
    Rest {
        /// Those that do not answer.
        missing: Vec<MissingPeer>,
        /// So long.
        for_ms: u64,
    },
    /// Another one, whose name is lower, to found the cluster.
    LowerName(NodeName),
    /// The one that was agreed on.
    Founder {
        /// Its name.
        name: NodeName,
        /// Whether it answers.
        is_reachable: bool,
    },
    /// All listed names: this node was agreed on with a directory that it no longer has.
    Replaced {
        /// Those that do not answer, or are not empty.
        missing: Vec<NodeName>,
    },
    /// A cluster to join: a node that is not in its own list founds none.
    NotListed(NodeName),
    /// To be let in.
    Join {
        /// By which node.
        by: NodeName,
        /// Why it was not at once.
        why: Option<String>,
    },
    /// A majority to agree.
    Consent,
    /// Nothing: it has data, and its peers have a cluster without it.
    Outside {
        /// Theirs.
        cluster: ClusterId,
        /// The peer that belongs to it.
        peer: NodeName,
    },
}

impl fmt::Display for WaitReason {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WaitReason::Discovery { why } => write!(to, "the names of this node's peers are not known yet: {why}"),
            WaitReason::Majority { reachable, needed, of, missing } => {
                write!(
                    to,
                    "{reachable} of {of} nodes can be reached, this one included, and {needed} are needed to form a cluster"
                )?;
                list_missing(to, missing)
            }
            WaitReason::Rest { missing, for_ms } => {
                let seconds = for_ms.div_ceil(1000);
                write!(to, "a majority can be reached, and this node waits {seconds} s for the others")?;
                list_missing(to, missing)
            }
            WaitReason::LowerName(name) => write!(to, "{name} has the lowest name and is to form the cluster"),
            WaitReason::Founder { name, is_reachable: true } => {
                write!(to, "the nodes have agreed that {name} forms the cluster, which it has not done yet")
            }
            WaitReason::Founder { name, is_reachable: false } => write!(
                to,
                "the nodes have agreed that {name} forms the cluster, and it cannot be reached: start it, or, if its directory is lost \
                 for good, reset the other nodes, which are empty (warren ctl force_reset)"
            ),
            WaitReason::Replaced { missing } => {
                write!(
                    to,
                    "this node was agreed on to form the cluster with a directory that it no longer has; it does so as soon as \
                     all others answer and are empty, missing: {}",
                    Names(missing)
                )
            }
            WaitReason::NotListed(own) => {
                write!(
                    to,
                    "{own} is not among the listed names, so it forms no cluster and waits for one of them to do so"
                )
            }
            WaitReason::Join { by, why: None } => write!(to, "it asks {by} to let it join"),
            WaitReason::Join { by, why: Some(why) } => write!(to, "{by} does not let it join yet: {why}"),
            WaitReason::Consent => to.write_str("it asks a majority to agree that it forms the cluster"),
            WaitReason::Outside { cluster, peer } => write!(
                to,
                "{peer} belongs to cluster {cluster}, and this node has data of its own: it stays alone. To let it join and lose its \
                 data: warren ctl join_cluster --force {peer}"
            ),
        }
    }
}

/// Why a node gives up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FormationFailure {
    /// Its peers belong to two clusters.
    TwoClusters {
        /// A peer and its cluster.
        one: (NodeName, ClusterId),
        /// Another peer and its.
        other: (NodeName, ClusterId),
    },
    /// Its peers' names could not be found out.
    Discovery {
        /// So often.
        tries: u32,
        /// Why.
        why: String,
    },
    /// A peer does not let it join, and will not.
    Refused {
        /// Which.
        by: NodeName,
        /// Why.
        why: String,
    },
}

impl fmt::Display for FormationFailure {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FormationFailure::TwoClusters { one: (peer, cluster), other: (other_peer, other_cluster) } => write!(
                to,
                "there are two clusters among the peers of this node, which joins neither: {peer} belongs to {cluster}, {other_peer} to \
                 {other_cluster}; take the nodes of one of them off the list"
            ),
            FormationFailure::Discovery { tries, why } => {
                write!(to, "the names of this node's peers could not be found out in {tries} tries: {why}")
            }
            FormationFailure::Refused { by, why } => write!(to, "{by} does not let this node join: {why}"),
        }
    }
}

struct Names<'a>(&'a [NodeName]);

impl fmt::Display for Names<'_> {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, name) in self.0.iter().enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            write!(to, "{comma}{name}")?;
        }
        Ok(())
    }
}

fn list_missing(to: &mut fmt::Formatter<'_>, missing: &[MissingPeer]) -> fmt::Result {
    for (at, MissingPeer { name, why }) in missing.iter().enumerate() {
        let before = if at == 0 { "; missing: " } else { ", " };
        write!(to, "{before}{name} ({why})")?;
    }
    Ok(())
}
