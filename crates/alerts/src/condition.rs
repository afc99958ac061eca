//! One rule and one object: from "it holds" to "it has held for long enough" and back.
//!
//! ```text
//!            above                for                    clear_for, at or below clear
//!   (nothing) ──► Pending ───────────────► Firing ─────────────────────────────────► (nothing)
//!      ▲             │ not above              │ ▲
//!      └─────────────┘                        └─┘ above clear: the rest begins anew
//! ```

use crate::rule::Rule;

/// How far it has got. What is in no phase is as it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// The condition holds, and has to keep holding.
    Pending {
        /// Since when, in milliseconds since 1970.
        since_ms: u64,
    },
    /// It has held for long enough, and is not over.
    Firing {
        /// Since when, in milliseconds since 1970.
        since_ms: u64,
        /// Since when it is over, if it is not over for long enough yet.
        quiet_since_ms: Option<u64>,
        /// When webhooks were notified last.
        told_at_ms: u64,
    },
}

/// What a look has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    Nothing,
    /// It fires from now on.
    Fired,
    /// It fires still, and it is time for a reminder.
    Remind,
    /// It fired, and is over.
    Resolved,
    /// It is over before it fired.
    Passed,
}

impl Phase {
    /// The condition holds for the first time.
    pub(crate) fn new(now_ms: u64) -> Phase {
        Phase::Pending { since_ms: now_ms }
    }

    /// How things stand now.
    pub(crate) fn step(&mut self, value: f64, rule: &Rule, now_ms: u64) -> Change {
        match self {
            Phase::Pending { .. } if value <= rule.threshold => Change::Passed,
            Phase::Pending { since_ms } if now_ms.saturating_sub(*since_ms) >= rule.for_ms => {
                *self = Phase::Firing { since_ms: now_ms, quiet_since_ms: None, told_at_ms: now_ms };
                Change::Fired
            }
            Phase::Pending { .. } => Change::Nothing,
            Phase::Firing { quiet_since_ms, told_at_ms, .. } => {
                if value <= rule.clear {
                    let since_ms = *quiet_since_ms.get_or_insert(now_ms);
                    let is_over = now_ms.saturating_sub(since_ms) >= rule.clear_for_ms;
                    return if is_over { Change::Resolved } else { Change::Nothing };
                }
                *quiet_since_ms = None;
                match rule.repeat_ms {
                    Some(repeat_ms) if now_ms.saturating_sub(*told_at_ms) >= repeat_ms => {
                        *told_at_ms = now_ms;
                        Change::Remind
                    }
                    _ => Change::Nothing,
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn rule(more: &Value) -> Rule {
        let mut members = json!({"kind": "queue-length", "above": 100});
        more.as_object().unwrap().iter().for_each(|(name, value)| members[name] = value.clone());
        Rule::parse("r", members.as_object().unwrap()).unwrap()
    }

    /// The changes that values at these times make, for as long as the object is in a phase.
    #[track_caller]
    fn check(more: Value, values: &[(u64, f64)], expected: &[(u64, Change)]) {
        let rule = rule(&more);
        let mut phase = Phase::new(values[0].0);
        let mut changes = Vec::new();
        for &(now_ms, value) in values {
            let change = phase.step(value, &rule, now_ms);
            if change != Change::Nothing {
                changes.push((now_ms, change));
            }
        }
        assert_eq!(changes, expected);
    }

    #[test]
    fn a_condition_fires_when_it_has_held_for_long_enough() {
        check(json!({}), &[(0, 101.0)], &[(0, Change::Fired)]);
        check(json!({"for": 10}), &[(0, 101.0), (9, 101.0), (10, 101.0), (11, 101.0)], &[(10, Change::Fired)]);
        check(json!({"for": 10}), &[(0, 101.0), (5, 100.0)], &[(5, Change::Passed)]);
    }

    #[test]
    fn what_hovers_about_the_threshold_does_not_flap() {
        let hovering: Vec<(u64, f64)> = (0..50).map(|at| (at, if at % 2 == 0 { 101.0 } else { 91.0 })).collect();
        check(json!({}), &hovering, &[(0, Change::Fired)]);
        check(json!({}), &[(0, 101.0), (1, 90.0)], &[(0, Change::Fired), (1, Change::Resolved)]);
        check(json!({"clear": 100}), &[(0, 101.0), (1, 100.0)], &[(0, Change::Fired), (1, Change::Resolved)]);
    }

    #[test]
    fn the_way_down_may_take_as_long() {
        let values = [(0, 101.0), (1, 5.0), (9, 95.0), (10, 5.0), (19, 5.0), (20, 5.0)];
        check(json!({"clear_for": 10}), &values, &[(0, Change::Fired), (20, Change::Resolved)]);
    }

    #[test]
    fn reminders_come_only_if_they_are_wanted() {
        let hours: Vec<(u64, f64)> = (0..4).map(|hour| (hour * 3_600_000, 101.0)).collect();
        check(json!({}), &hours, &[(0, Change::Fired)]);
        let remind = [(0, Change::Fired), (7_200_000, Change::Remind)];
        check(json!({"repeat": "2h"}), &hours, &remind);
    }

    #[test]
    fn a_clock_that_goes_back_fires_nothing_early() {
        check(json!({"for": 10}), &[(100, 101.0), (50, 101.0), (105, 101.0), (110, 101.0)], &[(110, Change::Fired)]);
    }
}
