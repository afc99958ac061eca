//! What `--help` and its like print.

use std::fmt::Write as _;

use command_line::rows;

use super::table::{Group, OPTIONS, OptionEntry, Treatment, variable};

/// Columns of the whole.
const WIDTH: usize = 100;

/// What the flags ask to print, if they do.
pub(super) fn requested(is_set: &dyn Fn(&str) -> bool) -> Option<String> {
    let environment = is_set("environment-variables");
    if is_set("metrics-help") {
        let of_metrics = |entry: &OptionEntry| entry.means.group == Group::Metrics;
        return Some(if environment { variables(&of_metrics) } else { options(&of_metrics) });
    }
    let others = |entry: &OptionEntry| entry.means.group != Group::Metrics;
    if environment {
        return Some(variables(&others));
    }
    if is_set("help") {
        return Some(options(&others));
    }
    is_set("version").then(version)
}

fn version() -> String {
    format!("warren perf {}, with the options of PerfTest 2.22\n", env!("CARGO_PKG_VERSION"))
}

fn options(is_shown: &dyn Fn(&OptionEntry) -> bool) -> String {
    let mut out = "usage: warren perf [OPTION...]\n".to_owned();
    let shown = || OPTIONS.iter().filter(|entry| is_shown(entry));
    for ours in [false, true] {
        let mut entries: Vec<&OptionEntry> =
            shown().filter(|entry| (entry.means.group == Group::Ours) == ours).collect();
        entries.sort_by_key(|entry| sort_key(entry));
        if entries.is_empty() {
            continue;
        }
        out.push_str(if ours { "\nOptions that PerfTest does not have:\n" } else { "\nPerfTest's options:\n" });
        out += &rows(entries.into_iter().map(|entry| (entry.names(), description(entry))), WIDTH);
    }
    out
}

fn variables(is_shown: &dyn Fn(&OptionEntry) -> bool) -> String {
    let out = "Each option as an environment variable. Options on the command line count before these. Flags are on when they\n\
                   are 'true'; several values are separated by commas: VARIABLE_RATE='100:60,1000:10,500:15'. With\n\
                   RABBITMQ_PERF_TEST_ENV_PREFIX=PERF, all of them begin with PERF_.\n\n"
        .to_owned();
    let mut entries: Vec<&OptionEntry> = OPTIONS
        .iter()
        .filter(|entry| is_shown(entry) && !matches!(entry.long, "help" | "version" | "environment-variables"))
        .collect();
    entries.sort_by_key(|entry| variable(entry));
    out + &rows(entries.into_iter().map(|entry| (format!(" {}", variable(entry)), description(entry))), WIDTH)
}

/// The help, the default, and why it has no effect.
pub(super) fn description(entry: &OptionEntry) -> String {
    let mut text = entry.description();
    if let Treatment::NoEffect(reason) = entry.means.treatment {
        // Writing to a String cannot fail.
        let _ = write!(text, "; no effect: {reason}");
    }
    text
}

/// By letter, small before capital.
fn sort_key(entry: &OptionEntry) -> (String, &'static str) {
    let name = if entry.short.is_empty() { entry.long } else { entry.short };
    (name.to_lowercase(), entry.long)
}
