//! How many channels of a lane may be *parked*: their clients have published and disconnected, and the upstream has not confirmed yet.
//!
//! A client that publishes and disconnects takes nothing back that would slow it down. An upstream that confirms less than comes would be
//! given ever more channels, have them to look after as well, and fall behind further. So it is watched how long confirms take, one *turn*
//! after the other:
//!
//! - The shortest wait there was is that of the way to the upstream and back. When even a turn's short waits are longer than that and a
//!   little, messages stand in line at the upstream. What may be parked is then what it confirms in the time of the way and a little
//!   (Little's law: what is under way is rate times time), and a half of what is, at least, lest one odd turn empties the way.
//! - The way itself may become longer. So when waits stay as long as they were although less is under way, the lane is emptied for a
//!   moment (a *probe*): what a wait takes then, the way takes from now on.
//!
//! One wait says little: of a turn's, the tenth part that is shorter is left out, since what an upstream has nothing to do for is confirmed
//! sooner. Nothing here knows channels or clients.

use std::mem;

/// What is parked at most before anything is known of the way, and what always may be.
const PARKED_MAX_AT_FIRST: usize = 128;
const PARKED_FLOOR: usize = 8;

/// It may not grow beyond this: there are no more channels.
const PARKED_CEILING: usize = 1 << 20;

/// By how much waits may be longer than the way, in milliseconds and as a share of it.
const SLACK_MS: u64 = 2;
const SLACK_SHARE: u64 = 4;

/// What is published in the first part of a turn shows the turn before. It lasts for so long after what is published then can have been
/// confirmed, and is judged by so many waits at least. Where there are not so many of them a second later, what was published before
/// counts, too.
const SETTLE_MS: u64 = 10;
const TURN_MS: u64 = 20;
const TIMEOUT_MS: u64 = 1_000;
const WAIT_COUNT_MIN: usize = 8;

/// Waits of one turn that are looked at.
const WAIT_COUNT_MAX: usize = 256;

/// Turns of which the best rate counts: a stall of one turn is none of the upstream's.
const RATE_COUNT: usize = 8;

/// How often waits may stay too long before there is a probe, and how often a turn counts in which they are much too long. More turns than
/// rates are remembered for, so that one rate that was too high is forgotten first.
const STRIKE_COUNT_MAX: usize = 12;
const STRIKES_OF_FAR_TOO_LONG: usize = 6;

/// Turns that a probe waits for the lane to become empty enough.
const PROBE_TURN_COUNT_MAX: usize = 8;

/// How often there is a probe where something always stands in line: the way may have become shorter, or was never seen.
const PROBE_INTERVAL_MS: u64 = 60_000;

#[derive(Debug)]
pub(super) struct Pace {
    /// How long a wait takes while nothing stands in line.
    way_ms: Option<u64>,
    parked_max: usize,
    /// Whether anything has ever stood in line. Until then it is not known how much more may be parked, and it may soon be much more.
    was_behind: bool,
    turn: Turn,
    /// How long the short waits of the turn before took.
    short_ms: u64,
    /// Parked channels that were confirmed in a second, of the last turns.
    rates_per_s: [u64; RATE_COUNT],
    turn_count: usize,
    /// How often waits were too long though no more was parked than may be.
    strike_count: usize,
    /// Turns that the probe has taken, while there is one.
    probe_turn_count: Option<usize>,
    /// When next to nothing stood in line last, or there was a probe.
    empty_at_ms: u64,
}

/// A while in which waits are gathered.
#[derive(Debug, Default)]
struct Turn {
    began_ms: u64,
    /// Whether no more was parked at its beginning than may be.
    began_within: bool,
    /// Of what was published in it, but at its beginning.
    waits_ms: Vec<u64>,
    /// How many were published before, and the shortest wait of all.
    older_count: usize,
    least_ms: Option<u64>,
    unparked_count: u64,
}

impl Turn {
    fn note(&mut self, wait_ms: u64, was_parked: bool, now_ms: u64) {
        self.unparked_count += u64::from(was_parked);
        self.least_ms = Some(self.least_ms.map_or(wait_ms, |least_ms| least_ms.min(wait_ms)));
        if now_ms.saturating_sub(wait_ms) < self.began_ms + SETTLE_MS {
            self.older_count += 1;
        } else if self.waits_ms.len() < WAIT_COUNT_MAX {
            self.waits_ms.push(wait_ms);
        }
    }

    /// How long its short waits took, if there are enough.
    fn short_ms(&mut self) -> Option<u64> {
        let count = self.waits_ms.len();
        if count >= WAIT_COUNT_MIN {
            return Some(*self.waits_ms.select_nth_unstable(count / 10).1);
        }
        self.least_ms.filter(|_| self.older_count >= WAIT_COUNT_MIN)
    }
}

impl Default for Pace {
    fn default() -> Self {
        Pace {
            way_ms: None,
            parked_max: PARKED_MAX_AT_FIRST,
            was_behind: false,
            turn: Turn::default(),
            short_ms: 0,
            rates_per_s: [0; RATE_COUNT],
            turn_count: 0,
            strike_count: 0,
            probe_turn_count: None,
            empty_at_ms: 0,
        }
    }
}

impl Pace {
    /// How many channels may be parked before clients wait.
    pub(super) fn parked_max(&self) -> usize {
        self.parked_max
    }

    /// How long a confirm takes that has not to stand in line, as far as is known.
    pub(super) fn way_ms(&self) -> Option<u64> {
        self.way_ms
    }

    /// All that a channel had published was confirmed so long after the last of it. Whether the turn is over: then it is to be
    /// [judged](Self::judge).
    pub(super) fn note(&mut self, wait_ms: u64, was_parked: bool, now_ms: u64) -> bool {
        self.turn.note(wait_ms, was_parked, now_ms);
        let turn_ms = now_ms.saturating_sub(self.turn.began_ms);
        let is_seen = turn_ms >= self.short_ms + SETTLE_MS + TURN_MS && self.turn.waits_ms.len() >= WAIT_COUNT_MIN;
        is_seen || turn_ms >= 2 * self.short_ms + TIMEOUT_MS
    }

    /// At the end of a turn, when so many channels are parked.
    pub(super) fn judge(&mut self, parked_count: usize, now_ms: u64) {
        let mut turn = mem::take(&mut self.turn);
        if let Some(short_ms) = turn.short_ms() {
            let turn_ms = now_ms.saturating_sub(turn.began_ms).max(1);
            self.rates_per_s[self.turn_count % RATE_COUNT] = turn.unparked_count * 1_000 / turn_ms;
            self.turn_count += 1;
            if self.way_ms.is_none() {
                // Nothing stood in line before the very first.
                self.way_ms = turn.least_ms;
                self.empty_at_ms = now_ms;
            }
            match self.probe_turn_count {
                Some(turn_count) => self.judge_probe(turn_count, short_ms, turn.began_within),
                None => self.judge_waits(short_ms, turn.began_within, parked_count, now_ms),
            }
            self.short_ms = short_ms;
        } else {
            // Where little comes back, little stands in line.
            self.empty_at_ms = now_ms;
        }
        turn.waits_ms.clear();
        let began_within = parked_count <= self.parked_max;
        self.turn = Turn { began_ms: now_ms, began_within, waits_ms: turn.waits_ms, ..Turn::default() };
    }

    fn judge_waits(&mut self, short_ms: u64, began_within: bool, parked_count: usize, now_ms: u64) {
        let way_ms = self.way_ms.map_or(short_ms, |way_ms| way_ms.min(short_ms));
        self.way_ms = Some(way_ms);
        let wanted_ms = longest_of(way_ms);
        if short_ms <= way_ms + (wanted_ms - way_ms) / 2 {
            self.empty_at_ms = now_ms;
        }
        if short_ms <= wanted_ms {
            self.strike_count = 0;
            let more = if self.was_behind { self.parked_max / 2 + 1 } else { self.parked_max };
            // Not beyond what is needed: should the upstream stall, so much would be published before it is seen.
            if parked_count * 2 >= self.parked_max {
                self.parked_max = (self.parked_max + more).min(PARKED_CEILING);
            }
        } else {
            self.was_behind = true;
            // As long as less under way makes waits shorter, it is what stands in line.
            if began_within && short_ms * 5 >= self.short_ms * 4 {
                self.strike_count += if short_ms > 2 * wanted_ms { STRIKES_OF_FAR_TOO_LONG } else { 1 };
            }
            self.parked_max = self.fitting().max(self.parked_max.min(parked_count) / 2);
        }
        if self.strike_count >= STRIKE_COUNT_MAX || now_ms >= self.empty_at_ms + PROBE_INTERVAL_MS {
            self.parked_max = PARKED_FLOOR;
            self.probe_turn_count = Some(0);
            self.empty_at_ms = now_ms;
            self.strike_count = 0;
        }
    }

    /// A turn of a probe: the first one that began when the lane was empty enough ends it.
    fn judge_probe(&mut self, turn_count: usize, short_ms: u64, began_within: bool) {
        if began_within {
            self.was_behind &= self.way_ms.is_none_or(|way_ms| longest_of(way_ms) >= short_ms);
            self.way_ms = Some(short_ms);
        }
        let is_over = began_within || turn_count >= PROBE_TURN_COUNT_MAX;
        if is_over {
            self.parked_max = self.fitting();
        }
        self.probe_turn_count = (!is_over).then_some(turn_count + 1);
    }

    /// What the upstream confirms in the time of the way and a little.
    fn fitting(&self) -> usize {
        let rate_per_s = self.rates_per_s.iter().copied().max().unwrap_or(0);
        let fitting = rate_per_s * longest_of(self.way_ms.unwrap_or(0)) / 1_000;
        usize::try_from(fitting).unwrap_or(PARKED_CEILING).clamp(PARKED_FLOOR, PARKED_CEILING)
    }
}

/// The longest that a wait may take where the way takes so long.
fn longest_of(way_ms: u64) -> u64 {
    way_ms + way_ms / SLACK_SHARE + SLACK_MS
}

#[cfg(test)]
mod tests;
