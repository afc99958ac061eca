//! What a node reports of its process and its machine, for views of all nodes of a cluster in one place.

/// Figures of a node. All of them are its own, whichever node shows them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NodeFigures {
    /// Resident memory, in bytes.
    pub memory_used_len: u64,
    /// Where the memory alarm begins, in bytes.
    pub memory_limit_len: u64,
    /// Whether that alarm is on.
    pub is_memory_low: bool,
    /// Free disk, in bytes.
    pub disk_free_len: u64,
    /// Where the disk alarm begins, in bytes.
    pub disk_free_limit_len: u64,
    /// Whether that alarm is on.
    pub is_disk_low: bool,
    /// Open files.
    pub file_count: u64,
    /// How many there may be.
    pub file_count_max: u64,
    /// Threads.
    pub thread_count: u64,
    /// How many there may be.
    pub thread_count_max: u64,
    /// Connections of clients that it serves: none where it follows.
    pub connection_count: u64,
    /// Tasks that wait for a thread.
    pub waiting_task_count: u64,
    /// Processors that it may run on.
    pub processor_count: u64,
    /// How long its process has been running, in milliseconds.
    pub uptime_ms: u64,
    /// The number of its process.
    pub pid: u64,
    /// Where its data is.
    pub data_dir: String,
    /// Which files its configuration is from.
    pub config_files: Vec<String>,
    /// Where it serves HTTP.
    pub contexts: Vec<Context>,
}

/// A listener of HTTP.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Context {
    /// What for.
    pub description: String,
    /// What paths begin with.
    pub path: String,
    /// The address it listens on.
    pub ip: String,
    /// The port.
    pub port: u16,
}
