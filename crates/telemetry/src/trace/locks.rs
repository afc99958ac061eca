//! Locks that know their holder while a session runs: a wait for one is named, and so is the call that holds it.
//!
//! With no session, taking one costs a relaxed load more than a lock of `parking_lot`.

use std::borrow::Cow;
use std::sync::Arc;

use parking_lot::{MutexGuard, RwLockReadGuard, RwLockWriteGuard};

use super::active::is_active;
use super::task::{self, Trail, Worker};
use super::wait::OpenWait;
use super::wall::FrameKind;

/// The task that took a lock last while a session ran. Whether it still has it, the lock knows.
#[derive(Default)]
struct Holder(parking_lot::Mutex<Option<Arc<Trail>>>);

impl Holder {
    #[cold]
    fn take<G>(&self, name: &'static str, at_once: impl FnOnce() -> Option<G>, later: impl FnOnce() -> G) -> G {
        let guard = at_once().unwrap_or_else(|| {
            let _waiting = self.begin_wait(name);
            later()
        });
        *self.0.lock() = Some(task::current());
        guard
    }

    fn begin_wait(&self, name: &'static str) -> OpenWait {
        let holder = self.0.lock().clone();
        let (held_by, task) = match holder {
            None => (Cow::Borrowed("a task that took it before the session began"), None),
            Some(trail) => {
                let task = trail.name().to_owned();
                let call = trail.innermost_call();
                (call.unwrap_or_else(|| Cow::Owned(task.clone())), Some(task))
            }
        };
        let name = Cow::Owned(format!("{name}, held by {held_by}"));
        OpenWait::begin(FrameKind::Lock, name, Worker::holder(task))
    }
}

/// A mutex with a name.
pub struct Mutex<T: ?Sized> {
    name: &'static str,
    holder: Holder,
    inner: parking_lot::Mutex<T>,
}

impl<T> Mutex<T> {
    /// A mutex that is free.
    pub const fn new(name: &'static str, value: T) -> Self {
        Mutex { name, holder: Holder(parking_lot::Mutex::new(None)), inner: parking_lot::Mutex::new(value) }
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Takes it, waiting as long as another has it.
    #[inline(always)]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        if is_active() {
            return self.holder.take(self.name, || self.inner.try_lock(), || self.inner.lock());
        }
        self.inner.lock()
    }

    /// Takes it if it is free.
    #[inline(always)]
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        self.inner.try_lock()
    }
}

/// A lock with a name, for readers and writers.
pub struct RwLock<T: ?Sized> {
    name: &'static str,
    holder: Holder,
    inner: parking_lot::RwLock<T>,
}

impl<T> RwLock<T> {
    /// A lock that is free.
    pub const fn new(name: &'static str, value: T) -> Self {
        RwLock { name, holder: Holder(parking_lot::Mutex::new(None)), inner: parking_lot::RwLock::new(value) }
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Takes it beside other readers.
    #[inline(always)]
    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        if is_active() {
            return self.holder.take(self.name, || self.inner.try_read(), || self.inner.read());
        }
        self.inner.read()
    }

    /// Takes it alone.
    #[inline(always)]
    pub fn write(&self) -> RwLockWriteGuard<'_, T> {
        if is_active() {
            return self.holder.take(self.name, || self.inner.try_write(), || self.inner.write());
        }
        self.inner.write()
    }
}

impl<T: ?Sized> std::fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Mutex").field(&self.name).finish()
    }
}

impl<T: ?Sized> std::fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("RwLock").field(&self.name).finish()
    }
}
