//! When one publisher's messages are due.
//!
//! A message is due when the integral of the rate over time has grown by one since the message before it. The time is
//! worked out from the start of its segment, not from the message before: nothing adds up over days but one rounding at
//! each segment's end, in the integral. What is left there of the way to the next message is carried over into the segments
//! that follow: changing the rate neither gains nor loses a message. Poisson segments have a way of their own, with
//! random gaps, which they hand on among themselves in the same manner.
//!
//! Segments include their start and exclude their end. All times are nanoseconds since the start of the run.

use super::{Random, Rate, Schedule, Segment};

/// More than this many messages a second and publisher is the same as this many: one each nanosecond.
pub const RATE_MAX: f64 = 1e9;

/// What part of a message rounding may take or give where a segment ends.
const ROUNDING: f64 = 1e-9;

/// When the next message is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// At this time.
    At(u64),
    /// As soon as it can be sent, until this time ([`Due::leave_unlimited`] then continues), or to the end of the run.
    NowUntil(Option<u64>),
    /// Not at all: the schedule is over.
    Never,
}

/// When messages are due, one after the other.
#[derive(Clone, Debug)]
pub struct Due {
    stretches: Box<[Stretch]>,
    repeat: bool,
    /// What whole rounds bring, if rounds can be skipped.
    round: Option<Round>,
    /// The stretch that `next` is in.
    current: usize,
    /// When it started.
    started_at: u64,
    /// How much the integral has to grow from the stretch's start to the next even message.
    even_due: f64,
    /// The same for the next random message.
    random_due: f64,
    random: Random,
    next: Next,
}

impl Due {
    /// For publisher `index` of `count` that share a schedule. They are evenly out of step: the first message of each is
    /// due `index / count` of a gap after the start. Groups of publishers are to have seeds of their own, or their
    /// random times are the same.
    #[must_use]
    pub fn new(schedule: &Schedule, seed: u64, index: u32, count: u32) -> Self {
        let stretches: Box<[Stretch]> = schedule.segments.iter().map(Stretch::new).collect();
        let mut random = Random::new(seed, u64::from(index));
        let mut due = Due {
            round: Round::of(&stretches),
            stretches,
            repeat: schedule.repeat,
            current: 0,
            started_at: 0,
            even_due: f64::from(index) / f64::from(count.max(1)),
            random_due: random.exponential(),
            random,
            next: Next::Never,
        };
        due.next = due.find();
        due
    }

    /// When the next message is due. The first of an unlimited segment is due at the segment's start, [`Next::At`];
    /// those after it are due [`Next::NowUntil`] its end.
    #[must_use]
    pub fn peek(&self) -> Next {
        self.next
    }

    /// The message that was due is sent: on to the one after it. Never earlier than it.
    pub fn advance(&mut self) {
        let earliest = match self.next {
            Next::Never => return,
            Next::NowUntil(_) => return,
            Next::At(at) => at,
        };
        let Some(stretch) = self.stretches.get(self.current) else { return };
        match stretch.shape {
            Shape::Unlimited => {
                self.next = Next::NowUntil(stretch.duration.map(|duration| self.started_at.saturating_add(duration)));
                return;
            }
            Shape::Random { .. } => self.random_due += self.random.exponential(),
            Shape::Pause | Shape::Even { .. } | Shape::Ramp { .. } => self.even_due += 1.0,
        }
        self.next = match self.find() {
            // The ramp's root may be off by a last digit.
            Next::At(at) => Next::At(at.max(earliest)),
            other => other,
        };
    }

    /// The end of the unlimited segment has come: on to what follows it. Does nothing in other segments.
    pub fn leave_unlimited(&mut self) {
        if let Next::NowUntil(Some(end)) = self.next {
            self.enter_following(end);
            self.next = self.find();
        }
    }

    /// Goes through the stretches until one has a message.
    fn find(&mut self) -> Next {
        loop {
            if self.current == self.stretches.len() && self.repeat {
                self.current = 0;
            }
            if self.current == 0 && self.repeat && !self.skip_rounds() {
                return Next::Never;
            }
            let Some(stretch) = self.stretches.get(self.current) else { return Next::Never };
            let due = match stretch.shape {
                Shape::Pause => &mut 0.0,
                Shape::Unlimited if stretch.duration != Some(0) => return Next::At(self.started_at),
                Shape::Unlimited => &mut 0.0,
                Shape::Even { .. } | Shape::Ramp { .. } => &mut self.even_due,
                Shape::Random { .. } => &mut self.random_due,
            };
            // At the very end, give or take what rounding does, is the start of what follows.
            let missing = *due - stretch.area;
            if missing < -stretch.rounding {
                return match self.started_at.checked_add(stretch.offset_of(*due)) {
                    Some(at) => Next::At(at),
                    None => Next::Never,
                };
            }
            if stretch.area > 0.0 {
                *due = if missing < stretch.rounding { 0.0 } else { missing };
            }
            let end = stretch.duration.and_then(|duration| self.started_at.checked_add(duration));
            let Some(end) = end else { return Next::Never };
            self.enter_following(end);
        }
    }

    fn enter_following(&mut self, start: u64) {
        self.current += 1;
        self.started_at = start;
    }

    /// At the start of a round: leaves out those that have no message. False if no round ever has one.
    fn skip_rounds(&mut self) -> bool {
        let Some(round) = &self.round else { return true };
        let Some(rounds) = round.empty_ones(self.even_due, self.random_due) else { return false };
        self.even_due -= rounds * round.even_area;
        self.random_due -= rounds * round.random_area;
        let start = self.started_at as f64 + rounds * round.duration as f64;
        if start >= u64::MAX as f64 {
            return false;
        }
        self.started_at += rounds as u64 * round.duration;
        true
    }
}

/// A segment, made ready.
#[derive(Clone, Debug)]
struct Stretch {
    shape: Shape,
    /// In nanoseconds; `None`: without end.
    duration: Option<u64>,
    /// The integral of the rate: how many messages are due in it.
    area: f64,
    /// How far the area may be off, from rounding.
    rounding: f64,
}

#[derive(Clone, Copy, Debug)]
enum Shape {
    Pause,
    Unlimited,
    Even {
        gap: f64,
    },
    Random {
        gap: f64,
    },
    /// Messages a nanosecond, and by how much that grows each nanosecond.
    Ramp {
        from: f64,
        slope: f64,
    },
}

impl Stretch {
    fn new(segment: &Segment) -> Self {
        let duration = segment.duration.map(|duration| u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX));
        let length = duration.map_or(f64::INFINITY, |duration| duration as f64);
        let (shape, mean) = match segment.rate {
            Rate::Unlimited => (Shape::Unlimited, 0.0),
            Rate::Fixed(rate) => (Shape::Even { gap: 1.0 / per_ns(rate) }, per_ns(rate)),
            Rate::Poisson(rate) => (Shape::Random { gap: 1.0 / per_ns(rate) }, per_ns(rate)),
            // What grows for ever does not grow.
            Rate::Ramp { from, .. } if duration.is_none() => (Shape::Even { gap: 1.0 / per_ns(from) }, per_ns(from)),
            Rate::Ramp { from, to } => {
                let (from, to) = (per_ns(from), per_ns(to));
                (Shape::Ramp { from, slope: (to - from) / length }, (from + to) / 2.0)
            }
        };
        let is_pause = mean == 0.0 && !matches!(shape, Shape::Unlimited);
        let area = if mean == 0.0 { 0.0 } else { mean * length };
        Stretch { shape: if is_pause { Shape::Pause } else { shape }, duration, area, rounding: rounding_of(area) }
    }

    /// How long after the start the integral has grown to `area`.
    fn offset_of(&self, area: f64) -> u64 {
        let offset = match self.shape {
            Shape::Pause | Shape::Unlimited => 0.0,
            Shape::Even { gap } | Shape::Random { gap } => area * gap,
            // The root of from * t + slope * t * t / 2 = area, in the form that takes no difference of near numbers.
            Shape::Ramp { .. } if area == 0.0 => 0.0,
            Shape::Ramp { from, slope } => {
                let rate_then = (from * from + 2.0 * slope * area).max(0.0).sqrt();
                2.0 * area / (from + rate_then)
            }
        };
        // `as` stops at the largest number.
        let offset = offset.round() as u64;
        match self.duration {
            Some(duration) => offset.min(duration.saturating_sub(1)),
            None => offset,
        }
    }
}

/// What a whole round of a repeated schedule without unlimited segments brings.
#[derive(Clone, Debug)]
struct Round {
    duration: u64,
    even_area: f64,
    random_area: f64,
}

impl Round {
    /// `None` if a round has no end, or always has a message because it has an unlimited segment.
    fn of(stretches: &[Stretch]) -> Option<Self> {
        let mut round = Round { duration: 0, even_area: 0.0, random_area: 0.0 };
        for stretch in stretches {
            let duration = stretch.duration?;
            round.duration = round.duration.checked_add(duration)?;
            match stretch.shape {
                Shape::Unlimited if duration > 0 => return None,
                Shape::Random { .. } => round.random_area += stretch.area,
                _ => round.even_area += stretch.area,
            }
        }
        Some(round)
    }

    /// How many rounds have no message for sure; `None` if none ever has.
    fn empty_ones(&self, even_due: f64, random_due: f64) -> Option<f64> {
        if self.duration == 0 || self.even_area + self.random_area <= 0.0 {
            return None;
        }
        // One less, because rounding must not skip the one with the message.
        let until = |due: f64, area: f64| if area > 0.0 { (due / area).floor() - 1.0 } else { f64::INFINITY };
        Some(until(even_due, self.even_area).min(until(random_due, self.random_area)).max(0.0))
    }
}

/// More where there are so many messages that their number has no digits left for parts; and far less than the segment.
fn rounding_of(area: f64) -> f64 {
    if area.is_finite() { ROUNDING.max(area * 4.0 * f64::EPSILON).min(area / 1e3) } else { ROUNDING }
}

/// Of what is not a rate, none.
fn per_ns(rate_per_s: f64) -> f64 {
    if rate_per_s.is_nan() { 0.0 } else { rate_per_s.clamp(0.0, RATE_MAX) / 1e9 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::Duration;

    const SECOND: u64 = 1_000_000_000;

    fn segment(rate: Rate, seconds: f64) -> Segment {
        Segment { rate, duration: Some(Duration::from_secs_f64(seconds)) }
    }

    fn once(segments: &[Segment]) -> Schedule {
        Schedule { segments: segments.to_vec(), repeat: false }
    }

    fn repeated(segments: &[Segment]) -> Schedule {
        Schedule { segments: segments.to_vec(), repeat: true }
    }

    /// Times before `end`, of one publisher.
    fn times_before(due: &mut Due, end: u64) -> Vec<u64> {
        let mut times = Vec::new();
        while let Next::At(at) = due.peek() {
            if at >= end {
                break;
            }
            times.push(at);
            due.advance();
        }
        times
    }

    fn times(schedule: &Schedule, end_s: f64) -> Vec<u64> {
        times_before(&mut Due::new(schedule, 1, 0, 1), (end_s * SECOND as f64) as u64)
    }

    /// In milliseconds.
    #[track_caller]
    fn check_times(schedule: &Schedule, expected_ms: &[u64]) {
        let found: Vec<u64> =
            times(schedule, 3_600.0).iter().map(|at| at / 1_000_000).take(expected_ms.len() + 1).collect();
        assert_eq!(found, expected_ms);
    }

    #[test]
    fn a_fixed_rate_is_due_evenly_from_the_start() {
        check_times(&once(&[segment(Rate::Fixed(4.0), 1.5)]), &[0, 250, 500, 750, 1_000, 1_250]);
    }

    #[test]
    fn a_segment_does_not_include_its_end() {
        check_times(&once(&[segment(Rate::Fixed(2.0), 1.0)]), &[0, 500]);
        check_times(&once(&[segment(Rate::Fixed(2.0), 1.0), segment(Rate::Fixed(1.0), 2.0)]), &[0, 500, 1_000, 2_000]);
    }

    #[test]
    fn what_is_left_of_a_gap_goes_over_into_the_next_segment() {
        // Three quarters of a message until 1.5 s after the one at 1 s; the last quarter takes 0.125 s at 4 a second.
        check_times(
            &once(&[segment(Rate::Fixed(0.5), 3.5), segment(Rate::Fixed(4.0), 0.5)]),
            &[0, 2_000, 3_562, 3_812],
        );
    }

    #[test]
    fn nothing_is_due_in_a_pause_and_the_gap_goes_on_after_it() {
        let pause = segment(Rate::Fixed(0.0), 10.0);
        let before = segment(Rate::Fixed(1.0), 1.5);
        let after = segment(Rate::Fixed(1.0), 2.0);
        check_times(&once(&[before, pause, after]), &[0, 1_000, 12_000, 13_000]);
        check_times(&once(&[pause, after]), &[10_000, 11_000]);
    }

    #[test]
    fn a_ramp_is_due_where_its_integral_reaches_whole_numbers() {
        // t * t for 2 messages a second and second: square roots.
        check_times(
            &once(&[segment(Rate::Ramp { from: 0.0, to: 6.0 }, 3.0)]),
            &[0, 1_000, 1_414, 1_732, 2_000, 2_236, 2_449, 2_645, 2_828],
        );
        // The same backwards: 3 s less the square roots of 9, 8, 7 …
        check_times(
            &once(&[segment(Rate::Ramp { from: 6.0, to: 0.0 }, 3.0)]),
            &[0, 171, 354, 550, 763, 1_000, 1_267, 1_585, 2_000],
        );
    }

    #[test]
    fn a_ramp_without_end_keeps_its_first_rate() {
        let schedule = Schedule::constant(Rate::Ramp { from: 10.0, to: 20.0 });
        assert_eq!(times(&schedule, 1.0).len(), 10);
    }

    #[test]
    fn publishers_of_a_group_are_evenly_out_of_step() {
        let schedule = Schedule::constant(Rate::Fixed(10.0));
        let mut all: Vec<u64> =
            (0..5).flat_map(|index| times_before(&mut Due::new(&schedule, 1, index, 5), SECOND)).collect();
        all.sort_unstable();
        let expected: Vec<u64> = (0..50).map(|number| number * SECOND / 50).collect();
        assert_eq!(all, expected);
    }

    #[test]
    fn an_unlimited_segment_is_due_from_its_start_until_its_end() {
        let schedule =
            once(&[segment(Rate::Fixed(1.0), 2.0), segment(Rate::Unlimited, 3.0), segment(Rate::Fixed(1.0), 1.0)]);
        let mut due = Due::new(&schedule, 1, 0, 1);
        let mut seen = Vec::new();
        for _ in 0..3 {
            seen.push(due.peek());
            due.advance();
        }
        assert_eq!(seen, [Next::At(0), Next::At(SECOND), Next::At(2 * SECOND)]);
        for _ in 0..1_000 {
            assert_eq!(due.peek(), Next::NowUntil(Some(5 * SECOND)));
            due.advance();
        }
        due.leave_unlimited();
        assert_eq!(due.peek(), Next::At(5 * SECOND));
        due.leave_unlimited();
        assert_eq!(due.peek(), Next::At(5 * SECOND));
        due.advance();
        assert_eq!(due.peek(), Next::Never);
    }

    #[test]
    fn unlimited_without_end_is_due_for_ever() {
        let mut due = Due::new(&Schedule::constant(Rate::Unlimited), 1, 3, 7);
        assert_eq!(due.peek(), Next::At(0));
        due.advance();
        assert_eq!(due.peek(), Next::NowUntil(None));
        due.leave_unlimited();
        assert_eq!(due.peek(), Next::NowUntil(None));
    }

    #[test]
    fn schedules_without_any_message_are_over_at_once() {
        let pause = segment(Rate::Fixed(0.0), 1.0);
        let nothing = segment(Rate::Unlimited, 0.0);
        let wrong = segment(Rate::Fixed(f64::NAN), 1.0);
        let negative = segment(Rate::Poisson(-5.0), 1.0);
        for segments in [vec![], vec![pause], vec![pause, nothing], vec![wrong, negative]] {
            for repeat in [false, true] {
                let schedule = Schedule { segments: segments.clone(), repeat };
                assert_eq!(Due::new(&schedule, 1, 0, 1).peek(), Next::Never, "{schedule:?}");
            }
        }
        assert_eq!(Due::new(&Schedule::constant(Rate::Fixed(0.0)), 1, 0, 1).peek(), Next::Never);
    }

    #[test]
    fn a_repeated_schedule_begins_again() {
        let schedule = repeated(&[segment(Rate::Fixed(2.0), 1.0), segment(Rate::Fixed(0.0), 4.0)]);
        assert_eq!(times(&schedule, 10.5), [0, 500, 5_000, 5_500, 10_000].map(|ms| ms * 1_000_000));
    }

    #[test]
    fn rounds_without_a_message_are_skipped_and_their_share_is_kept() {
        // One message in a thousand million rounds, of a millisecond each.
        let schedule = repeated(&[segment(Rate::Fixed(1e-6), 0.000_5), segment(Rate::Fixed(1e-6), 0.000_5)]);
        let mut due = Due::new(&schedule, 1, 0, 1);
        due.advance();
        let Next::At(at) = due.peek() else { panic!("no message: {due:?}") };
        assert!(at.abs_diff(1_000_000 * SECOND) < 10_000_000, "{at}");
        let random = repeated(&[segment(Rate::Poisson(1e-6), 0.001)]);
        assert!(matches!(Due::new(&random, 1, 0, 1).peek(), Next::At(_)));
        let never_in_a_lifetime = repeated(&[segment(Rate::Fixed(1e-15), 0.001)]);
        let mut due = Due::new(&never_in_a_lifetime, 1, 0, 1);
        due.advance();
        assert_eq!(due.peek(), Next::Never);
    }

    #[test]
    fn days_later_messages_are_due_to_the_nanosecond() {
        const DAYS_10: u64 = 10 * 86_400;
        // 3 a second for whole seconds; and in turns that do not divide a second.
        for (schedule, per_second) in [
            (Schedule::constant(Rate::Fixed(3.0)), 3),
            (repeated(&[segment(Rate::Fixed(3.0), 0.9), segment(Rate::Fixed(3.0), 0.4)]), 3),
            (repeated(&[segment(Rate::Ramp { from: 0.0, to: 20.0 }, 0.5), segment(Rate::Fixed(0.0), 0.5)]), 5),
        ] {
            let mut due = Due::new(&schedule, 1, 0, 1);
            let mut last = 0;
            for _ in 0..=DAYS_10 * per_second {
                let Next::At(at) = due.peek() else { panic!("over: {schedule:?}") };
                last = at;
                due.advance();
            }
            assert!(last.abs_diff(DAYS_10 * SECOND) <= 1, "{last} {schedule:?}");
        }
    }

    #[test]
    fn poisson_gaps_have_the_mean_and_the_deviation_of_their_rate() {
        let times = times(&Schedule::constant(Rate::Poisson(1_000.0)), 200.0);
        let gaps: Vec<f64> = times.windows(2).map(|pair| (pair[1] - pair[0]) as f64 / 1e9).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let deviation = (gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64).sqrt();
        assert!((mean * 1_000.0 - 1.0).abs() < 0.01, "mean {mean}");
        assert!((deviation * 1_000.0 - 1.0).abs() < 0.01, "deviation {deviation}");
    }

    #[test]
    fn poisson_counts_vary_as_much_as_their_mean() {
        // Seconds of pieces of 0.7 s with pauses between them: what pieces hand on must not even anything out.
        let schedule = repeated(&[segment(Rate::Poisson(20.0), 0.7), segment(Rate::Fixed(0.0), 0.3)]);
        let mut counts = vec![0f64; 20_000];
        for at in times(&schedule, 20_000.0) {
            counts[(at / SECOND) as usize] += 1.0;
        }
        let mean = counts.iter().sum::<f64>() / counts.len() as f64;
        let variance = counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / counts.len() as f64;
        assert!((mean - 14.0).abs() < 0.15, "mean {mean}");
        assert!((variance - 14.0).abs() < 0.7, "variance {variance}");
    }

    #[test]
    fn poisson_publishers_are_repeatable_and_independent() {
        let schedule = Schedule::constant(Rate::Poisson(100.0));
        let first = |seed, index| times_before(&mut Due::new(&schedule, seed, index, 10), SECOND);
        assert_eq!(first(1, 0), first(1, 0));
        assert_ne!(first(1, 0), first(1, 1));
        assert_ne!(first(1, 0), first(2, 0));
    }

    fn any_rate() -> impl Strategy<Value = Rate> {
        let rate = prop_oneof![Just(0.0), 0.01..10.0f64, 10.0..3_000.0f64];
        prop_oneof![
            rate.clone().prop_map(Rate::Fixed),
            (rate.clone(), rate).prop_map(|(from, to)| Rate::Ramp { from, to }),
        ]
    }

    fn any_segments() -> impl Strategy<Value = Vec<Segment>> {
        let segment = (any_rate(), 0u64..3_000_000)
            .prop_map(|(rate, micros)| Segment { rate, duration: Some(Duration::from_micros(micros)) });
        proptest::collection::vec(segment, 1..6)
    }

    /// The integral of the rate up to a time: the plain definition.
    fn integral(schedule: &Schedule, until_s: f64) -> f64 {
        let (mut left, mut total) = (until_s, 0.0);
        loop {
            for segment in &schedule.segments {
                let length = segment.duration.map_or(f64::INFINITY, |duration| duration.as_secs_f64());
                let part = left.min(length);
                total += match segment.rate {
                    Rate::Fixed(rate) | Rate::Poisson(rate) => rate * part,
                    Rate::Ramp { from, to } => from * part + (to - from) / length.max(1e-9) * part * part / 2.0,
                    Rate::Unlimited => 0.0,
                };
                left -= part;
                if left <= 0.0 {
                    return total;
                }
            }
            if !schedule.repeat {
                return total;
            }
        }
    }

    proptest! {
        #[test]
        fn counts_equal_the_integral_within_one(
            segments in any_segments(), repeat: bool, end_s in 0.1..20.0f64, index in 0u32..7,
        ) {
            prop_assume!(segments.iter().any(|segment| segment.duration > Some(Duration::from_millis(50))));
            let schedule = Schedule { segments, repeat };
            let found = times_before(&mut Due::new(&schedule, 1, index, 7), (end_s * SECOND as f64) as u64).len();
            let expected = integral(&schedule, end_s) - f64::from(index) / 7.0;
            prop_assert!((found as f64 - expected).abs() <= 1.0 + 1e-3, "{found} of {expected}");
        }

        #[test]
        fn each_message_is_due_where_the_integral_reaches_its_number(
            segments in any_segments(), repeat: bool, index in 0u32..7,
        ) {
            prop_assume!(segments.iter().any(|segment| segment.duration > Some(Duration::from_millis(50))));
            let schedule = Schedule { segments, repeat };
            let times = times_before(&mut Due::new(&schedule, 1, index, 7), 10 * SECOND);
            for (number, at) in times.iter().enumerate() {
                let reached = integral(&schedule, *at as f64 / 1e9);
                let expected = number as f64 + f64::from(index) / 7.0;
                // A nanosecond at 3,000 messages a second.
                prop_assert!((reached - expected).abs() < 1e-4, "message {number} at {at}: {reached} is not {expected}");
            }
        }

        #[test]
        fn times_never_go_back(
            segments in any_segments(), random_rate in 0.1..1_000.0f64, unlimited_ms in 0u64..50, repeat: bool, seed: u64,
        ) {
            let mut segments = segments;
            segments.insert(0, segment(Rate::Poisson(random_rate), 0.5));
            segments.push(Segment { rate: Rate::Unlimited, duration: Some(Duration::from_millis(unlimited_ms)) });
            let mut due = Due::new(&Schedule { segments, repeat }, seed, 0, 1);
            let mut last = 0;
            for _ in 0..2_000 {
                match due.peek() {
                    Next::At(at) => {
                        prop_assert!(at >= last, "{at} after {last}");
                        last = at;
                        due.advance();
                    }
                    Next::NowUntil(Some(until)) => {
                        prop_assert!(until > last);
                        last = until;
                        due.leave_unlimited();
                    }
                    Next::NowUntil(None) => prop_assert!(false, "unlimited has an end here"),
                    Next::Never => {
                        prop_assert!(!repeat);
                        break;
                    }
                }
            }
        }
    }
}
