//! One thread of the proxy: its own clients, lines and pools, and nothing shared with the others but which upstreams are well and who may
//! come in.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Waker;
use std::time::{Duration, Instant};

use net::{Admission, AdmitError, Listener, Stream};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinHandle, spawn_local};

use super::sockets::{Party, carry};
use super::upstreams::Upstreams;
use super::{Command, Gate, ListenerOptions};
use crate::guard::Seat;
use crate::switchboard::{ClientId, Effect, LineId, Notice, Switchboard};

/// How often the switchboard is told what time it is.
const TICK: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) board: RefCell<Switchboard>,
    watchers: RefCell<HashMap<Party, Waker>>,
    peers: RefCell<HashMap<ClientId, SocketAddr>>,
    upstreams: Arc<Upstreams>,
    gate: Arc<Gate>,
    started_at: Instant,
}

impl Worker {
    pub(crate) fn now_ms(&self) -> u64 {
        self.started_at.elapsed().as_millis() as u64
    }
}
