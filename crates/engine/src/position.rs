//! Where something lies in the journals of the stores, and how far these are.
//!
//! ```text
//!   Position:  | store u8 | byte of its journal u56 |
//! ```
//!
//! Positions have no order: what lies in two journals becomes durable in any order. What is asked of a position is only whether the
//! journals have reached it, by their [`Marks`]. What may lie in several journals, like a batch for several queues, waits for
//! [`Positions`], and a connection is woken at the [`Earliest`]. Each keeps one number a store, inline.
//!
//! A broker has one store today. `STORES` is how many there are, so that tests can have two.

use std::sync::atomic::{AtomicU64, Ordering};

/// How many stores a broker has.
pub const STORE_COUNT: usize = 1;

const AT_BITS: u32 = 56;
const AT_MASK: u64 = (1 << AT_BITS) - 1;

/// A store, and with it its journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct StoreNumber(pub u8);

impl StoreNumber {
    /// The store of a broker that has one.
    pub const ONLY: StoreNumber = StoreNumber(0);

    const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A place in the journal of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Position(u64);

impl Position {
    /// The byte `at` of a store's journal, counted from its creation.
    #[must_use]
    #[inline]
    pub const fn new(store: StoreNumber, at: u64) -> Self {
        debug_assert!(at <= AT_MASK, "a journal is shorter than 64 PiB");
        Self((store.0 as u64) << AT_BITS | at)
    }

    /// The store whose journal that is.
    #[must_use]
    #[inline]
    pub const fn store(self) -> StoreNumber {
        StoreNumber((self.0 >> AT_BITS) as u8)
    }

    /// The byte of that journal.
    #[must_use]
    #[inline]
    pub const fn at(self) -> u64 {
        self.0 & AT_MASK
    }
}

/// How far each journal is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Marks<const STORES: usize = STORE_COUNT>([u64; STORES]);

impl<const STORES: usize> Marks<STORES> {
    /// The byte that each journal has reached, by the stores' numbers.
    #[must_use]
    #[inline]
    pub const fn new(reached: [u64; STORES]) -> Self {
        Self(reached)
    }

    /// Whether the journal of this position has reached it.
    #[must_use]
    #[inline]
    pub fn reach(&self, position: Position) -> bool {
        self.0.get(position.store().index()).is_some_and(|mark| position.at() <= *mark)
    }

    /// Whether all of these have been reached.
    #[must_use]
    #[inline]
    pub fn reach_all(&self, positions: Positions<STORES>) -> bool {
        self.0.iter().zip(positions.0).all(|(mark, at)| at <= *mark)
    }
}

/// The latest position in each journal of what has to be reached as a whole. A journal's beginning is reached always: that is where nothing
/// has to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Positions<const STORES: usize = STORE_COUNT>([u64; STORES]);

impl<const STORES: usize> Default for Positions<STORES> {
    fn default() -> Self {
        Self::NONE
    }
}

impl<const STORES: usize> Positions<STORES> {
    /// Nothing has to be reached.
    pub const NONE: Self = Self([0; STORES]);

    /// Whether nothing has to be reached.
    #[must_use]
    #[inline]
    pub fn is_empty(self) -> bool {
        self.0.iter().all(|at| *at == 0)
    }

    /// These, and others.
    #[must_use]
    #[inline]
    pub fn and(mut self, others: impl Into<Self>) -> Self {
        self.add(others);
        self
    }

    /// Adds others.
    #[inline]
    pub fn add(&mut self, others: impl Into<Self>) {
        self.0.iter_mut().zip(others.into().0).for_each(|(at, other)| *at = other.max(*at));
    }

    /// Each, where there is any.
    #[inline]
    pub fn iter(self) -> impl Iterator<Item = Position> {
        positions_where(self.0, |at| at > 0)
    }

    /// Bytes of all the journals up to there.
    #[must_use]
    pub fn journal_len(self) -> u64 {
        self.0.iter().sum()
    }
}

impl<const STORES: usize> From<Position> for Positions<STORES> {
    #[inline]
    fn from(position: Position) -> Self {
        let mut positions = Self::NONE;
        positions.0[position.store().index()] = position.at();
        positions
    }
}

impl<const STORES: usize> From<Option<Position>> for Positions<STORES> {
    #[inline]
    fn from(position: Option<Position>) -> Self {
        position.map_or(Self::NONE, Self::from)
    }
}

/// As far as the journals are.
impl<const STORES: usize> From<Marks<STORES>> for Positions<STORES> {
    fn from(marks: Marks<STORES>) -> Self {
        Self(marks.0)
    }
}

/// The earliest position in each journal of what is waited for separately.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Earliest<const STORES: usize = STORE_COUNT>([u64; STORES]);

impl<const STORES: usize> Default for Earliest<STORES> {
    fn default() -> Self {
        Self([u64::MAX; STORES])
    }
}

impl<const STORES: usize> Earliest<STORES> {
    /// Adds what is waited for, too.
    #[inline]
    pub fn add(&mut self, positions: Positions<STORES>) {
        for position in positions.iter() {
            let at = &mut self.0[position.store().index()];
            *at = position.at().min(*at);
        }
    }

    /// A position is waited for, too. Whether that is news: none is known of its journal that comes before it and is yet to be reached.
    #[inline]
    pub fn renew(&mut self, position: Position, marks: &Marks<STORES>) -> bool {
        let store = position.store().index();
        let is_news = position.at() < self.0[store] || self.0[store] <= marks.0[store];
        if is_news {
            self.0[store] = position.at();
        }
        is_news
    }

    /// Each, where there is any.
    #[inline]
    pub fn iter(self) -> impl Iterator<Item = Position> {
        positions_where(self.0, |at| at < u64::MAX)
    }
}

#[inline]
fn positions_where<const STORES: usize>(
    each: [u64; STORES],
    is_there: impl Fn(u64) -> bool,
) -> impl Iterator<Item = Position> {
    let numbered = each.into_iter().enumerate().filter(move |&(_, at)| is_there(at));
    numbered.map(|(store, at)| Position::new(StoreNumber(store as u8), at))
}

/// [`Positions`] that threads add to.
#[derive(Debug)]
pub struct SharedPositions<const STORES: usize = STORE_COUNT>([AtomicU64; STORES]);

impl<const STORES: usize> Default for SharedPositions<STORES> {
    fn default() -> Self {
        Self([const { AtomicU64::new(0) }; STORES])
    }
}

impl<const STORES: usize> SharedPositions<STORES> {
    /// Adds others.
    pub fn add(&self, others: Positions<STORES>) {
        for position in others.iter() {
            self.0[position.store().index()].fetch_max(position.at(), Ordering::Release);
        }
    }

    /// All that were added.
    #[must_use]
    pub fn get(&self) -> Positions<STORES> {
        Positions(std::array::from_fn(|store| self.0[store].load(Ordering::Acquire)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn position(store: u8, at: u64) -> Position {
        Position::new(StoreNumber(store), at)
    }

    fn positions(each: &[(u8, u64)]) -> Positions<2> {
        each.iter().fold(Positions::NONE, |all, &(store, at)| all.and(position(store, at)))
    }

    #[test]
    fn a_position_names_its_store_and_its_byte() {
        for (store, at) in [(0, 0), (0, AT_MASK), (1, 0), (7, 70), (255, AT_MASK)] {
            assert_eq!((position(store, at).store(), position(store, at).at()), (StoreNumber(store), at));
        }
        assert_ne!(position(0, 7), position(1, 7));
        assert_eq!(size_of::<Position>(), 8);
        assert_eq!(size_of::<Positions>(), 8 * STORE_COUNT);
    }

    #[test]
    fn a_position_is_reached_by_its_own_journal_alone() {
        let marks = Marks::new([100, 10]);
        assert!(marks.reach(position(0, 100)) && !marks.reach(position(0, 101)));
        assert!(marks.reach(position(1, 10)) && !marks.reach(position(1, 11)));
        // A journal that nothing is known of has reached nothing.
        assert!(!Marks::new([100]).reach(position(1, 1)));
    }

    #[test]
    fn positions_of_two_stores_are_reached_when_both_are() {
        let both = positions(&[(0, 50), (1, 5)]);
        for (marks, is_reached) in [([50, 5], true), ([49, 9], false), ([900, 4], false), ([50, 6], true)] {
            assert_eq!(Marks::new(marks).reach_all(both), is_reached, "{marks:?}");
        }
        assert!(Marks::new([0, 0]).reach_all(Positions::NONE));
    }

    #[test]
    fn the_latest_of_each_store_is_kept_whatever_the_order() {
        let all = [(0, 50), (1, 5), (0, 70), (1, 9), (0, 60)];
        let expected = [position(0, 70), position(1, 9)];
        for turn in 0..all.len() {
            let mut turned = all;
            turned.rotate_left(turn);
            assert_eq!(positions(&turned).iter().collect::<Vec<_>>(), expected);
            let (some, others) = turned.split_at(turn);
            assert_eq!(positions(some).and(positions(others)), positions(&all));
        }
        assert_eq!(positions(&all).journal_len(), 79);
        assert!(positions(&[]).is_empty() && !positions(&[(1, 1)]).is_empty());
        assert_eq!(Positions::<2>::from(None::<Position>), Positions::NONE);
    }

    /// Whatever is added, in whatever pieces: together they are reached exactly when each is.
    #[test]
    fn together_they_are_reached_when_each_is() {
        let mut dice = 0x9e37_79b9_7f4a_7c15_u64;
        let mut roll = |sides: u64| {
            dice ^= dice << 13;
            dice ^= dice >> 7;
            dice ^= dice << 17;
            dice % sides
        };
        for _ in 0..10_000 {
            let each: Vec<_> = (0..roll(6)).map(|_| position(roll(2) as u8, 1 + roll(9))).collect();
            let marks = Marks::new([roll(10), roll(10)]);
            let shared = SharedPositions::<2>::default();
            each.iter().for_each(|&position| shared.add(position.into()));
            let together = each.iter().fold(Positions::<2>::NONE, |all, &position| all.and(position));
            assert_eq!(shared.get(), together);
            assert_eq!(marks.reach_all(together), each.iter().all(|&position| marks.reach(position)), "{each:?}");
            assert_eq!(marks.reach_all(together), together.iter().all(|position| marks.reach(position)), "{each:?}");
        }
    }

    #[test]
    fn who_waits_is_woken_at_the_earliest_of_each_store() {
        let mut earliest = Earliest::<2>::default();
        assert_eq!(earliest.iter().count(), 0);
        for each in [positions(&[(0, 50)]), positions(&[(0, 40), (1, 9)]), positions(&[(0, 70), (1, 5)])] {
            earliest.add(each);
        }
        assert_eq!(earliest.iter().collect::<Vec<_>>(), [position(0, 40), position(1, 5)]);
    }

    #[test]
    fn a_journal_is_asked_for_what_comes_before_all_that_it_was_asked_for() {
        let (mut asked, marks) = (Earliest::default(), Marks::new([10, 0]));
        assert!(asked.renew(position(0, 50), &marks));
        assert!(!asked.renew(position(0, 50), &marks) && !asked.renew(position(0, 60), &marks));
        // Another journal knows nothing of it.
        assert!(asked.renew(position(1, 70), &marks));
        assert!(asked.renew(position(0, 40), &marks));
        // What has been reached has woken its waiters.
        assert!(asked.renew(position(0, 60), &Marks::new([40, 0])));
        assert!(!asked.renew(position(1, 70), &Marks::new([40, 0])));
    }
}
