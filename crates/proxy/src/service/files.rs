//! Files for sockets: some are kept from clients, since no client is served where none is left for upstreams.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::limits::{LINE_FILE_COUNT_MAX, LINE_FILE_COUNT_MIN};

/// How many files clients and upstream connections may have together before no other client is let in, where the process may have so many.
#[must_use]
pub fn client_file_count_max(limit: Option<u64>) -> usize {
    let Some(limit) = limit else { return usize::MAX };
    let kept = (limit / 4).clamp(LINE_FILE_COUNT_MIN, LINE_FILE_COUNT_MAX);
    limit.saturating_sub(kept).try_into().unwrap_or(usize::MAX)
}

/// Files of clients and upstream connections, counted by all threads.
#[derive(Debug)]
pub(crate) struct Files {
    in_use: AtomicUsize,
    client_max: usize,
}

/// The file of one client or upstream connection, as long as it is there.
#[derive(Debug)]
pub(crate) struct FileInUse(Arc<Files>);

impl Files {
    pub(crate) fn new(client_max: usize) -> Self {
        Files { in_use: AtomicUsize::new(0), client_max }
    }

    /// For a client. `None`: those that are left are for upstream connections.
    pub(crate) fn take_for_client(self: &Arc<Self>) -> Option<FileInUse> {
        let file = self.take();
        // Counted before it is looked at, so that threads do not let in one each.
        (self.in_use.load(Ordering::Relaxed) <= self.client_max).then_some(file)
    }

    /// For an upstream connection.
    pub(crate) fn take(self: &Arc<Self>) -> FileInUse {
        self.in_use.fetch_add(1, Ordering::Relaxed);
        FileInUse(self.clone())
    }
}

impl Drop for FileInUse {
    fn drop(&mut self) {
        self.0.in_use.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_files_are_kept_from_clients() {
        for (limit, expected) in [(16, 0), (64, 40), (1024, 768), (4096, 3072), (1_000_000, 998_976)] {
            assert_eq!(client_file_count_max(Some(limit)), expected, "{limit}");
        }
        assert_eq!(client_file_count_max(None), usize::MAX);
    }

    #[test]
    fn connections_have_files_where_clients_get_none_and_clients_do_when_others_have_gone() {
        let files = Arc::new(Files::new(2));
        let (first, connection) = (files.take_for_client(), files.take());
        assert!(first.is_some() && files.take_for_client().is_none());
        let other = files.take();
        drop(first);
        assert!(files.take_for_client().is_none());
        drop((connection, other));
        assert!(files.take_for_client().is_some());
    }
}
