//! A fault that is planted on purpose, for the worked example of `docs/trace.md` and the test that follows it. Not in a release build.
//!
//! With `WARREN_PLANT_SLOW_LISTING=MILLISECONDS` in the environment, a task takes a lock again and again and sleeps while it holds it; and
//! the listing of queues takes that lock, too.

use std::sync::Once;
use std::time::Duration;

use parking_lot::MutexGuard;
use telemetry::trace::locks::Mutex;
use telemetry::trace::{Point, register};

const VARIABLE: &str = "WARREN_PLANT_SLOW_LISTING";

static ROWS: Mutex<()> = Mutex::new("the rows of the listing", ());

static REFRESH: Point = Point::new("planted::refresh_rows", &[], "Holds the lock of the listing, asleep.");

/// How long the lock is held each time; none where nothing is planted.
fn held_for() -> Option<Duration> {
    let ms: u64 = std::env::var(VARIABLE).ok()?.parse().ok()?;
    Some(Duration::from_millis(ms))
}

/// Plants the fault where the environment asks for it, once in a process.
pub(crate) fn plant() {
    static PLANTED: Once = Once::new();
    let Some(time) = held_for() else { return };
    PLANTED.call_once(|| {
        register([&REFRESH]);
        let refresh = move || {
            loop {
                let call = REFRESH.enter(|_| {});
                let rows = ROWS.lock();
                std::thread::sleep(time);
                // To a listing that waits, if there is one.
                MutexGuard::unlock_fair(rows);
                drop(call);
                std::thread::sleep(Duration::from_millis(1));
            }
        };
        if let Err(error) = std::thread::Builder::new().name("row refresher".to_owned()).spawn(refresh) {
            tracing::warn!(%error, "planting the slow listing failed");
        }
    });
}

/// What the listing does before anything else.
pub(crate) fn before_listing() {
    if held_for().is_some() {
        drop(ROWS.lock());
    }
}
