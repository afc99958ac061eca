//! How much work a backtracking pattern may make: for one name, and for all names that it is asked about.
//!
//! The unit is one read of the name by the engine, and one more for every 32 bytes that such a read may cover: some nanoseconds.

use std::cell::Cell;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicU64, Ordering};

use fancy_regex::Input;

/// Bytes that a read covers for one unit.
const BYTES_OF_UNIT: usize = 32;
/// Units that are free for each byte of a name: a pattern that looks around sensibly takes fewer, and so is never short of work however
/// many names there are.
const FREE_OF_BYTE: u64 = 32;
/// The same when all other work is spent.
const LEFT_OF_BYTE: u64 = 8;
/// Bytes that every name has at least, for the count of free work.
const FREE_LEN_MIN: u64 = 16;
/// The most work for one name: a millisecond or so.
const NAME_WORK_MAX: u64 = 200_000;
/// The most work beyond what is free for all names together.
const WORK_MAX: u64 = 4_000_000;

/// What a pattern has taken beyond what is free, of what it may take.
#[derive(Debug, Default)]
pub struct WorkAccount {
    spent: AtomicU64,
}

impl WorkAccount {
    /// Whether all is spent.
    #[must_use]
    pub fn is_exhausted(&self) -> bool {
        self.spent.load(Ordering::Relaxed) >= WORK_MAX
    }

    /// Charges what deciding about a name took.
    pub(super) fn charge(&self, name: &MeasuredName<'_>) {
        let excess = name.taken.get().saturating_sub(free(name.text));
        if excess > 0 {
            self.spent.fetch_add(excess, Ordering::Relaxed);
        }
    }

    /// The most work for this name.
    fn max(&self, name: &str) -> u64 {
        if self.is_exhausted() { LEFT_OF_BYTE * counted_len(name) } else { free(name).max(NAME_WORK_MAX) }
    }
}

fn free(name: &str) -> u64 {
    FREE_OF_BYTE * counted_len(name)
}

fn counted_len(name: &str) -> u64 {
    (name.len() as u64).max(FREE_LEN_MIN)
}

/// A name that counts how often it is read, and ends the reading at a bound by unwinding.
pub(super) struct MeasuredName<'a> {
    text: &'a str,
    read_units: u64,
    taken: Cell<u64>,
    taken_max: u64,
}

impl<'a> MeasuredName<'a> {
    pub(super) fn new(text: &'a str, account: &WorkAccount) -> MeasuredName<'a> {
        MeasuredName {
            text,
            read_units: 1 + (text.len() / BYTES_OF_UNIT) as u64,
            taken: Cell::new(0),
            taken_max: account.max(text),
        }
    }

    fn take(&self, units: u64) {
        self.taken.set(self.taken.get() + units);
        if self.taken.get() > self.taken_max {
            resume_unwind(Box::new("a name was read too often"));
        }
    }
}

impl Input for MeasuredName<'_> {
    type Match<'t>
        = ()
    where
        Self: 't;

    fn len(&self) -> usize {
        self.take(1);
        self.text.len()
    }

    fn as_bytes(&self) -> &[u8] {
        self.take(self.read_units);
        self.text.as_bytes()
    }

    fn is_char_boundary(&self, ix: usize) -> bool {
        self.text.is_char_boundary(ix)
    }

    fn is_ascii(&self) -> bool {
        self.take(self.read_units);
        self.text.is_ascii()
    }

    fn prev_codepoint_ix(&self, i: usize) -> usize {
        self.take(1);
        Input::prev_codepoint_ix(self.text, i)
    }

    fn make_match<'t>(&'t self, _start: usize, _end: usize) -> Self::Match<'t> {}

    fn advance_position(&self, i: usize) -> usize {
        self.take(1);
        Input::advance_position(self.text, i)
    }
}
