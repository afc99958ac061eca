//! What is remembered of an object's numbers, and which objects are watched: those that have changed lately.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use parking_lot::Mutex;
use telemetry::{Pace, Retention, Sample, Series};

use crate::limits::HISTORY_COUNT_MAX;

/// What has numbers.
pub(crate) trait Observable<const N: usize>: Send + Sync {
    /// As they are now.
    fn numbers(&self) -> [u64; N];

    /// As they were before anything happened to it.
    fn numbers_before(&self) -> [u64; N] {
        [0; N]
    }

    /// What is remembered of them.
    fn observed(&self) -> &Observed<N>;

    /// Looks at what belongs to it and is not watched by itself. Says whether any of that has changed.
    fn sample_parts(&self, _now_ms: u64, _keeping: &Keeping<'_>) -> bool {
        false
    }
}

/// What is kept of samples.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Keeping<'a> {
    /// How far apart looks are.
    pub(crate) interval_ms: u64,
    /// How long samples are kept of which there is a history.
    pub(crate) retentions: &'a [Retention],
    /// Whether there is one of every object; else of those that somebody has looked at.
    pub(crate) is_always_kept: bool,
}

/// What is remembered of an object. Nothing until it changes for the first time.
#[derive(Debug, Default)]
pub(crate) struct Observed<const N: usize> {
    /// Whether it is on the list of those that are looked at.
    is_watched: AtomicBool,
    memory: Mutex<Option<Box<Memory<N>>>>,
}

#[derive(Debug)]
struct Memory<const N: usize> {
    pace: Option<Pace<N>>,
    history: Option<History<N>>,
}

#[derive(Debug)]
struct History<const N: usize> {
    series: Series<N>,
    /// When somebody last asked for it.
    asked_at_ms: u64,
}

/// Histories of objects that somebody has looked at: so many at a time.
static HISTORY_COUNT: AtomicUsize = AtomicUsize::new(0);

impl<const N: usize> Drop for History<N> {
    fn drop(&mut self) {
        HISTORY_COUNT.fetch_sub(1, Ordering::Relaxed);
    }
}

impl<const N: usize> History<N> {
    /// A new one, unless there are too many.
    fn begin(keeping: &Keeping<'_>, now_ms: u64) -> Option<Self> {
        let is_room = HISTORY_COUNT.fetch_add(1, Ordering::Relaxed) < HISTORY_COUNT_MAX || keeping.is_always_kept;
        let history = Self { series: Series::new(keeping.retentions, now_ms), asked_at_ms: now_ms };
        // Dropped, it counts itself out again.
        is_room.then_some(history)
    }
}

impl<const N: usize> Observed<N> {
    /// Takes a sample. Says whether it is to be looked at again: it has changed since the last one, or somebody wants its history.
    pub(crate) fn sample(&self, sample: Sample<N>, before: [u64; N], keeping: &Keeping<'_>) -> bool {
        let mut memory = self.memory.lock();
        let Memory { pace, history } = &mut **memory.get_or_insert_with(Memory::new);
        let has_changed = match pace {
            Some(pace) => pace.push(sample),
            None => {
                // Nothing had happened before: else it would have been looked at.
                let at_ms = sample.at_ms.saturating_sub(keeping.interval_ms);
                let mut first = Pace::new(Sample { at_ms, numbers: before });
                first.push(sample);
                *pace = Some(first);
                true
            }
        };
        if history.is_none() && keeping.is_always_kept && !keeping.retentions.is_empty() {
            *history = History::begin(keeping, sample.at_ms.saturating_sub(keeping.interval_ms));
        }
        if let Some(kept) = history {
            kept.series.push(&sample);
            let age_max_ms = keeping.retentions.iter().map(|retention| retention.age_ms).max().unwrap_or(0);
            if !keeping.is_always_kept && kept.asked_at_ms + age_max_ms < sample.at_ms {
                *history = None;
            }
        }
        has_changed || (history.is_some() && !keeping.is_always_kept)
    }

    /// Whether it has changed lately.
    pub(crate) fn is_watched(&self) -> bool {
        self.is_watched.load(Ordering::Relaxed)
    }

    /// Since when nothing has changed, in milliseconds since 1970, of what is not watched. None: nothing ever has.
    pub(crate) fn rests_since_ms(&self) -> Option<u64> {
        self.memory.lock().as_deref()?.pace.as_ref().map(|pace| pace.before().at_ms)
    }

    /// How fast the numbers grow a second, by the last two looks.
    pub(crate) fn rates(&self) -> [f64; N] {
        let memory = self.memory.lock();
        // Who is not looked at any more had not changed at the last look.
        memory.as_deref().and_then(|memory| memory.pace.as_ref()).map_or([0.0; N], Pace::rates)
    }

    /// Forgets what the numbers were.
    pub(crate) fn forget(&self) {
        if let Some(memory) = self.memory.lock().as_deref_mut() {
            memory.history = None;
        }
    }

    /// What the numbers were, newest first; and they are remembered for longer from now on. `true` if that has just begun, and somebody
    /// has to watch it.
    pub(crate) fn history(&self, range: Range, now_ms: u64, numbers: [u64; N], keeping: &Keeping<'_>) -> Told<N> {
        let mut memory = self.memory.lock();
        let Memory { history, .. } = &mut **memory.get_or_insert_with(Memory::new);
        let is_new = history.is_none();
        if is_new && !keeping.retentions.is_empty() {
            *history = History::begin(keeping, now_ms);
            if let Some(begun) = history {
                begun.series.push(&Sample { at_ms: now_ms, numbers });
            }
        }
        let samples = match history {
            Some(kept) => {
                kept.asked_at_ms = now_ms;
                kept.series.samples(now_ms, range.age_ms, range.step_ms)
            }
            None => Vec::new(),
        };
        Told { samples, is_new: is_new && history.is_some() }
    }
}

/// What a history tells.
pub(crate) struct Told<const N: usize> {
    pub(crate) samples: Vec<Sample<N>>,
    pub(crate) is_new: bool,
}

/// For how long back somebody wants samples, and how far apart, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    /// How long.
    pub age_ms: u64,
    /// How far apart.
    pub step_ms: u64,
}

impl<const N: usize> Memory<N> {
    fn new() -> Box<Self> {
        Box::new(Self { pace: None, history: None })
    }
}

/// Those that have changed lately.
pub(crate) struct Watch<T, const N: usize> {
    is_on: bool,
    watched: Mutex<Vec<Arc<T>>>,
}

impl<T, const N: usize> fmt::Debug for Watch<T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").field("is_on", &self.is_on).field("count", &self.watched.lock().len()).finish()
    }
}

impl<T: Observable<N>, const N: usize> Watch<T, N> {
    pub(crate) fn new(is_on: bool) -> Self {
        Self { is_on, watched: Mutex::default() }
    }

    /// Something has changed: it is looked at from now on, until it rests.
    #[inline(always)]
    pub(crate) fn note(&self, object: &Arc<T>) {
        if !object.observed().is_watched.load(Ordering::Relaxed) {
            self.watch(object);
        }
    }

    #[cold]
    fn watch(&self, object: &Arc<T>) {
        // Where nobody looks the mark only keeps it from being asked about again.
        if !object.observed().is_watched.swap(true, Ordering::Relaxed) && self.is_on {
            self.watched.lock().push(object.clone());
        }
    }

    /// Looks at all that are watched, and lets go of those that rest.
    pub(crate) fn tick(&self, now_ms: u64, keeping: &Keeping<'_>) {
        let mut watched = std::mem::take(&mut *self.watched.lock());
        watched.retain(|object| {
            let sample = Sample { at_ms: now_ms, numbers: object.numbers() };
            let observed = object.observed();
            let has_changed =
                object.sample_parts(now_ms, keeping) | observed.sample(sample, object.numbers_before(), keeping);
            if has_changed {
                return true;
            }
            observed.is_watched.store(false, Ordering::Relaxed);
            // What has changed just before is not noted by who changed it, but seen here.
            object.numbers() != sample.numbers && !observed.is_watched.swap(true, Ordering::Relaxed)
        });
        watched.shrink_to(4 * watched.len().max(16));
        let mut noted = self.watched.lock();
        watched.append(&mut noted);
        *noted = watched;
    }

    /// Forgets all histories. Who is not watched has none.
    pub(crate) fn forget(&self) {
        self.watched.lock().iter().for_each(|object| object.observed().forget());
    }

    /// How many are watched.
    #[cfg(test)]
    pub(crate) fn count(&self) -> usize {
        self.watched.lock().len()
    }

    /// What an object's numbers were, newest first: see [`Observed::history`].
    pub(crate) fn history(&self, object: &Arc<T>, range: Range, now_ms: u64, keeping: &Keeping<'_>) -> Vec<Sample<N>> {
        if !self.is_on {
            return Vec::new();
        }
        let told = object.observed().history(range, now_ms, object.numbers(), keeping);
        if told.is_new {
            self.watch(object);
        }
        told.samples
    }
}
