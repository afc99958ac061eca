//! Wakes connections when the journal is as far as they wait for.
//!
//! A thread of the journal that wakes a task has the runtime wake a thread, and that one another to look for more work: two switches of
//! threads for a confirm that one could write. So the journal writes to a pipe, for which the thread that waits for sockets is woken as it
//! is for a socket, and a task wakes the connections there.

use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::sync::Arc;

use rustix::pipe::{PipeFlags, pipe_with};
use store::Store;
use tokio::io::{AsyncRead, ReadBuf};
use tokio::net::unix::pipe::Receiver;

use crate::broker::Broker;

impl Broker {
    /// Wakes connections for as long as it is polled. Where that is not, or not possible, the journal's threads do.
    pub async fn wake_for_journal(self: Arc<Self>) {
        let store = EndRelay(self.engine.store.clone());
        let Err(error) = relay(&store.0).await;
        tracing::warn!(%error, "connections are woken by the threads of the journal");
    }
}

async fn relay(store: &Store) -> io::Result<std::convert::Infallible> {
    let (read, write) = pipe_with(PipeFlags::NONBLOCK | PipeFlags::CLOEXEC)?;
    let mut receiver = pin!(Receiver::from_owned_fd(read)?);
    // A pipe that is full is being read.
    store.relay_wakes(move || _ = rustix::io::write(&write, &[0]));
    loop {
        // Longer than what is in it: what is read is then known to be all.
        let mut bytes = [0; 16];
        let mut bytes = ReadBuf::new(&mut bytes);
        poll_fn(|cx| receiver.as_mut().poll_read(cx, &mut bytes)).await?;
        store.wake_due_tasks();
    }
}

/// However the relay ends, no waker is left behind.
struct EndRelay(Arc<Store>);

impl Drop for EndRelay {
    fn drop(&mut self) {
        self.0.end_relay();
    }
}
