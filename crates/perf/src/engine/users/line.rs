//! Which users wait for a turn at a throttle, and when the next one may take it. No clock, no lock.
//!
//! Turns are counted from when the last one was *taken*, not from when it was to be: a user who wakes late moves all
//! others back. Times that are handed out beforehand would let a late user and a punctual one come close together, and
//! times that pass unused would be made up for by a burst. So only the first in line has a time at all; a user behind
//! waits for the user in front.

use std::collections::BTreeMap;

/// What became of asking for a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TurnAnswer {
    /// The turn is taken. It could have been since `due`.
    Taken {
        /// When the throttle was free, and a user there to take the turn.
        due: u64,
    },
    /// First in line: the turn comes at this time, unless the rate changes.
    At(u64),
    /// Behind others.
    Behind,
}

/// A place in line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Ticket(u64);

#[derive(Debug)]
struct WaitingUser<W> {
    since: u64,
    waker: W,
}

/// The line of waiting users. `W` is what wakes one of them.
#[derive(Debug)]
pub(crate) struct Line<W> {
    gap_ns: u64,
    taken_at: Option<u64>,
    waiting: BTreeMap<Ticket, WaitingUser<W>>,
    last_place: u64,
}

impl<W: Clone> Line<W> {
    /// No user waits, and the first turn is free. Turns a second; none at all if that is 0.
    pub(crate) fn new(rate: f64) -> Self {
        Line { gap_ns: gap_ns(rate), taken_at: None, waiting: BTreeMap::new(), last_place: 0 }
    }

    /// Changes the rate; the next turn keeps the new distance from the last one. Returns the user that has to ask again.
    pub(crate) fn set_rate(&mut self, rate: f64) -> Option<W> {
        self.gap_ns = gap_ns(rate);
        self.first()
    }

    /// Gets in line, behind all others.
    pub(crate) fn enter(&mut self, now: u64, waker: W) -> Ticket {
        self.last_place += 1;
        let place = Ticket(self.last_place);
        self.waiting.insert(place, WaitingUser { since: now, waker });
        place
    }

    /// Asks whether it is this one's turn, and takes it. `waker` replaces the one from before.
    pub(crate) fn ask(&mut self, place: Ticket, now: u64, waker: &W) -> TurnAnswer {
        let is_first = self.waiting.first_key_value().is_none_or(|(first, _)| *first == place);
        let Some(waiting) = self.waiting.get_mut(&place) else { return TurnAnswer::Behind };
        if !is_first {
            waiting.waker.clone_from(waker);
            return TurnAnswer::Behind;
        }
        let free_at = self.taken_at.map_or(0, |taken_at| taken_at.saturating_add(self.gap_ns));
        if free_at > now {
            waiting.waker.clone_from(waker);
            return TurnAnswer::At(free_at);
        }
        let due = free_at.max(waiting.since);
        self.waiting.remove(&place);
        self.taken_at = Some(now);
        TurnAnswer::Taken { due }
    }

    /// Leaves the line without a turn.
    pub(crate) fn leave(&mut self, place: Ticket) {
        self.waiting.remove(&place);
    }

    /// The user that is first in line now.
    pub(crate) fn first(&self) -> Option<W> {
        self.waiting.first_key_value().map(|(_, waiting)| waiting.waker.clone())
    }
}

/// Never shorter than the rate permits.
fn gap_ns(rate: f64) -> u64 {
    // `as` stops at the largest number, which is longer than any run.
    if rate > 0.0 { (1e9 / rate).ceil() as u64 } else { u64::MAX }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn line(rate: f64) -> Line<()> {
        Line::new(rate)
    }

    #[test]
    fn first_turn_is_free_and_those_after_it_keep_their_distance() {
        let mut line = line(10.0);
        let [one, other] = [line.enter(5, ()), line.enter(5, ())];
        assert_eq!(line.ask(other, 5, &()), TurnAnswer::Behind);
        assert_eq!(line.ask(one, 5, &()), TurnAnswer::Taken { due: 5 });
        assert_eq!(line.ask(other, 6, &()), TurnAnswer::At(100_000_005));
        assert_eq!(line.ask(other, 100_000_004, &()), TurnAnswer::At(100_000_005));
        assert_eq!(line.ask(other, 100_000_005, &()), TurnAnswer::Taken { due: 100_000_005 });
    }

    #[test]
    fn a_late_turn_moves_all_others_back() {
        let mut line = line(10.0);
        let places: Vec<_> = (0..3).map(|_| line.enter(0, ())).collect();
        assert_eq!(line.ask(places[0], 0, &()), TurnAnswer::Taken { due: 0 });
        assert_eq!(line.ask(places[1], 190_000_000, &()), TurnAnswer::Taken { due: 100_000_000 });
        assert_eq!(line.ask(places[2], 200_000_000, &()), TurnAnswer::At(290_000_000));
    }

    #[test]
    fn time_without_turns_earns_no_credit() {
        let mut line = line(10.0);
        let mut taken = Vec::new();
        for place in (0..3).map(|_| line.enter(60_000_000_000, ())).collect::<Vec<_>>() {
            let at = match line.ask(place, 60_000_000_000, &()) {
                TurnAnswer::At(at) => at,
                _ => 60_000_000_000,
            };
            line.ask(place, at, &());
            taken.push(at);
        }
        assert_eq!(taken, [60_000_000_000, 60_100_000_000, 60_200_000_000]);
    }

    #[test]
    fn who_leaves_gives_the_place_to_the_next() {
        let mut line = Line::new(10.0);
        let one = line.enter(0, 'a');
        let other = line.enter(0, 'b');
        assert_eq!(line.ask(other, 0, &'c'), TurnAnswer::Behind);
        line.leave(one);
        assert_eq!(line.first(), Some('c'));
        assert_eq!(line.ask(other, 3, &'c'), TurnAnswer::Taken { due: 0 });
        assert_eq!(line.first(), None);
        assert_eq!(line.ask(other, u64::MAX, &'c'), TurnAnswer::Behind);
    }

    #[test]
    fn a_rate_of_nothing_gives_one_turn() {
        let mut line = line(0.0);
        let [one, other] = [line.enter(1, ()), line.enter(1, ())];
        assert_eq!(line.ask(one, 1, &()), TurnAnswer::Taken { due: 1 });
        assert_eq!(line.ask(other, u64::MAX - 1, &()), TurnAnswer::At(u64::MAX));
    }

    /// What happens to a line in the model.
    #[derive(Clone, Debug)]
    enum Event {
        /// A user comes.
        Enter,
        /// A user that waits asks, whether woken or not: which one, of the waiting ones.
        Ask(usize),
        /// A user gives up.
        Leave(usize),
        /// Time passes.
        Pass(u64),
        Rate(f64),
    }

    fn event() -> impl Strategy<Value = Event> {
        prop_oneof![
            3 => Just(Event::Enter),
            6 => (0..8_usize).prop_map(Event::Ask),
            1 => (0..8_usize).prop_map(Event::Leave),
            4 => (0..300_000_000_u64).prop_map(Event::Pass),
            1 => (1.0..1_000.0_f64).prop_map(Event::Rate),
        ]
    }

    proptest! {
        #[test]
        fn agrees_with_a_queue_and_never_comes_closer_than_its_rate(events in prop::collection::vec(event(), 1..300)) {
            let mut line = line(10.0);
            let mut rate = 10.0;
            let mut now = 1_000;
            let mut model: Vec<Ticket> = Vec::new();
            let mut taken: Option<u64> = None;
            for event in events {
                match event {
                    Event::Enter => model.push(line.enter(now, ())),
                    Event::Pass(ns) => now += ns,
                    Event::Rate(new) => {
                        rate = new;
                        line.set_rate(rate);
                    }
                    Event::Leave(at) if at < model.len() => line.leave(model.remove(at)),
                    Event::Ask(at) if at < model.len() => match line.ask(model[at], now, &()) {
                        TurnAnswer::Taken { due } => {
                            prop_assert_eq!(at, 0, "not the first in line");
                            prop_assert!(due <= now);
                            if let Some(taken) = taken {
                                prop_assert!((now - taken) as f64 * rate / 1e9 >= 1.0, "{} after {}", now, taken);
                            }
                            taken = Some(now);
                            model.remove(0);
                        }
                        TurnAnswer::At(free_at) => {
                            prop_assert_eq!(at, 0);
                            prop_assert!(free_at > now);
                            // It is not held back longer than it has to be.
                            let gap = free_at - taken.expect("the first turn is free");
                            prop_assert!((gap - 1) as f64 * rate / 1e9 < 1.0, "{} ns at {}", gap, rate);
                        }
                        TurnAnswer::Behind => prop_assert!(at > 0),
                    },
                    Event::Ask(_) | Event::Leave(_) => {}
                }
            }
        }
    }
}
