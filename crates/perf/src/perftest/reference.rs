//! `docs/perf-options.md`, made from the table.

use std::fmt::Write as _;

use super::table::{Group, OPTIONS, OptionEntry, Takes, Treatment};

const INTRODUCTION: &str = "\
# Options of `warren perf`

<!-- Made from the table in crates/perf/src/perftest. Do not edit: `make docs` -->

`warren perf` takes the options of RabbitMQ's PerfTest (version 2.22.1) by the same names, so that its commands work as they are:

```console
$ warren perf -h amqp://localhost -x 2 -y 4 -u orders -c 100 -q 200 -s 1000 -f persistent -z 60
```

They are read as PerfTest reads them: `-s 1000`, `-s1000`, `-s=1000`, `--size 1000` and `--size=1000` are the same; a long name may be cut
as long as it is clear (`--pmess 5`); short flags may be put together (`-aK`). Where an option is given twice, the first value counts, \
except
for those that are marked *repeatable*. An option that is unknown is an error, which names the closest one that is known. Some
of PerfTest's options have no meaning here: they are accepted, with a warning that says why.

Every option can also be an environment variable: its long name in capitals with underscores, such as `VARIABLE_RATE`, after the
prefix that `RABBITMQ_PERF_TEST_ENV_PREFIX` has, if it has one. Flags are on when they are `true`; several values are separated by commas.

## What differs from PerfTest

* The command line counts before the environment; in PerfTest it is the other way round.
* A command that makes no sense ends with code 1. PerfTest ends with 0 when it does not know an option.
* `--exchange` without a name publishes to the default exchange; PerfTest fails to declare it unless `--predeclared` is given.
* Latency counts from when a message was due, not from when it could be sent: with `--rate`, a broker that stands still for a second
  shows. PerfTest's percentiles come from a sample; these are exact to three digits.
* `--shutdown-timeout` is also how long consumers may take what is still on its way at the end, so that losses can be told from messages
  that were merely late.
* `--slow-start` does not hold up producers.
";

/// The text of `docs/perf-options.md`.
#[must_use]
pub fn render_reference() -> String {
    let mut out = INTRODUCTION.to_owned();
    let is_effective = |entry: &&OptionEntry| entry.treatment == Treatment::Effective;
    for (group, title) in GROUPS {
        // Writing to a String cannot fail.
        let _ = write!(out, "\n## {title}\n\n| short | long | default | what it does |\n|---|---|---|---|\n");
        for entry in OPTIONS.iter().filter(|entry| entry.group == *group).filter(is_effective) {
            let _ = writeln!(out, "| {} | {} | {} | {} |", short(entry), long(entry), entry.default, help(entry));
        }
    }
    out.push_str("\n## Without effect\n\n| short | long | in PerfTest | why not here |\n|---|---|---|---|\n");
    for entry in OPTIONS {
        if let Treatment::NoEffect(reason) = entry.treatment {
            let _ = writeln!(out, "| {} | {} | {} | {reason} |", short(entry), long(entry), entry.help);
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
        Takes::Nothing => format!("`--{}`", entry.long),
        Takes::Perhaps => format!("`--{}` [value]", entry.long),
        Takes::One | Takes::Many => format!("`--{}` value", entry.long),
    }
}

fn help(entry: &OptionEntry) -> String {
    match entry.takes {
        Takes::Many => format!("{} (*repeatable*)", entry.help),
        _ => entry.help.to_owned(),
    }
}
