//! The guard, for all threads: a client's place is kept as long as the client is there.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::guard::{Guard, Options, Refusal, Snapshot, Spending};

#[derive(Debug)]
pub(crate) struct Gate {
    guard: Mutex<Guard>,
    started_at: Instant,
    /// Whether bytes are counted.
    counts_bytes: AtomicBool,
}

/// A client's place.
#[derive(Debug)]
pub(crate) struct Permit {
    gate: Arc<Gate>,
    address: Option<IpAddr>,
    user: Option<String>,
}

impl Gate {
    pub(crate) fn new(options: Options) -> Self {
        let counts_bytes = counts_bytes(&options).into();
        Gate { guard: Mutex::new(Guard::new(options)), started_at: Instant::now(), counts_bytes }
    }

    pub(crate) fn configure(&self, options: Options) {
        self.counts_bytes.store(counts_bytes(&options), Ordering::Relaxed);
        self.guard.lock().set_options(options);
    }

    fn now_ms(&self) -> u64 {
        self.started_at.elapsed().as_millis() as u64
    }

    /// A client has connected. It has no address over a Unix-domain socket.
    pub(crate) fn arrive(self: &Arc<Self>, address: Option<IpAddr>) -> Result<Permit, Refusal> {
        self.guard.lock().arrive(address, self.now_ms())?;
        Ok(Permit { gate: self.clone(), address, user: None })
    }

    /// Has old entries forgotten, and says what would have been refused.
    pub(crate) fn tick(&self) {
        let alarms = {
            let mut guard = self.guard.lock();
            guard.tick(self.now_ms());
            guard.take_alarms()
        };
        for alarm in alarms {
            tracing::warn!(reason = %alarm.refusal, untold = alarm.untold_count, only_told = alarm.is_alarm_only, "limit reached");
        }
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        self.guard.lock().snapshot()
    }
}

impl Permit {
    /// It has logged in.
    pub(crate) fn log_in(&mut self, user: &str) -> Result<(), Refusal> {
        if self.user.is_none() {
            self.gate.guard.lock().log_in(user, self.gate.now_ms())?;
            self.user = Some(user.to_owned());
        }
        Ok(())
    }

    /// So many bytes were read: how long nothing more is to be.
    pub(crate) fn spend(&self, len: usize) -> Option<Duration> {
        if !self.gate.counts_bytes.load(Ordering::Relaxed) {
            return None;
        }
        let user = self.user.as_deref()?;
        match self.gate.guard.lock().spend(user, len as u64, self.gate.now_ms()) {
            Spending::Allowed => None,
            Spending::Wait { ms } => Some(Duration::from_millis(ms)),
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let now_ms = self.gate.now_ms();
        self.gate.guard.lock().leave(self.address, self.user.as_deref(), now_ms);
    }
}

fn counts_bytes(options: &Options) -> bool {
    options.byte_rate.per_s > 0 || options.user_byte_rate.per_s > 0
}
