//! Two profiles side by side: what grew, and what fell.
//!
//! They may be of different length and load, so shares of the whole are compared and not figures.

use std::collections::HashMap;

use crate::frame::Frame;
use crate::functions::Functions;
use crate::stacks::Profile;

/// How a share of the whole changed, in parts of 1.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Change {
    /// The share in the first profile.
    pub before: f64,
    /// The share in the second.
    pub after: f64,
}

impl Change {
    /// What it has more now; below 0 if it fell.
    pub fn growth(self) -> f64 {
        self.after - self.before
    }
}

/// Two profiles to compare.
#[derive(Debug, Clone, Copy)]
pub struct Diff<'a> {
    /// The first.
    pub before: &'a Profile,
    /// The second, whose stacks are drawn.
    pub after: &'a Profile,
}

impl<'a> Diff<'a> {
    /// How the own share of each function changed, the largest changes first.
    pub fn functions(&self) -> Vec<(&'a Frame, Change)> {
        let mut changes: HashMap<&Frame, Change> = HashMap::new();
        for (frame, function) in Functions::of(self.before).rows() {
            changes.entry(frame).or_default().before = share(function.own, self.before.total());
        }
        for (frame, function) in Functions::of(self.after).rows() {
            changes.entry(frame).or_default().after = share(function.own, self.after.total());
        }
        let mut changes: Vec<_> = changes.into_iter().collect();
        changes.sort_by(|(left_name, left), (right_name, right)| {
            right.growth().abs().total_cmp(&left.growth().abs()).then_with(|| left_name.cmp(right_name))
        });
        changes
    }

    /// The first so many as a table.
    pub fn table(&self, count: usize) -> String {
        let mut text = format!("{:>8} {:>8} {:>8}  function, alone\n", "before", "after", "change");
        for (frame, change) in self.functions().into_iter().take(count) {
            let percent = |share: f64| share * 100.0;
            text.push_str(&format!(
                "{:>7.1}% {:>7.1}% {:>+8.1}  {}{}\n",
                percent(change.before),
                percent(change.after),
                percent(change.growth()),
                frame.name(),
                frame.kind().mark()
            ));
        }
        text
    }
}

#[expect(clippy::cast_precision_loss, reason = "shares are compared, not figures")]
pub(crate) fn share(weight: u64, total: u64) -> f64 {
    weight as f64 / total.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_compared_and_not_figures() {
        let before = Profile::from_folded("", "a;b 50\na;c 50").unwrap();
        let after = Profile::from_folded("", "a;b 1\na;d 3").unwrap();
        let diff = Diff { before: &before, after: &after };
        let shown: Vec<_> =
            diff.functions().into_iter().map(|(frame, change)| (frame.name().to_owned(), change.growth())).collect();
        let expected = [("d", 0.75), ("c", -0.5), ("b", -0.25), ("a", 0.0)];
        assert_eq!(shown, expected.map(|(name, growth)| (name.to_owned(), growth)));
        assert!(diff.table(1).ends_with("\n    0.0%    75.0%    +75.0  d\n"), "{}", diff.table(1));
    }
}
