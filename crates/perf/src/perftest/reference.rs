//! `docs/perf-options.md`, made from the table.

use std::fmt::Write as _;

use command_line::Takes;

use super::table::{Group, OPTIONS, OptionEntry, Treatment};

const INTRODUCTION: &str = "\
# Options of `warren perf`

<!-- Generated from the table in crates/perf/src/perftest. Do not edit: `make docs` -->

`warren perf` has the options of RabbitMQ's PerfTest (version 2.22.1) with the same names, so that PerfTest's commands work unchanged:

```console
$ warren perf -h amqp://localhost -x 2 -y 4 -u orders -c 100 -q 200 -s 1000 -f persistent -z 60
```

The syntax is PerfTest's: `-s 1000`, `-s1000`, `-s=1000`, `--size 1000` and `--size=1000` are the same. A long name may be shortened if
it stays unique (`--pmess 5`). Short flags may be combined (`-aK`). If an option is given twice, the first value applies, except for
options marked *repeatable*. An unknown option is an error, and the message names the most similar known option. Some of PerfTest's
options have no meaning in Warren: they are accepted with a warning that gives the reason.

Every option can also be set by an environment variable. Its name is the long name in capitals with underscores, such as
`VARIABLE_RATE`, with the prefix in `RABBITMQ_PERF_TEST_ENV_PREFIX`, if that is set. Flags are on if they are `true`. Several values are
separated by commas.

## What differs from PerfTest

* The command line takes precedence over the environment. In PerfTest, the environment does.
* An invalid command ends with code 1. PerfTest ends with 0 after an unknown option.
* `--exchange` without a name publishes to the default exchange. PerfTest fails to declare it without `--predeclared`.
* Latency is measured from the time when a message was due, not from the time when it could be sent: with `--rate`, the latency shows
  when a broker stalls for a second. PerfTest's percentiles come from a sample; those of `warren perf` are exact to three digits.
* `--shutdown-timeout` is also how long consumers may take at the end to receive the remaining messages, so that lost messages can be
  distinguished from late ones.
* `--slow-start` does not delay producers.
";

/// The text of `docs/perf-options.md`.
#[must_use]
pub fn render_reference() -> String {
    let mut out = INTRODUCTION.to_owned();
    let is_effective = |entry: &&OptionEntry| entry.means.treatment == Treatment::Effective;
    for (group, title) in GROUPS {
        // Writing to a String cannot fail.
        let _ = write!(out, "\n## {title}\n\n| short | long | default | what it does |\n|---|---|---|---|\n");
        for entry in OPTIONS.iter().filter(|entry| entry.means.group == *group).filter(is_effective) {
            let _ = writeln!(out, "| {} | {} | {} | {} |", short(entry), long(entry), entry.default, help(entry));
        }
    }
    out.push_str("\n## Without effect\n\n| short | long | in PerfTest | reason |\n|---|---|---|---|\n");
    for entry in OPTIONS {
        if let Treatment::NoEffect(reason) = entry.means.treatment {
            let _ = writeln!(out, "| {} | {} | {} | {reason} |", short(entry), long(entry), entry.about);
        }
    }
    out
}

const GROUPS: &[(Group, &str)] = &[
    (Group::Run, "The run"),
    (Group::Connection, "Connections"),
    (Group::Topology, "Exchange and queues"),
    (Group::Publishing, "Producers and messages"),
    (Group::Consuming, "Consumers"),
    (Group::Output, "Output"),
    (Group::Metrics, "Metrics"),
    (Group::Ours, "Not in PerfTest"),
    (Group::Information, "Help"),
];

fn short(entry: &OptionEntry) -> String {
    if entry.short.is_empty() { String::new() } else { format!("`-{}`", entry.short) }
}

fn long(entry: &OptionEntry) -> String {
    match entry.takes {
        Takes::Nothing | Takes::Truth => format!("`--{}`", entry.long),
        Takes::Perhaps => format!("`--{}` [value]", entry.long),
        Takes::One | Takes::Many => format!("`--{}` value", entry.long),
    }
}

fn help(entry: &OptionEntry) -> String {
    match entry.takes {
        Takes::Many => format!("{} (*repeatable*)", entry.about),
        _ => entry.about.to_owned(),
    }
}
