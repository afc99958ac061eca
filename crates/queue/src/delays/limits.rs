//! Every number a reviewer would ask about.

/// Bits of a seq that count arrivals in a generation; the rest is the due time.
pub(crate) const ARRIVAL_BITS: u32 = 22;

/// Arrivals after which a generation is full. The first has 1, so that no seq is 0.
pub(crate) const ARRIVAL_MAX: u32 = (1 << ARRIVAL_BITS) - 1;

/// Milliseconds from 1970 to 2020, where due times begin.
pub(crate) const EPOCH_MS: u64 = 1_577_836_800_000;

/// The latest due time, in the year 2159. One less than there is room for: no seq is the last of all.
pub(crate) const DUE_MAX: u64 = (1 << (u64::BITS - ARRIVAL_BITS)) - 2;

/// A due time behind what has been released by no more than this is raised to it: such small steps back clocks do make. Beyond,
/// a new generation begins.
pub(crate) const STEP_BACK_MS: u64 = 1_000;

/// Entries in one block of a calendar: 3 KiB of them. An insertion in the middle moves half a block at most.
pub(crate) const BLOCK_LEN: usize = 64;

/// What is due within this time is read ahead: long enough for a slow disk.
pub(crate) const LOOK_AHEAD_MS: u64 = 2_000;

/// Of what was read, that stays in memory which is due within this time.
pub(crate) const KEPT_MS: u64 = 2 * LOOK_AHEAD_MS;

/// What a set may hold in memory of what lies in segments too, but for one load that must be made.
pub(crate) const LOADED_BYTES_MAX: u64 = 16 << 20;

/// What a loaded message takes besides its body, about: its properties and routing keys, and its entry.
pub(crate) const LOADED_OVERHEAD: u64 = 128;

/// The least that is read of a run at a time.
pub(crate) const RUN_LOAD_BYTES_MIN: u32 = 16 * 1024;

/// The most.
pub(crate) const RUN_LOAD_BYTES_MAX: u32 = 1024 * 1024;

/// Halvings in which a horizon is looked for: to the millisecond in an hour.
pub(crate) const HORIZON_STEPS: u32 = 22;

/// A load asks for no fewer slots than this, unless there are fewer.
pub(crate) const LOAD_SLOTS_MIN: u64 = 64;

/// What one load for a page of a listing reads.
pub(crate) const PAGE_LOAD_BYTES: u32 = 64 * 1024;

const _: () = assert!(RUN_LOAD_BYTES_MIN <= RUN_LOAD_BYTES_MAX && (RUN_LOAD_BYTES_MAX as u64) < LOADED_BYTES_MAX);
