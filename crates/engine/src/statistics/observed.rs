//! What is remembered of an object's numbers, and which objects are watched: those that have changed lately.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use telemetry::{RecentSamples, Retention, Sample, Series};

use super::history_budget::{HistoryBudget, HistoryPermit};
use crate::limits::{HISTORY_COUNT_MAX, HISTORY_COUNT_OF_LISTS_MAX};

/// What has numbers.
pub trait Observable<const N: usize>: Send + Sync {
    /// As they are now. Before anything happened to it all of them were zero.
    fn numbers(&self) -> [u64; N];

    /// What is remembered of them.
    fn observed(&self) -> &Observed<N>;

    /// Looks at what belongs to it and is not watched separately. Returns whether any of that has changed.
    fn sample_parts(&self, _now_ms: u64, _keeping: &Keeping<'_>) -> bool {
        false
    }

    /// Forgets what it and its parts were.
    fn forget(&self) {
        self.observed().forget();
    }
}

/// What is kept of samples.
#[derive(Debug, Clone, Copy)]
pub struct Keeping<'a> {
    /// When the look before this one was: what was not looked at then was as it had been for long.
    pub before_ms: u64,
    /// How long samples are kept of which there is a history.
    pub(crate) retentions: &'a [Retention],
    /// For which objects there is room; None: there is a history of every object.
    pub(crate) budget: Option<&'a Arc<HistoryBudget>>,
    /// For how long a history is kept that is neither asked for nor changes.
    pub(crate) unasked_max_ms: u64,
    /// As long as there are fewer histories than this, an object that changes gets one before it is asked for.
    pub(crate) unasked_count_max: usize,
}

/// What is remembered of an object. Nothing until it changes for the first time.
#[derive(Debug, Default)]
pub struct Observed<const N: usize> {
    /// Whether it is on the list of those that are looked at.
    is_watched: AtomicBool,
    /// The object is deleted: no history of it is begun or kept.
    has_ended: AtomicBool,
    memory: Mutex<Option<Box<Memory<N>>>>,
}

#[derive(Debug)]
struct Memory<const N: usize> {
    pace: Option<RecentSamples<N>>,
    /// Until when nothing had happened yet; None if what came next is no longer known.
    zero_until_ms: Option<u64>,
    /// When a look found a change for the last time.
    changed_at_ms: Option<u64>,
    history: Option<History<N>>,
}

#[derive(Debug)]
struct History<const N: usize> {
    series: Series<N>,
    /// When it was last asked for, or began.
    asked_at_ms: u64,
    permit: Option<HistoryPermit>,
}

impl<const N: usize> History<N> {
    /// A new one, unless there are too many.
    fn begin(keeping: &Keeping<'_>, most: usize, now_ms: u64) -> Option<Self> {
        if keeping.retentions.is_empty() {
            return None;
        }
        let permit = match keeping.budget {
            None => None,
            Some(room) => Some(room.take(most)?),
        };
        Some(Self { series: Series::new(keeping.retentions), asked_at_ms: now_ms, permit })
    }

    /// A new one that no request has asked for, where there is room to spare.
    fn begin_unasked(keeping: &Keeping<'_>, now_ms: u64) -> Option<Self> {
        if keeping.retentions.is_empty() {
            return None;
        }
        let permit = keeping.budget?.take_spare(keeping.unasked_count_max)?;
        Some(Self { series: Series::new(keeping.retentions), asked_at_ms: now_ms, permit: Some(permit) })
    }

    /// Takes a sample.
    fn push(&mut self, sample: &Sample<N>) {
        self.series.push(sample);
        if let Some(permit) = &mut self.permit {
            permit.resize(self.series.memory_len());
        }
    }

    /// Takes the first sample, as of the moment before it that may be asked for: a request that asks at once is answered something.
    fn begin_with(&mut self, sample: Sample<N>, keeping: &Keeping<'_>) {
        let at_ms = keeping.moment_before(sample.at_ms);
        self.push(&Sample { at_ms, ..sample });
    }

    /// Takes what is known of the time before the first question, up to now.
    fn begin_with_past(&mut self, past: &[Sample<N>], now: Sample<N>, keeping: &Keeping<'_>) {
        past.iter().for_each(|sample| self.push(sample));
        match past.last() {
            // Samples come in their order.
            Some(last) if last.at_ms > keeping.moment_before(now.at_ms) => self.push(&now),
            _ => self.begin_with(now, keeping),
        }
    }

    /// Whether it makes room for others: it was not asked for in a while, and the object rests or there are too many.
    fn is_to_end(&self, keeping: &Keeping<'_>, changed_at_ms: Option<u64>, now_ms: u64) -> bool {
        let Some(room) = keeping.budget else { return false };
        let is_over = |at_ms: u64| at_ms + keeping.unasked_max_ms < now_ms;
        let is_resting = changed_at_ms.is_none_or(is_over);
        is_over(self.asked_at_ms) && (is_resting || room.count() > keeping.unasked_count_max)
    }
}

impl Keeping<'_> {
    /// The same of objects whose history cannot be asked for: none begins.
    #[must_use]
    pub fn without_new(&self) -> Self {
        Self { unasked_count_max: 0, ..*self }
    }

    /// The last moment, of those that may be asked for, that is not after this one.
    fn moment_before(&self, at_ms: u64) -> u64 {
        let finest_ms = self.retentions.iter().map(|retention| retention.interval_ms).min();
        at_ms - at_ms % finest_ms.unwrap_or(1).max(1)
    }
}

impl<const N: usize> Observed<N> {
    /// Bytes that it takes beside itself, without its history.
    pub fn memory_len(&self) -> usize {
        self.memory.lock().as_ref().map_or(0, |_| size_of::<Memory<N>>())
    }

    /// Takes a sample. Says whether it is to be looked at again: it has changed since the last one, or its history is wanted.
    pub fn sample(&self, sample: Sample<N>, keeping: &Keeping<'_>) -> bool {
        let has_ended = self.has_ended.load(Ordering::Relaxed);
        let is_always_kept = keeping.budget.is_none();
        let mut memory = self.memory.lock();
        if memory.is_none() && sample.numbers == [0; N] && !is_always_kept {
            // It is looked at with what it belongs to, and has done nothing yet.
            return false;
        }
        let Memory { pace, zero_until_ms, changed_at_ms, history } = &mut **memory.get_or_insert_with(Memory::new);
        let is_first = pace.is_none();
        match pace {
            None => *zero_until_ms = Some(keeping.before_ms),
            // What this look forgets is not nothing: what was before is no longer known.
            Some(pace) if pace.before().numbers != [0; N] => *zero_until_ms = None,
            Some(_) => {}
        }
        let pace = pace.get_or_insert_with(|| RecentSamples::new(Sample { at_ms: keeping.before_ms, numbers: [0; N] }));
        // An object that was not looked at last time had not changed until then.
        pace.rest_until(keeping.before_ms);
        let has_changed = pace.push(sample);
        if has_changed {
            *changed_at_ms = Some(sample.at_ms);
        }
        if history.is_none() && !has_ended {
            *history = match is_always_kept {
                true => History::begin(keeping, HISTORY_COUNT_MAX, sample.at_ms),
                // Not at the first change: most objects change once, when they are made.
                false if has_changed && !is_first => History::begin_unasked(keeping, sample.at_ms),
                false => None,
            };
            if let Some(begun) = history {
                let before = *pace.before();
                if let Some(zero_until_ms) = zero_until_ms.filter(|_| !is_always_kept) {
                    begun.push(&Sample { at_ms: 0, numbers: [0; N] });
                    if zero_until_ms < keeping.moment_before(before.at_ms) {
                        begun.push(&Sample { at_ms: zero_until_ms, numbers: [0; N] });
                    }
                }
                begun.begin_with(before, keeping);
            }
        }
        if let Some(kept) = history {
            kept.push(&sample);
            if has_ended || kept.is_to_end(keeping, *changed_at_ms, sample.at_ms) {
                *history = None;
            }
        }
        is_first || has_changed || (history.is_some() && !is_always_kept)
    }

    /// Takes the numbers for what was there before anything happened, unless something was known before.
    pub fn begin(&self, sample: Sample<N>) {
        self.is_watched.store(false, Ordering::Relaxed);
        if sample.numbers != [0; N] {
            self.memory.lock().get_or_insert_with(Memory::new).pace.get_or_insert(RecentSamples::new(sample));
        }
    }

    /// Since when nothing has changed, in milliseconds since 1970, of an object that was made then and has these numbers now; None if
    /// something has lately. A caller that asks for its history does not count.
    pub fn rests_since_ms(&self, numbers: &[u64; N], made_at_ms: u64) -> Option<u64> {
        let memory = self.memory.lock();
        let Some((memory, pace)) = memory.as_deref().and_then(|memory| Some((memory, memory.pace.as_ref()?))) else {
            return (!self.is_watched()).then_some(made_at_ms);
        };
        let rests = pace.before().numbers == *numbers && pace.last().numbers == *numbers;
        rests.then(|| memory.changed_at_ms.unwrap_or(made_at_ms))
    }

    /// Whether it is on the list of those that are looked at.
    #[inline(always)]
    fn is_watched(&self) -> bool {
        self.is_watched.load(Ordering::Relaxed)
    }

    /// How fast the numbers grow a second, by the last two looks.
    pub fn rates(&self) -> [f64; N] {
        let memory = self.memory.lock();
        // An object that is no longer looked at had not changed at the last look.
        memory.as_deref().and_then(|memory| memory.pace.as_ref()).map_or([0.0; N], RecentSamples::rates)
    }

    /// Forgets what the numbers were.
    pub fn forget(&self) {
        if let Some(memory) = self.memory.lock().as_deref_mut() {
            memory.history = None;
        }
    }

    /// The object is deleted: its history makes room for others'.
    pub fn end(&self) {
        self.has_ended.store(true, Ordering::Relaxed);
        self.forget();
    }

    /// What the numbers were, newest first; and they are remembered for longer from now on. `true` if that has just begun, and the caller
    /// has to watch it.
    pub fn history(&self, range: Range, now_ms: u64, numbers: [u64; N], keeping: &Keeping<'_>) -> HistoryAnswer<N> {
        let mut memory = self.memory.lock();
        let is_watched = self.is_watched();
        let memory = memory.get_or_insert_with(Memory::new);
        let is_new = memory.history.is_none();
        let past = if is_new { memory.past(&numbers, is_watched) } else { Vec::new() };
        if memory.pace.is_none() && numbers == [0; N] {
            // It has rested since it was made, and does so while it is looked at.
            memory.pace = Some(RecentSamples::new(Sample { at_ms: keeping.before_ms, numbers }));
            memory.zero_until_ms = Some(keeping.before_ms);
        }
        let Memory { history, .. } = &mut **memory;
        if is_new && !self.has_ended.load(Ordering::Relaxed) {
            let most = if range.is_of_list { HISTORY_COUNT_OF_LISTS_MAX } else { HISTORY_COUNT_MAX };
            *history = History::begin(keeping, most, now_ms);
            if let Some(begun) = history {
                begun.begin_with_past(&past, Sample { at_ms: now_ms, numbers }, keeping);
            }
        }
        let samples = match history {
            Some(kept) => {
                kept.asked_at_ms = now_ms;
                kept.series.samples(now_ms, range.age_ms, range.step_ms)
            }
            None => Vec::new(),
        };
        HistoryAnswer { samples, is_new: is_new && history.is_some() }
    }
}

/// What a history returns.
pub struct HistoryAnswer<const N: usize> {
    pub samples: Vec<Sample<N>>,
    pub is_new: bool,
}

/// For how long back samples are wanted, and how far apart, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    /// How long.
    pub age_ms: u64,
    /// How far apart.
    pub step_ms: u64,
    /// Whether the samples of many objects are wanted: these leave room for callers that ask for one.
    pub is_of_list: bool,
}

impl<const N: usize> Memory<N> {
    fn new() -> Box<Self> {
        Box::new(Self { pace: None, zero_until_ms: None, changed_at_ms: None, history: None })
    }

    /// What is known of an object that has these numbers, although it had no history: what the last looks have seen, and that it had done
    /// nothing before the first of them. Once a look is forgotten that had seen something, it is not known how that came about.
    fn past(&self, numbers: &[u64; N], is_watched: bool) -> Vec<Sample<N>> {
        let nothing = Sample { at_ms: 0, numbers: [0; N] };
        let Some(pace) = &self.pace else {
            // It has not been looked at since it came, or has never done anything.
            return vec![nothing];
        };
        let mut past = Vec::new();
        past.extend(self.zero_until_ms.map(|_| nothing));
        let rests = !is_watched && pace.last().numbers == *numbers;
        match self.changed_at_ms {
            Some(at_ms) if rests => past.push(Sample { at_ms, numbers: *numbers }),
            _ => past.extend([*pace.before(), *pace.last()]),
        }
        past
    }
}

/// Those that have changed lately.
pub struct Watch<T, const N: usize> {
    is_on: bool,
    watched: Mutex<Vec<Arc<T>>>,
    /// Those that had not changed at the last look. They are not noted as watched, but looked at once more: a thread that changed one just
    /// when it was let go may still have taken it for watched.
    resting: Mutex<Vec<Arc<T>>>,
}

impl<T, const N: usize> fmt::Debug for Watch<T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").field("is_on", &self.is_on).field("count", &self.watched.lock().len()).finish()
    }
}

impl<T: Observable<N>, const N: usize> Watch<T, N> {
    /// An empty list. Unless it `is_on`, nothing is watched.
    pub fn new(is_on: bool) -> Self {
        Self { is_on, watched: Mutex::default(), resting: Mutex::default() }
    }

    /// Something has changed: it is looked at from now on, until it rests.
    #[inline(always)]
    pub fn note(&self, object: &Arc<T>) {
        if !object.observed().is_watched() {
            self.watch(object);
        }
    }

    #[cold]
    fn watch(&self, object: &Arc<T>) {
        // Without ticks the mark only keeps it from being asked about again.
        if !object.observed().is_watched.swap(true, Ordering::Relaxed) && self.is_on {
            self.watched.lock().push(object.clone());
        }
    }

    /// Takes the present numbers for those from before anything happened.
    pub fn begin(&self, now_ms: u64) {
        for object in std::mem::take(&mut *self.watched.lock()) {
            object.observed().begin(Sample { at_ms: now_ms, numbers: object.numbers() });
        }
    }

    /// Looks at all that are watched, and lets go of those that rest. Calls `moving` for the others. One at a time does so.
    pub fn tick(&self, now_ms: u64, keeping: &Keeping<'_>, moving: impl Fn(&T)) {
        let look = |object: &Arc<T>| {
            let sample = Sample { at_ms: now_ms, numbers: object.numbers() };
            let goes_on = object.sample_parts(now_ms, keeping) | object.observed().sample(sample, keeping);
            if goes_on {
                moving(object);
            }
            goes_on
        };
        let mut watched = std::mem::take(&mut *self.watched.lock());
        let mut resting = self.resting.lock();
        // An object that has been noted since is among those that are watched.
        let is_unseen = |object: &Arc<T>| {
            let is_watched = &object.observed().is_watched;
            !is_watched.load(Ordering::Relaxed) && look(object) && !is_watched.swap(true, Ordering::Relaxed)
        };
        let unseen: Vec<_> = resting.drain(..).filter(is_unseen).collect();
        resting.extend(watched.extract_if(.., |object| {
            let rests = !look(object);
            if rests {
                object.observed().is_watched.store(false, Ordering::Relaxed);
            }
            rests
        }));
        let kept_count = 4 * resting.len().max(16);
        resting.shrink_to(kept_count);
        watched.extend(unseen);
        watched.shrink_to(4 * watched.len().max(16));
        let mut noted = self.watched.lock();
        watched.append(&mut noted);
        *noted = watched;
    }

    /// Forgets all histories. What is looked at no more has none. Not during a tick.
    pub fn forget(&self) {
        self.watched.lock().iter().chain(self.resting.lock().iter()).for_each(|object| object.forget());
    }

    /// How many are watched.
    pub fn count(&self) -> usize {
        self.watched.lock().len()
    }

    /// What an object's numbers were, newest first: see [`Observed::history`].
    pub fn history(&self, object: &Arc<T>, range: Range, now_ms: u64, keeping: &Keeping<'_>) -> Vec<Sample<N>> {
        if !self.is_on {
            return Vec::new();
        }
        let history = object.observed().history(range, now_ms, object.numbers(), keeping);
        if history.is_new {
            self.watch(object);
        }
        history.samples
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use super::*;

    #[derive(Debug, Default)]
    struct Number {
        now: AtomicU64,
        observed: Observed<1>,
    }

    impl Observable<1> for Number {
        fn numbers(&self) -> [u64; 1] {
            [self.now.load(Ordering::Relaxed)]
        }

        fn observed(&self) -> &Observed<1> {
            &self.observed
        }
    }

    /// What is kept of numbers that are looked at every five seconds, where so many histories begin by themselves.
    fn keeping(at_ms: u64, budget: Option<&Arc<HistoryBudget>>, unasked_count_max: usize) -> Keeping<'_> {
        const MINUTE: &[Retention] = &[Retention { age_ms: 60_000, interval_ms: 5000 }];
        let retentions = if unasked_count_max > 0 { MINUTE } else { &[] };
        Keeping { before_ms: at_ms - 5000, retentions, budget, unasked_max_ms: 60_000, unasked_count_max }
    }

    #[test]
    fn nothing_is_remembered_of_what_has_done_nothing() {
        let (number, budget) = (Number::default(), Arc::default());
        let look = |at_ms, numbers| {
            let keeping = keeping(at_ms, Some(&budget), 0);
            number.observed.sample(Sample { at_ms, numbers }, &keeping)
        };
        assert!(!look(5000, [0]));
        assert_eq!(number.observed.memory_len(), 0);
        assert!(look(10_000, [10]));
        assert_eq!((number.observed.rates(), number.observed.rests_since_ms(&[10], 1)), ([2.0], None));
        assert!(!look(15_000, [10]));
        assert_eq!(number.observed.rests_since_ms(&[10], 1), Some(10_000));
    }

    const ONE: Range = Range { age_ms: 60_000, step_ms: 5000, is_of_list: false };

    /// Looks at a number every five seconds that grows by ten each time, from 1,000,000 ms on; and what its history is then.
    #[track_caller]
    fn check_past(look_count: u64, unasked_count_max: usize, expected: &[u64]) {
        let (watch, number, budget) = (Watch::new(true), Arc::new(Number::default()), Arc::default());
        let mut now_ms = 1_000_000;
        for _ in 0..look_count {
            now_ms += 5000;
            number.now.fetch_add(10, Ordering::Relaxed);
            watch.note(&number);
            watch.tick(now_ms, &keeping(now_ms, Some(&budget), unasked_count_max), |_| ());
        }
        let samples = watch.history(&number, ONE, now_ms, &keeping(now_ms, Some(&budget), 1));
        assert_eq!(samples.iter().map(|sample| sample.numbers[0]).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn what_changes_has_a_history_before_it_is_asked_for() {
        check_past(6, 1, &[60, 50, 40, 30, 20, 10, 0, 0, 0, 0, 0, 0, 0]);
    }

    // All that had happened was one step of the curve, at the first moment that was known: a rate of thousands a second.
    #[test]
    fn a_history_without_room_before_begins_where_knowledge_begins() {
        check_past(1, 0, &[10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        check_past(2, 0, &[20, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        check_past(3, 0, &[30, 20]);
        check_past(6, 0, &[60, 50]);
    }

    #[test]
    fn a_history_that_no_request_asks_for_ends_when_the_object_rests() {
        let (watch, budget) = (Watch::new(true), Arc::default());
        let numbers: [Arc<Number>; 2] = std::array::from_fn(|_| Arc::default());
        let mut now_ms = 1_000_000;
        let mut tick = |count_max| {
            now_ms += 5000;
            watch.tick(now_ms, &keeping(now_ms, Some(&budget), count_max), |_| ());
        };
        let change = |number: &Arc<Number>| {
            number.now.fetch_add(1, Ordering::Relaxed);
            watch.note(number);
        };
        numbers.iter().for_each(change);
        tick(2);
        assert_eq!(budget.count(), 0, "most change once, when they are made");
        numbers.iter().for_each(change);
        tick(2);
        assert_eq!((budget.count(), budget.len() > 0), (2, true));
        for _ in 0..14 {
            change(&numbers[0]);
            tick(2);
        }
        assert_eq!(budget.count(), 1, "what goes on keeps its history");
        change(&numbers[0]);
        tick(1);
        assert_eq!(budget.count(), 1);
        numbers[0].observed.end();
        assert_eq!((budget.count(), budget.len()), (0, 0));
    }

    // A thread that changes a number at the very moment when it is let go may still take it for watched.
    #[test]
    fn a_change_that_nobody_noted_is_seen_one_look_later() {
        let (watch, number) = (Watch::new(true), Arc::new(Number::default()));
        let mut now_ms = 0;
        let mut tick = || {
            now_ms += 5000;
            watch.tick(now_ms, &keeping(now_ms, None, 0), |_| ());
            number.observed.rates()[0]
        };
        number.now.store(10, Ordering::Relaxed);
        watch.note(&number);
        assert_eq!([tick(), tick()], [2.0, 0.0]);
        assert_eq!(watch.count(), 0);
        number.now.store(20, Ordering::Relaxed);
        assert_eq!([tick(), tick(), tick()], [2.0, 0.0, 0.0]);
        assert_eq!(watch.count(), 0);
    }
}
