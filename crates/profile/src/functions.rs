//! What each function took, as fprof reports it: how often it was called, what it took with all that it called and alone, its callers, and
//! what it called.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write;

use crate::frame::Frame;
use crate::stacks::{Profile, Unit};

/// One function, over all stacks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Function<'a> {
    /// How often it was called; 0 where that is not counted.
    pub calls: u64,
    /// Taken by it and all that it called. A function that calls itself counts once.
    pub accumulated: u64,
    /// Taken by it alone.
    pub own: u64,
    /// Its callers, and what was taken below it then.
    pub callers: BTreeMap<&'a Frame, u64>,
    /// What it called, and what that took with all below.
    pub callees: BTreeMap<&'a Frame, u64>,
}

/// All functions of a profile.
#[derive(Debug)]
pub struct Functions<'a> {
    unit: Unit,
    total: u64,
    rows: Vec<(&'a Frame, Function<'a>)>,
}

impl<'a> Functions<'a> {
    /// The functions of a profile, those first that took most themselves.
    pub fn of(profile: &'a Profile) -> Functions<'a> {
        let mut functions: HashMap<&Frame, Function<'_>> = HashMap::new();
        for (stack, cost) in profile.stacks() {
            let stack: Vec<&Frame> = stack.into_iter().filter(|frame| frame.kind().is_function()).collect();
            let mut seen = HashSet::new();
            let mut calls_seen = HashSet::new();
            for (position, frame) in stack.iter().enumerate() {
                let called = stack.get(position + 1);
                let function = functions.entry(frame).or_default();
                if seen.insert(frame) {
                    function.accumulated += cost.weight;
                }
                match called {
                    None => (function.own, function.calls) = (function.own + cost.weight, function.calls + cost.calls),
                    // A pair counts once a stack, as the function itself does.
                    Some(called) if calls_seen.insert((frame, called)) => {
                        *function.callees.entry(called).or_default() += cost.weight;
                        *functions.entry(called).or_default().callers.entry(frame).or_default() += cost.weight;
                    }
                    Some(_) => {}
                }
            }
        }
        let mut rows: Vec<_> = functions.into_iter().collect();
        rows.sort_unstable_by(|(left_name, left), (right_name, right)| {
            (right.own, right.accumulated, left_name).cmp(&(left.own, left.accumulated, right_name))
        });
        Functions { unit: profile.unit(), total: profile.total(), rows }
    }

    /// All of them, those first that took most themselves.
    pub fn rows(&self) -> &[(&'a Frame, Function<'a>)] {
        &self.rows
    }

    /// The function of a name.
    pub fn get(&self, name: &str) -> Option<&Function<'a>> {
        self.rows.iter().find(|(frame, _)| frame.name() == name).map(|(_, function)| function)
    }

    /// The first so many as a table: calls where they are counted, accumulated, own, name.
    pub fn table(&self, count: usize) -> String {
        let has_calls = self.rows.iter().any(|(_, function)| function.calls > 0);
        let mut text = match has_calls {
            true => format!("{:>9} {:>16} {:>16}  function\n", "CNT", "ACC", "OWN"),
            false => format!("{:>16} {:>16}  function\n", "ACC", "OWN"),
        };
        for (frame, function) in self.rows.iter().take(count) {
            if has_calls {
                let _ = write!(text, "{:>9} ", function.calls);
            }
            let (accumulated, own) = (self.share(function.accumulated), self.share(function.own));
            let _ = writeln!(text, "{accumulated:>16} {own:>16}  {}{}", frame.name(), frame.kind().mark());
        }
        text
    }

    /// One function with its callers above, and what it called below.
    pub fn neighbours(&self, name: &str, count: usize) -> Option<String> {
        let function = self.get(name)?;
        let mut text = String::new();
        for (frame, weight) in most(&function.callers, count).into_iter().rev() {
            let _ = writeln!(text, "    {:>16}  {}", self.share(weight), frame.name());
        }
        let _ = writeln!(text, "{:>16}  {name} (own {})", self.share(function.accumulated), self.share(function.own));
        for (frame, weight) in most(&function.callees, count) {
            let _ = writeln!(text, "    {:>16}  {}", self.share(weight), frame.name());
        }
        Some(text)
    }

    /// `1.25 ms 12.0%`, or of samples `25 12.0%`.
    #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
    fn share(&self, weight: u64) -> String {
        let figure = match self.unit {
            Unit::Samples { .. } => weight.to_string(),
            Unit::Nanoseconds => self.unit.show(weight),
        };
        format!("{figure} {:>5.1}%", weight as f64 / self.total.max(1) as f64 * 100.0)
    }
}

fn most<'a>(weights: &BTreeMap<&'a Frame, u64>, count: usize) -> Vec<(&'a Frame, u64)> {
    let mut all: Vec<(&Frame, u64)> = weights.iter().map(|(frame, weight)| (*frame, *weight)).collect();
    all.sort_by_key(|(_, weight)| std::cmp::Reverse(*weight));
    all.truncate(count);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stacks::Cost;

    fn sample() -> Profile {
        Profile::from_folded("", "t_[t];main;parse 2\nt_[t];main;parse;read 5\nu_[t];main;read 1\nu_[t];main 1")
            .unwrap()
    }

    #[test]
    fn a_function_is_counted_over_all_stacks() {
        let profile = sample();
        let functions = Functions::of(&profile);
        let shown: Vec<_> =
            functions.rows().iter().map(|(frame, each)| (frame.name(), each.accumulated, each.own)).collect();
        assert_eq!(shown, [("read", 6, 6), ("parse", 7, 2), ("main", 9, 1)]);
        let read = functions.get("read").unwrap();
        let callers: Vec<_> = read.callers.iter().map(|(frame, weight)| (frame.name(), *weight)).collect();
        assert_eq!(callers, [("main", 1), ("parse", 5)]);
        assert_eq!(functions.get("main").unwrap().callees[&Frame::work("parse")], 7);
    }

    #[test]
    fn recursion_counts_once() {
        let profile = Profile::from_folded("", "walk;walk;walk;visit 3").unwrap();
        let functions = Functions::of(&profile);
        let walk = functions.get("walk").unwrap();
        assert_eq!((walk.accumulated, walk.own, walk.callees[&Frame::work("walk")]), (3, 0, 3));
    }

    #[test]
    fn calls_are_shown_where_they_are_counted() {
        let profile = sample();
        assert!(!Functions::of(&profile).table(9).contains("CNT"));
        let mut counted = Profile::new("", Unit::Nanoseconds);
        counted.add(&[Frame::work("list")], Cost { weight: 1_000_000, calls: 2 });
        counted.add(&[Frame::work("list"), Frame::waiting("lock")], Cost { weight: 3_000_000, calls: 1 });
        assert_eq!(
            Functions::of(&counted).table(1),
            "      CNT              ACC              OWN  function\n        1   3.00 ms  75.0%   3.00 ms  75.0%  lock_[w]\n"
        );
    }

    #[test]
    fn a_function_is_shown_between_its_callers_and_callees() {
        let profile = sample();
        let shown = Functions::of(&profile).neighbours("parse", 5).unwrap();
        let names: Vec<_> = shown.lines().map(|line| line.split("%  ").nth(1).unwrap()).collect();
        assert_eq!(names, ["main", "parse (own 2  22.2%)", "read"]);
    }
}
