//! The network, or the broker: one sentence.
//!
//! ```text
//!  |<------------------------- publish to confirm ------------------------->|
//!  |<---------- answer without work ---------->|
//!  |<- network ->|<- answering ->|<------------- confirming --------------->|
//! ```
//!
//! The network is the least of what shows it: a TCP connection being made, the same as the kernel measures it, and the answer, which
//! cannot be sooner than the network lets it. Answering is the broker's turn to read a request, or whatever lies between that speaks TCP
//! for it: a proxy, a tunnel, a load balancer. Confirming is what the broker does for a message: routing, disk, other nodes.

use std::time::Duration;

use figures::format;

use crate::stage::Stage;
use crate::statistics::{StageSummary, Statistics};

/// Less than this from publish to confirm is not called slow, unless it exceeds a budget.
const SLOW: Duration = Duration::from_millis(1);

/// What the rounds mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// What takes most of the time.
    pub(crate) cause: Cause,
    /// In words.
    pub(crate) sentence: String,
    /// Whether the budget was kept; `None` without one.
    pub(crate) budget: Option<BudgetVerdict>,
}

/// What takes most of the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// No round was completed.
    Unknown,
    /// It is quick.
    Nothing,
    /// The network.
    Network,
    /// What is between, and speaks TCP for the broker.
    Between,
    /// The broker takes its time for any answer.
    BusyBroker,
    /// The broker's work for a message.
    Confirm,
}

impl Cause {
    /// In JSON.
    pub(crate) fn key(self) -> &'static str {
        match self {
            Cause::Unknown => "unknown",
            Cause::Nothing => "nothing",
            Cause::Network => "network",
            Cause::Between => "between",
            Cause::BusyBroker => "busy_broker",
            Cause::Confirm => "confirm",
        }
    }
}

/// What came of `--budget`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BudgetVerdict {
    pub(crate) is_kept: bool,
    /// In words.
    pub(crate) sentence: String,
}

/// Judges all rounds.
pub(crate) fn judge(statistics: &Statistics, budget: Option<Duration>) -> Verdict {
    let budget_verdict = budget.map(|budget| judge_budget(statistics, budget));
    let Some(parts) = Parts::of(statistics, budget) else {
        let sentence = "no round was completed: neither the network nor the broker can be judged".to_owned();
        return Verdict { cause: Cause::Unknown, sentence, budget: budget_verdict };
    };
    let cause = parts.cause();
    Verdict { cause, sentence: parts.sentence(cause), budget: budget_verdict }
}

fn judge_budget(statistics: &Statistics, budget: Duration) -> BudgetVerdict {
    let p99 = statistics.of(Stage::Confirm).map(|confirm| confirm.p99);
    let lost = statistics.lost();
    let is_over = p99.is_none_or(|p99| p99 > budget);
    let measured = match p99 {
        Some(p99) => format!(
            "p99 of publish to confirm is {}, {} the budget of {}",
            // Both would read alike when they nearly are.
            if is_over && time(p99) == time(budget) { format!("{p99:?}") } else { time(p99) },
            if is_over { "over" } else { "within" },
            time(budget)
        ),
        None => format!("nothing was confirmed, and the budget is {}", time(budget)),
    };
    let sentence = match lost {
        0 => measured,
        1 => format!("{measured}; a lost round cannot meet it"),
        lost => format!("{measured}; {lost} lost rounds cannot meet it"),
    };
    BudgetVerdict { is_kept: !is_over && lost == 0, sentence }
}

/// Which rounds a sentence is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rounds {
    Typical,
    /// Typical ones are within the budget, these are not.
    Slowest,
}

impl Rounds {
    fn of(self, summary: StageSummary) -> Duration {
        match self {
            Rounds::Typical => summary.p50,
            Rounds::Slowest => summary.p99,
        }
    }
}

/// A confirm's time, taken apart.
#[derive(Clone, Copy, Debug)]
struct Parts {
    rounds: Rounds,
    network: Duration,
    /// Of an answer without work, the network in it.
    answer: Duration,
    /// The quickest of all answers without work.
    answer_min: Duration,
    whole: Duration,
    is_slow: bool,
}

impl Parts {
    fn of(statistics: &Statistics, budget: Option<Duration>) -> Option<Self> {
        let (confirm, answer) = (statistics.of(Stage::Confirm)?, statistics.of(Stage::Answer)?);
        let rounds = match budget {
            Some(budget) if confirm.p50 <= budget && budget < confirm.p99 => Rounds::Slowest,
            _ => Rounds::Typical,
        };
        let seen = [Stage::Connect, Stage::Kernel].into_iter().filter_map(|stage| statistics.of(stage));
        let network = seen.chain([answer]).map(|summary| rounds.of(summary)).min()?;
        Some(Parts {
            rounds,
            network,
            answer: rounds.of(answer),
            answer_min: answer.min,
            // Time between two of a round's parts may make an answer the slower one.
            whole: rounds.of(confirm).max(rounds.of(answer)),
            is_slow: budget.map_or(confirm.p50 >= SLOW, |budget| confirm.p99 > budget),
        })
    }

    fn cause(&self) -> Cause {
        let (answering, confirming) = (self.answer - self.network, self.whole - self.answer);
        if !self.is_slow {
            Cause::Nothing
        } else if confirming >= self.network && confirming >= answering {
            Cause::Confirm
        } else if self.network >= answering {
            Cause::Network
        } else if self.answer_min.saturating_sub(self.network) >= answering / 2 {
            // A broker that is busy is not equally so for each request; a detour is as long each time.
            Cause::Between
        } else {
            Cause::BusyBroker
        }
    }

    fn sentence(&self, cause: Cause) -> String {
        let (network, whole, answer) = (time(self.network), time(self.whole), time(self.answer));
        let rounds = match self.rounds {
            Rounds::Typical => "",
            Rounds::Slowest => "in the slowest rounds ",
        };
        let takes = format!("{rounds}the network takes {network} of {whole}");
        match cause {
            Cause::Nothing => format!("{takes}: neither the network nor the broker is slow"),
            Cause::Network => format!("{takes}: the network is slow"),
            Cause::Confirm => format!("{takes}: the broker's confirm is slow"),
            Cause::Between => format!(
                "{takes}, but any answer takes {answer}, and never less than {}: the network behind a proxy, a tunnel or a load \
                 balancer is slow",
                time(self.answer_min)
            ),
            Cause::BusyBroker => format!(
                "{takes}, but an answer without any work takes {answer}, and {} at best: the broker is slow because it is busy",
                time(self.answer_min)
            ),
            Cause::Unknown => String::new(),
        }
    }
}

fn time(time: Duration) -> String {
    format::time(time.as_nanos() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stage::times_us;

    /// Rounds, each of connect, answer, confirm and the kernel's round trip in microseconds; 0 is none.
    fn rounds(rounds: &[[u64; 4]]) -> Statistics {
        let mut statistics = Statistics::new();
        for round in rounds {
            let stages = [Stage::Connect, Stage::Answer, Stage::Confirm, Stage::Kernel];
            let measured: Vec<(Stage, u64)> = stages.into_iter().zip(*round).filter(|(_, us)| *us > 0).collect();
            statistics.complete(&times_us(&measured));
        }
        statistics
    }

    #[track_caller]
    fn check(statistics: &Statistics, budget_us: Option<u64>, cause: Cause, sentence: &str) -> Verdict {
        let verdict = judge(statistics, budget_us.map(Duration::from_micros));
        assert_eq!((verdict.cause, verdict.sentence.as_str()), (cause, sentence));
        verdict
    }

    #[test]
    fn slow_confirm_is_the_brokers() {
        let sentence = "the network takes 300 µs of 4.1 ms: the broker's confirm is slow";
        check(&rounds(&[[310, 350, 4_100, 300]; 5]), None, Cause::Confirm, sentence);
    }

    #[test]
    fn long_way_is_the_networks() {
        let sentence = "the network takes 40 ms of 41 ms: the network is slow";
        check(&rounds(&[[40_100, 40_200, 41_000, 40_000]; 5]), None, Cause::Network, sentence);
    }

    #[test]
    fn steady_detour_that_no_kernel_sees_is_between() {
        let sentence = "the network takes 100 µs of 41 ms, but any answer takes 40.2 ms, and never less than 40.2 ms: the network behind a \
                        proxy, a tunnel or a load balancer is slow";
        check(&rounds(&[[100, 40_200, 41_000, 120]; 5]), None, Cause::Between, sentence);
    }

    #[test]
    fn answers_that_are_quick_at_times_are_a_busy_brokers() {
        let slow = [100, 12_000, 13_000, 120];
        let sentence = "the network takes 100 µs of 13 ms, but an answer without any work takes 12 ms, and 400 µs at best: the broker is \
                        slow because it is busy";
        check(&rounds(&[slow, slow, [100, 400, 900, 120], slow, slow]), None, Cause::BusyBroker, sentence);
    }

    #[test]
    fn quick_broker_nearby_is_not_called_slow() {
        let sentence = "the network takes 50 µs of 300 µs: neither the network nor the broker is slow";
        check(&rounds(&[[50, 100, 300, 60]; 5]), None, Cause::Nothing, sentence);
    }

    #[test]
    fn budget_says_what_slow_is() {
        let statistics = rounds(&[[50, 100, 300, 60]; 5]);
        let sentence = "the network takes 50 µs of 300 µs: the broker's confirm is slow";
        let verdict = check(&statistics, Some(200), Cause::Confirm, sentence);
        let budget = verdict.budget.unwrap();
        assert!(!budget.is_kept);
        assert_eq!(budget.sentence, "p99 of publish to confirm is 300 µs, over the budget of 200 µs");

        let slow = rounds(&[[50, 100, 30_000, 60]; 5]);
        let sentence = "the network takes 50 µs of 30 ms: neither the network nor the broker is slow";
        let verdict = check(&slow, Some(50_000), Cause::Nothing, sentence);
        let budget = verdict.budget.unwrap();
        assert!(budget.is_kept);
        assert_eq!(budget.sentence, "p99 of publish to confirm is 30 ms, within the budget of 50 ms");
    }

    #[test]
    fn few_slow_rounds_are_looked_at_by_themselves() {
        let mut all = vec![[50, 100, 300, 60]; 20];
        all.push([60, 110, 48_000, 60]);
        let sentence = "in the slowest rounds the network takes 60 µs of 48 ms: the broker's confirm is slow";
        check(&rounds(&all), Some(1_000), Cause::Confirm, sentence);
        let sentence = "the network takes 50 µs of 300 µs: neither the network nor the broker is slow";
        check(&rounds(&all), None, Cause::Nothing, sentence);
    }

    #[test]
    fn budget_that_is_met_exactly_is_kept() {
        let statistics = rounds(&[[50, 100, 1_000, 60]; 5]);
        assert!(judge(&statistics, Some(Duration::from_millis(1))).budget.unwrap().is_kept);
        let just_over = judge(&rounds(&[[50, 100, 1_001, 60]; 5]), Some(Duration::from_millis(1))).budget.unwrap();
        assert_eq!(just_over.sentence, "p99 of publish to confirm is 1.001ms, over the budget of 1 ms");
    }

    #[test]
    fn lost_round_breaks_the_budget() {
        let mut statistics = rounds(&[[50, 100, 300, 60]; 5]);
        statistics.lose();
        let budget = judge(&statistics, Some(Duration::from_millis(1))).budget.unwrap();
        assert!(!budget.is_kept);
        let expected = "p99 of publish to confirm is 300 µs, within the budget of 1 ms; a lost round cannot meet it";
        assert_eq!(budget.sentence, expected);
    }

    #[test]
    fn nothing_measured_is_nothing_judged() {
        let mut statistics = Statistics::new();
        statistics.lose();
        let verdict = judge(&statistics, Some(Duration::from_millis(1)));
        assert_eq!(verdict.cause, Cause::Unknown);
        assert!(!verdict.budget.unwrap().is_kept);
        assert_eq!(judge(&statistics, None).budget, None);
    }

    #[test]
    fn kernel_that_does_not_tell_is_done_without() {
        let sentence = "the network takes 310 µs of 4.1 ms: the broker's confirm is slow";
        check(&rounds(&[[310, 350, 4_100, 0]; 5]), None, Cause::Confirm, sentence);
    }

    #[test]
    fn answer_slower_than_the_confirm_is_the_whole() {
        let sentence = "the network takes 100 µs of 5 ms, but any answer takes 5 ms, and never less than 5 ms: the network behind a \
                        proxy, a tunnel or a load balancer is slow";
        check(&rounds(&[[100, 5_000, 4_900, 120]; 5]), None, Cause::Between, sentence);
    }
}
