//! A store that continues by another's time.

use engine::clock;
use store::RecoveredStore;

/// What waits in this store uses a time that is so far ahead of the system's clock: that of the broker that had it before, perhaps on a
/// node with another clock. Else it is what the store says.
pub fn go_on_by_time(recovered: &mut RecoveredStore, ahead_ms: i64) {
    recovered.definitions.insert(clock::KEY.to_vec(), ahead_ms.to_be_bytes().to_vec());
}
