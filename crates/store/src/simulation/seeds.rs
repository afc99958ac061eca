//! Which seeds the random tests run: `STORE_SEED=n` runs one, `STORE_SEED_FACTOR=n` so many times more than usual.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs seeds from 0 on and names all that fail. False: only one was asked for, which says nothing about how much has been tried.
///
/// # Panics
///
/// If a seed fails.
#[track_caller]
pub fn for_each_seed(count: u64, mut run: impl FnMut(u64)) -> bool {
    let read = |name| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    if let Some(seed) = read("STORE_SEED") {
        run(seed);
        return false;
    }
    let seeds = 0..count * read("STORE_SEED_FACTOR").unwrap_or(1);
    let failed: Vec<u64> = seeds.filter(|seed| catch_unwind(AssertUnwindSafe(|| run(*seed))).is_err()).collect();
    assert!(failed.is_empty(), "these fail, STORE_SEED=n shows each again: {failed:?}");
    true
}
