//! Turns of a task that take long although no lock is held for long.

use tokio::runtime::{Handle, RuntimeFlavor};

/// Does what may take more than a few milliseconds, in pieces, so that others come to the locks in between. This worker looks at no
/// sockets meanwhile, and the runtime wakes no other for a single task: so what the worker has to do besides is handed to another thread.
pub fn take_long<T>(act: impl FnOnce() -> T) -> T {
    let has_other_workers = |runtime: Handle| runtime.runtime_flavor() == RuntimeFlavor::MultiThread;
    // Timers and tests have threads of their own, and no sockets.
    if Handle::try_current().is_ok_and(has_other_workers) { tokio::task::block_in_place(act) } else { act() }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_takes_long_leaves_its_worker_to_others() {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
        let (done, is_done) = mpsc::channel();
        let long = runtime.spawn(async move {
            // The only worker is this one.
            tokio::spawn(async move { done.send(()) });
            take_long(|| is_done.recv_timeout(Duration::from_secs(60)))
        });
        assert_eq!(runtime.block_on(long).unwrap(), Ok(()));
    }
}
