//! What this process and its machine are at, for the node that shows all nodes of the cluster.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use broker::machine;
use broker::view::Alarms;
use cluster::control::{Context, NodeFigures};

use crate::node::Node;

/// What of it stays the same as long as the process runs.
pub(super) struct OwnFigures {
    options: Arc<management::Options>,
    contexts: Vec<Context>,
    data_dir: PathBuf,
    started_at: Instant,
}

impl OwnFigures {
    pub(super) fn of(node: &Node) -> Self {
        let settings = node.settings();
        let contexts = management::http_contexts(&settings.listeners, &settings.of_http.path_prefix);
        OwnFigures {
            options: settings.of_http.clone(),
            contexts: contexts.collect(),
            data_dir: settings.data_dir.clone(),
            started_at: settings.started_at,
        }
    }

    /// All of it now, by these limits of memory and disk.
    pub(super) fn now(&self, (memory_limit_len, disk_free_limit_len): (u64, u64), alarms: Alarms) -> NodeFigures {
        let runtime = self.options.runtime.as_ref();
        NodeFigures {
            memory_used_len: machine::resident_len().unwrap_or(0),
            memory_limit_len,
            is_memory_low: alarms.is_memory_low,
            disk_free_len: machine::free_len(&self.data_dir).unwrap_or(0),
            disk_free_limit_len,
            is_disk_low: alarms.is_disk_low,
            file_count: machine::open_file_count().unwrap_or(0),
            file_count_max: self.options.file_limit.unwrap_or(0),
            thread_count: machine::thread_count().unwrap_or(0),
            thread_count_max: machine::thread_max().unwrap_or(0),
            connection_count: 0,
            waiting_task_count: runtime.map_or(0, |runtime| runtime.metrics().global_queue_depth() as u64),
            processor_count: crate::machine::processor_count() as u64,
            uptime_ms: self.started_at.elapsed().as_millis() as u64,
            pid: std::process::id().into(),
            data_dir: self.data_dir.to_string_lossy().into_owned(),
            config_files: self.options.config_files.clone(),
            contexts: self.contexts.clone(),
        }
    }
}
