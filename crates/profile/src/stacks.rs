//! A profile: stacks, and what was counted in each.

use std::collections::HashMap;

use crate::Frame;

/// What the figures of a profile are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// How often a stack was seen, at so many nanoseconds between one look and the next; 0 if that is not known.
    Samples {
        /// The time between two looks.
        period_ns: u64,
    },
    /// How long it took.
    Nanoseconds,
}

impl Unit {
    /// A figure as people read it: `412 samples`, `1.25 ms`.
    pub fn show(self, weight: u64) -> String {
        match self {
            Unit::Samples { .. } if weight == 1 => "1 sample".to_owned(),
            Unit::Samples { .. } => format!("{weight} samples"),
            Unit::Nanoseconds => show_duration(weight),
        }
    }

    /// How many nanoseconds a figure stands for, if that is known.
    pub fn nanoseconds(self, weight: u64) -> Option<u64> {
        match self {
            Unit::Samples { period_ns: 0 } => None,
            Unit::Samples { period_ns } => Some(weight.saturating_mul(period_ns)),
            Unit::Nanoseconds => Some(weight),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
fn show_duration(ns: u64) -> String {
    let (unit, name) = match ns {
        0..1_000 => return format!("{ns} ns"),
        1_000..1_000_000 => (1e3, "µs"),
        1_000_000..1_000_000_000 => (1e6, "ms"),
        _ => (1e9, "s"),
    };
    let value = ns as f64 / unit;
    let digits = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    format!("{value:.digits$} {name}")
}

/// What was counted in one stack: in its last frame, and in nothing that this called.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cost {
    /// Samples or nanoseconds.
    pub weight: u64,
    /// How often its last function was called; 0 where calls are not counted.
    pub calls: u64,
}

impl Cost {
    pub(crate) fn add(&mut self, other: Cost) {
        self.weight = self.weight.saturating_add(other.weight);
        self.calls = self.calls.saturating_add(other.calls);
    }
}

/// Frames of a stack that are kept, from its root: trees are walked by functions that call themselves.
const DEPTH_MAX: usize = 512;

type FrameId = u32;

/// Stacks with what was counted in each. Equal stacks are one.
#[derive(Debug, Clone)]
pub struct Profile {
    title: String,
    unit: Unit,
    notes: Vec<String>,
    frames: Vec<Frame>,
    ids: HashMap<Frame, FrameId>,
    stacks: HashMap<Vec<FrameId>, Cost>,
}

impl Profile {
    /// A profile without stacks.
    pub fn new(title: &str, unit: Unit) -> Profile {
        Profile {
            title: title.to_owned(),
            unit,
            notes: Vec::new(),
            frames: Vec::new(),
            ids: HashMap::new(),
            stacks: HashMap::new(),
        }
    }

    /// What it is of.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// What its figures are.
    pub fn unit(&self) -> Unit {
        self.unit
    }

    /// Says something that its readers should know, such as what it cost to make.
    pub fn note(&mut self, line: &str) {
        self.notes.push(line.to_owned());
    }

    /// What its readers should know.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Counts one stack, its root first. One without frames is not counted, and what is deeper than 512 frames is counted in the last of
    /// these.
    pub fn add(&mut self, stack: &[Frame], cost: Cost) {
        if stack.is_empty() || cost == Cost::default() {
            return;
        }
        let ids = stack.iter().take(DEPTH_MAX).map(|frame| self.id(frame)).collect();
        self.stacks.entry(ids).or_default().add(cost);
    }

    fn id(&mut self, frame: &Frame) -> FrameId {
        if let Some(id) = self.ids.get(frame) {
            return *id;
        }
        let id = FrameId::try_from(self.frames.len()).expect("memory ends before 4 billion names");
        self.frames.push(frame.clone());
        self.ids.insert(frame.clone(), id);
        id
    }

    /// All stacks with what was counted in them, in the order of their names: the same profile is always written the same way.
    pub fn stacks(&self) -> Vec<(Vec<&Frame>, Cost)> {
        let frames = |ids: &Vec<FrameId>| ids.iter().map(|id| &self.frames[*id as usize]).collect();
        let mut stacks: Vec<(Vec<&Frame>, Cost)> = self.stacks.iter().map(|(ids, cost)| (frames(ids), *cost)).collect();
        stacks.sort_unstable_by(|(left, _), (right, _)| left.cmp(right));
        stacks
    }

    /// What all stacks took together.
    pub fn total(&self) -> u64 {
        self.stacks.values().fold(0, |sum, cost| sum.saturating_add(cost.weight))
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.stacks.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_stacks_are_one() {
        let mut profile = Profile::new("", Unit::Nanoseconds);
        for weight in [3, 4] {
            profile.add(&[Frame::work("a"), Frame::work("b")], Cost { weight, calls: 1 });
        }
        profile.add(&[Frame::work("a"), Frame::waiting("b")], Cost { weight: 5, calls: 1 });
        profile.add(&[], Cost { weight: 100, calls: 1 });
        let costs: Vec<_> = profile.stacks().into_iter().map(|(_, cost)| (cost.weight, cost.calls)).collect();
        assert_eq!((costs, profile.total()), (vec![(7, 2), (5, 1)], 12));
    }

    #[test]
    fn figures_are_shown_with_their_unit() {
        check_shown(Unit::Samples { period_ns: 0 }, 1, "1 sample");
        check_shown(Unit::Samples { period_ns: 0 }, 2_000_000, "2000000 samples");
        check_shown(Unit::Nanoseconds, 999, "999 ns");
        check_shown(Unit::Nanoseconds, 1_250_000, "1.25 ms");
        check_shown(Unit::Nanoseconds, 45_300, "45.3 µs");
        check_shown(Unit::Nanoseconds, 120_000_000_000, "120 s");
    }

    #[track_caller]
    fn check_shown(unit: Unit, weight: u64, shown: &str) {
        assert_eq!(unit.show(weight), shown);
    }
}
