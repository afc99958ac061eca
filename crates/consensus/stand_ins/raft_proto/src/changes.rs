//! Members, and changes of them.

use protobuf::{Message, ProtobufError};

/// What becomes of one member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(clippy::enum_variant_names, missing_docs, reason = "the engine's names")]
pub enum ConfChangeType {
    #[default]
    AddNode,
    RemoveNode,
    AddLearnerNode,
}

/// Whether a change goes through a joint configuration, and what ends that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs, reason = "the engine's names")]
pub enum ConfChangeTransition {
    #[default]
    Auto,
    Implicit,
    Explicit,
}

/// The members of a group, by their parts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[allow(missing_docs, reason = "the engine's names")]
pub struct ConfState {
    pub voters: Vec<u64>,
    pub learners: Vec<u64>,
    pub voters_outgoing: Vec<u64>,
    pub learners_next: Vec<u64>,
    pub auto_leave: bool,
}

#[allow(missing_docs, reason = "the engine's names")]
impl ConfState {
    pub fn get_voters(&self) -> &[u64] {
        &self.voters
    }

    pub fn get_learners(&self) -> &[u64] {
        &self.learners
    }

    pub fn get_voters_outgoing(&self) -> &[u64] {
        &self.voters_outgoing
    }

    pub fn get_learners_next(&self) -> &[u64] {
        &self.learners_next
    }

    pub fn set_voters(&mut self, voters: Vec<u64>) {
        self.voters = voters;
    }

    pub fn set_learners(&mut self, learners: Vec<u64>) {
        self.learners = learners;
    }

    pub fn set_voters_outgoing(&mut self, voters: Vec<u64>) {
        self.voters_outgoing = voters;
    }

    pub fn set_learners_next(&mut self, learners: Vec<u64>) {
        self.learners_next = learners;
    }
}

impl<Voters, Learners> From<(Voters, Learners)> for ConfState
where
    Voters: IntoIterator<Item = u64>,
    Learners: IntoIterator<Item = u64>,
{
    fn from((voters, learners): (Voters, Learners)) -> Self {
        let (voters, learners) = (voters.into_iter().collect(), learners.into_iter().collect());
        ConfState { voters, learners, ..ConfState::default() }
    }
}

/// A change of one member, in the form of old logs. There are none here, so it is never in an entry.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[allow(missing_docs, reason = "the engine's names")]
pub struct ConfChange {
    pub change_type: ConfChangeType,
    pub node_id: u64,
}

impl Message for ConfChange {
    fn compute_size(&self) -> u32 {
        0
    }

    fn write_to_bytes(&self) -> Result<Vec<u8>, ProtobufError> {
        Err(ProtobufError)
    }

    fn merge_from_bytes(&mut self, _: &[u8]) -> Result<(), ProtobufError> {
        Err(ProtobufError)
    }
}

/// A change of one member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs, reason = "the engine's names")]
pub struct ConfChangeSingle {
    pub change_type: ConfChangeType,
    pub node_id: u64,
}

#[allow(missing_docs, reason = "the engine's names")]
impl ConfChangeSingle {
    pub fn get_change_type(&self) -> ConfChangeType {
        self.change_type
    }

    pub fn set_change_type(&mut self, change_type: ConfChangeType) {
        self.change_type = change_type;
    }
}

/// Changes of several members at once.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[allow(missing_docs, reason = "the engine's names")]
pub struct ConfChangeV2 {
    pub transition: ConfChangeTransition,
    pub changes: Vec<ConfChangeSingle>,
}

#[allow(missing_docs, reason = "the engine's names")]
impl ConfChangeV2 {
    pub fn get_transition(&self) -> ConfChangeTransition {
        self.transition
    }

    pub fn set_changes(&mut self, changes: Vec<ConfChangeSingle>) {
        self.changes = changes;
    }

    /// Whether it needs a joint configuration, and if so, whether the leader leaves that itself.
    pub fn enter_joint(&self) -> Option<bool> {
        match self.transition {
            ConfChangeTransition::Auto if self.changes.len() <= 1 => None,
            ConfChangeTransition::Auto | ConfChangeTransition::Implicit => Some(true),
            ConfChangeTransition::Explicit => Some(false),
        }
    }

    /// Whether it ends a joint configuration.
    pub fn leave_joint(&self) -> bool {
        self.transition == ConfChangeTransition::Auto && self.changes.is_empty()
    }
}

/// Bytes of one change: what becomes of the member, and its id.
const SINGLE_LEN: usize = 9;

/// Only changes with the transition `Auto` become bytes; no others are proposed.
impl Message for ConfChangeV2 {
    fn compute_size(&self) -> u32 {
        (self.changes.len() * SINGLE_LEN) as u32
    }

    fn write_to_bytes(&self) -> Result<Vec<u8>, ProtobufError> {
        if self.transition != ConfChangeTransition::Auto {
            return Err(ProtobufError);
        }
        let mut bytes = Vec::with_capacity(self.changes.len() * SINGLE_LEN);
        for change in &self.changes {
            bytes.push(change.change_type as u8);
            bytes.extend_from_slice(&change.node_id.to_le_bytes());
        }
        Ok(bytes)
    }

    fn merge_from_bytes(&mut self, bytes: &[u8]) -> Result<(), ProtobufError> {
        let (changes, rest) = bytes.as_chunks::<SINGLE_LEN>();
        if !rest.is_empty() {
            return Err(ProtobufError);
        }
        self.transition = ConfChangeTransition::Auto;
        self.changes.clear();
        for [change_type, node_id @ ..] in changes {
            let change_type = match change_type {
                0 => ConfChangeType::AddNode,
                1 => ConfChangeType::RemoveNode,
                2 => ConfChangeType::AddLearnerNode,
                _ => return Err(ProtobufError),
            };
            self.changes.push(ConfChangeSingle { change_type, node_id: u64::from_le_bytes(*node_id) });
        }
        Ok(())
    }
}
