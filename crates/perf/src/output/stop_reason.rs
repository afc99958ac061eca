//! Why a run ended, in PerfTest's words.

use std::time::Duration;

use crate::plan::{ExitWhen, Plan};
use crate::results::Run;

/// The line `test stopped (…)`. Reasons that hold for several producers or consumers have their number behind them.
pub(super) fn line(plan: &Plan, run: &Run) -> String {
    let reasons = reasons(plan, run);
    if reasons.is_empty() { "test stopped\n".to_owned() } else { format!("test stopped ({})\n", reasons.join(", ")) }
}

fn reasons(plan: &Plan, run: &Run) -> Vec<String> {
    let mut reasons = Vec::new();
    let published: u64 = run.samples.iter().map(|sample| sample.counts.published).sum();
    let consumed: u64 = run.samples.iter().map(|sample| sample.counts.consumed).sum();
    let publishers = plan.publishers.iter().map(|group| (group.message_limit, group.connections, group.channels));
    let consumers = plan.consumers.iter().map(|group| (group.message_limit, group.connections, group.channels));
    push_limit(&mut reasons, "Producer", published, publishers);
    push_limit(&mut reasons, "Consumer", consumed, consumers);
    let end = Duration::try_from_secs_f64(run.samples.last().map_or(0.0, |sample| sample.end_s)).unwrap_or_default();
    // The last sample may end a moment early.
    let has_timed_out = plan.duration.is_some_and(|duration| end + plan.interval / 10 >= duration);
    if has_timed_out {
        reasons.push("Reached time limit".to_owned());
    } else if run.interrupted.is_none() {
        match plan.exit_when {
            Some(ExitWhen::Empty) => reasons.push("Consumer queue(s) empty".to_owned()),
            Some(ExitWhen::Idle) => reasons.push("Consumer is idle for more than 1 second".to_owned()),
            None => {}
        }
    }
    reasons
}

fn push_limit(
    reasons: &mut Vec<String>,
    who: &str,
    done: u64,
    groups: impl Iterator<Item = (Option<u64>, u32, u32)> + Clone,
) {
    let counts = groups.clone().map(|(_, connections, channels)| u64::from(connections) * u64::from(channels));
    let limits: Option<Vec<u64>> = groups.map(|(limit, ..)| limit).collect();
    let Some(limits) = limits.filter(|limits| !limits.is_empty()) else { return };
    let wanted: u64 = limits
        .iter()
        .zip(counts.clone())
        .map(|(limit, count)| limit.saturating_mul(count))
        .fold(0, u64::saturating_add);
    if done < wanted {
        return;
    }
    let count: u64 = counts.sum();
    let number = if count > 1 { format!(" [{count}]") } else { String::new() };
    reasons.push(format!("{who} reached message limit{number}"));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::testing;
    use crate::perftest;

    #[track_caller]
    fn check(command: &str, samples: &[(f64, u64)], interrupted: bool, expected: &str) {
        let words: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
        let Ok(perftest::Command::Run { options, .. }) = perftest::parse(&words, &|_| None) else { panic!() };
        let plan = options.plan("test", 1, &|_| Err(std::io::Error::other("no files"))).unwrap();
        let samples = samples.iter().map(|(end_s, count)| testing::sample(*end_s, 1.0, *count)).collect();
        let run = Run { samples, interrupted: interrupted.then(|| "interrupted".to_owned()), ..Run::default() };
        assert_eq!(line(&plan, &run), format!("{expected}\n"));
    }

    #[test]
    fn the_reason_is_the_limit_that_was_reached() {
        check("-z 2", &[(1.0, 5), (1.999, 5)], false, "test stopped (Reached time limit)");
        check("-C 10 -y 0", &[(1.0, 5), (1.5, 5)], false, "test stopped (Producer reached message limit)");
        check("-x 2 -C 5 -y 0", &[(1.0, 10)], false, "test stopped (Producer reached message limit [2])");
        check("-D 5 -y 2 -Y 2", &[(1.0, 20)], false, "test stopped (Consumer reached message limit [4])");
        check(
            "-C 3 -D 5 -z 2",
            &[(1.0, 3), (2.0, 0)],
            false,
            "test stopped (Producer reached message limit, Reached time limit)",
        );
        check(
            "-C 5 -D 5",
            &[(1.0, 5)],
            false,
            "test stopped (Producer reached message limit, Consumer reached message limit)",
        );
    }

    #[test]
    fn the_reason_may_be_that_there_is_nothing_left() {
        check("-x 0 -ew empty", &[(1.0, 5)], false, "test stopped (Consumer queue(s) empty)");
        check(
            "-C 5 -ew idle",
            &[(1.0, 5)],
            false,
            "test stopped (Producer reached message limit, Consumer is idle for more than 1 second)",
        );
    }

    #[test]
    fn whoever_interrupts_needs_no_reason() {
        check("", &[(1.0, 5)], true, "test stopped");
        check("-z 60 -ew idle", &[(1.0, 5)], true, "test stopped");
    }
}
