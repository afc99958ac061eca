//! How things stand, once an interval.

/// A queue.
#[derive(Debug, Clone, Copy)]
pub struct QueueFacts<'a> {
    /// A number that no other queue has or will have.
    pub id: u64,
    /// Its name.
    pub name: &'a str,
    /// Messages that wait.
    pub ready_count: u64,
    /// Messages handed out and not settled.
    pub unacked_count: u64,
    /// Its consumers.
    pub consumer_count: u64,
}

/// How old the oldest ready message of a queue is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Age {
    /// There is none.
    Nothing,
    /// So many milliseconds.
    Ms(u64),
    /// Not known yet: it has to be read first.
    Unknown,
}

/// The node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NodeFacts {
    /// The memory alarm is on.
    pub is_memory_low: bool,
    /// The disk alarm is on.
    pub is_disk_low: bool,
    /// Messages were lost to damaged files, and no operator has taken note.
    pub has_data_loss: bool,
    /// What is out of order in the cluster; nothing is of a node alone.
    pub cluster_trouble_count: u64,
    /// Open connections.
    pub connection_count: u64,
    /// Those of them that have just been held up ([`Needs::flow`](crate::Needs)).
    pub flow_count: u64,
    /// How many connections there is room for, if that is known.
    pub connection_max: Option<u64>,
    /// How often a user or an address has been locked out since the start.
    pub lockout_count: u64,
    /// Messages that reached no queue since the start ([`Needs::unroutable`](crate::Needs)).
    pub unroutable_count: u64,
}
