//! PerfTest's lines on the console.

use std::fmt::Write as _;
use std::io::Write;
use std::time::SystemTime;

use super::columns::{Columns, Unit};
use super::outlet::Outlet;
use super::rows::{Row, Rows, five};
use super::run_output::RunOutput;
use super::{number, stop_reason};
use crate::perftest::Format;
use crate::plan::Plan;
use crate::results::{Counts, Percentiles, Run, Sample, per_second};

const PERCENTILES: &str = "min/median/75th/95th/99th";

/// Writes lines to the console.
pub(crate) struct Console<W> {
    outlet: Outlet<W>,
    lines: Lines,
    rows: Rows,
    has_header: bool,
}

impl<W: Write + Send> Console<W> {
    /// Lines about this plan. The summary of the run is not among them.
    pub(crate) fn new(writer: W, plan: &Plan, format: Format, unit: Unit) -> Self {
        let lines = Lines { id: plan.name.clone(), format, unit, columns: Columns::of(plan) };
        Console { outlet: Outlet::new(writer, None), lines, rows: Rows::default(), has_header: false }
    }

    /// Writes what a terminal does not obey.
    fn write(&mut self, text: &str) {
        self.outlet.write(&human::printable(text));
    }
}

impl<W: Write + Send> RunOutput for Console<W> {
    fn started(&mut self, plan: &Plan, _at: SystemTime) {
        self.write(&self.lines.starting(plan));
    }

    fn sample(&mut self, sample: &Sample, _totals: &Counts) {
        let Some(row) = self.rows.next(sample) else { return };
        if !self.has_header {
            self.has_header = true;
            self.write(&self.lines.header());
        }
        self.write(&self.lines.row(&row));
    }

    fn ended(&mut self, plan: &Plan, run: &Run) {
        self.write(&stop_reason::line(plan, run));
        self.write(&self.lines.ending(run));
    }
}

/// How lines look. Each text ends with its line.
struct Lines {
    id: String,
    format: Format,
    unit: Unit,
    columns: Columns,
}

impl Lines {
    fn starting(&self, plan: &Plan) -> String {
        let mut out = String::new();
        let consumers = plan.consumers.iter().map(|group| (group.connections, group.channels));
        let producers = plan.publishers.iter().map(|group| (group.connections, group.channels));
        self.put_starting(&mut out, "consumer", consumers);
        self.put_starting(&mut out, "producer", producers);
        out
    }

    fn put_starting(&self, out: &mut String, who: &str, groups: impl Iterator<Item = (u32, u32)>) {
        let connections = groups.flat_map(|(connections, channels)| (0..connections).map(move |_| channels));
        for (at, channels) in connections.enumerate() {
            // Writing to a String cannot fail, here and below.
            let _ = writeln!(out, "id: {}, starting {who} #{at}", self.id);
            for channel in 0..channels {
                let _ = writeln!(out, "id: {}, starting {who} #{at}, channel #{channel}", self.id);
            }
        }
    }

    /// What comes before the first row.
    fn header(&self) -> String {
        if self.format == Format::Default {
            return String::new();
        }
        let mut out = format!("{:<10}", "time");
        for (name, _) in self.rates(&Row::default()) {
            let _ = write!(out, "{name:>13}");
        }
        if self.columns.consumed {
            let _ = write!(out, "{:>23}", "consumer latency");
        }
        if self.has_confirm_latency() {
            let _ = write!(out, "{:>23}", "confirm latency");
        }
        out.push('\n');
        out
    }

    fn row(&self, row: &Row) -> String {
        match self.format {
            Format::Default => self.sentence(row),
            Format::Compact => self.table_row(row),
        }
    }

    fn sentence(&self, row: &Row) -> String {
        let mut out = format!("id: {}, time {} s", self.id, number::time(row.time_s));
        for (name, per_s) in self.rates(row) {
            let _ = write!(out, ", {name}: {} msg/s", number::rate(per_s));
        }
        if self.columns.consumed || self.has_confirm_latency() {
            let _ = write!(out, ", {PERCENTILES}");
        }
        if self.columns.consumed {
            let _ = write!(out, " consumer latency: {}", self.latency(row.consumer_latency.as_ref()));
        }
        if self.columns.consumed && self.has_confirm_latency() {
            out.push(',');
        }
        if self.has_confirm_latency() {
            let _ = write!(out, " confirm latency: {}", self.latency(row.confirm_latency.as_ref()));
        }
        out.push('\n');
        out
    }

    fn table_row(&self, row: &Row) -> String {
        let mut out = format!("{:<10}", format!("{}s", number::time(row.time_s)));
        for (_, per_s) in self.rates(row) {
            let _ = write!(out, "{:>13}", format!("{} msg/s", number::rate(per_s)));
        }
        // A latency that is too wide for its column loses the alignment, and the next one loses it too.
        let mut is_wide = false;
        let consumer = self.columns.consumed.then_some(&row.consumer_latency);
        let confirm = self.has_confirm_latency().then_some(&row.confirm_latency);
        for latency in [consumer, confirm].into_iter().flatten() {
            let text = self.latency(latency.as_ref());
            is_wide |= text.chars().count() > 22;
            if is_wide {
                let _ = write!(out, " {text}");
            } else {
                let _ = write!(out, "{text:>23}");
            }
        }
        out.push('\n');
        out
    }

    /// What comes after the last row.
    fn ending(&self, run: &Run) -> String {
        let summary = &run.summary;
        let mut out = String::new();
        let id = match self.format {
            Format::Default => format!("id: {}, ", self.id),
            Format::Compact => String::new(),
        };
        let per_s = |count: u64| number::rate(per_second(count as f64, summary.duration_s));
        let _ = writeln!(out, "{id}sending rate avg: {} msg/s", per_s(summary.counts.published));
        if summary.duration_s <= 0.0 {
            return out;
        }
        let _ = writeln!(out, "{id}receiving rate avg: {} msg/s", per_s(summary.counts.consumed));
        let latencies = &summary.latencies;
        if self.columns.consumed {
            let percentiles = latencies.consumer.as_ref().map(|latency| &latency.percentiles);
            let _ = writeln!(out, "{id}consumer latency {PERCENTILES} {}", self.latency(percentiles));
        }
        if self.has_confirm_latency() {
            let percentiles = latencies.confirm.as_ref().map(|latency| &latency.percentiles);
            let _ = writeln!(out, "{id}confirm latency {PERCENTILES} {}", self.latency(percentiles));
        }
        out
    }

    /// The columns that are rates, in order.
    fn rates(&self, row: &Row) -> impl Iterator<Item = (&'static str, f64)> {
        let has_confirms = self.has_confirm_latency();
        let all = [
            (self.columns.published, "sent", row.published),
            (self.columns.returned, "returned", row.returned),
            (has_confirms, "confirmed", row.confirmed),
            (has_confirms, "nacked", row.nacked),
            (self.columns.consumed, "received", row.consumed),
        ];
        all.into_iter().filter(|(is_shown, ..)| *is_shown).map(|(_, name, per_s)| (name, per_s))
    }

    fn has_confirm_latency(&self) -> bool {
        self.columns.published && self.columns.confirmed
    }

    fn latency(&self, percentiles: Option<&Percentiles>) -> String {
        let [min, p50, p75, p95, p99] = five(percentiles, self.unit);
        format!("{min}/{p50}/{p75}/{p95}/{p99} {}", self.unit.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::testing::{self, percentiles};
    use crate::results::{Distribution, Latencies, Summary};

    fn lines(format: Format, unit: Unit, columns: &str) -> Lines {
        let has = |letter| columns.contains(letter);
        let columns = Columns { published: has('s'), consumed: has('r'), returned: has('m'), confirmed: has('c') };
        Lines { id: "test-1".to_owned(), format, unit, columns }
    }

    fn row(time_s: f64, per_s: f64, consumer: [u64; 5], confirm: [u64; 5]) -> Row {
        Row {
            time_s,
            published: per_s,
            returned: 0.0,
            confirmed: per_s,
            nacked: 0.0,
            consumed: per_s,
            consumer_latency: Some(percentiles(consumer)),
            confirm_latency: Some(percentiles(confirm)),
        }
    }

    // The expected lines below were written by PerfTest 2.22.1; only the id is another one.

    #[test]
    fn a_line_has_the_columns_that_can_be_other_than_zero() {
        let row = row(2.001, 20.02, [1041, 1683, 2262, 2685, 2907], [887, 1396, 2205, 4201, 4201]);
        let check =
            |columns, expected: &str| assert_eq!(lines(Format::Default, Unit::Micros, columns).row(&row), expected);
        check("s", "id: test-1, time 2.001 s, sent: 20 msg/s\n");
        check(
            "sr",
            "id: test-1, time 2.001 s, sent: 20 msg/s, received: 20 msg/s, min/median/75th/95th/99th consumer latency: \
             1041/1683/2262/2685/2907 µs\n",
        );
        check(
            "sc",
            "id: test-1, time 2.001 s, sent: 20 msg/s, confirmed: 20 msg/s, nacked: 0 msg/s, min/median/75th/95th/99th confirm latency: \
             887/1396/2205/4201/4201 µs\n",
        );
        check(
            "smcr",
            "id: test-1, time 2.001 s, sent: 20 msg/s, returned: 0 msg/s, confirmed: 20 msg/s, nacked: 0 msg/s, received: 20 msg/s, \
             min/median/75th/95th/99th consumer latency: 1041/1683/2262/2685/2907 µs, confirm latency: 887/1396/2205/4201/4201 µs\n",
        );
        check(
            "r",
            "id: test-1, time 2.001 s, received: 20 msg/s, min/median/75th/95th/99th consumer latency: 1041/1683/2262/2685/2907 µs\n",
        );
    }

    #[test]
    fn without_deliveries_latency_is_zero() {
        let row = Row { time_s: 1.001, published: 1.998, ..Row::default() };
        assert_eq!(
            lines(Format::Default, Unit::Micros, "sr").row(&row),
            "id: test-1, time 1.001 s, sent: 2.0 msg/s, received: 0 msg/s, min/median/75th/95th/99th consumer latency: 0/0/0/0/0 µs\n"
        );
    }

    #[test]
    fn a_compact_line_is_a_row_of_a_table() {
        let lines_of = |columns| lines(Format::Compact, Unit::Millis, columns);
        let row = row(1.001, 1.998, [2900, 5000, 5000, 5000, 5999], [1000, 4000, 4000, 4000, 4000]);
        assert_eq!(
            lines_of("smcr").header() + &lines_of("smcr").row(&row),
            "time               sent     returned    confirmed       nacked     received       consumer latency        confirm latency\n\
             1.001s        2.0 msg/s      0 msg/s    2.0 msg/s      0 msg/s    2.0 msg/s           2/5/5/5/5 ms           1/4/4/4/4 ms\n"
        );
        assert_eq!(
            lines_of("s").header() + &lines_of("s").row(&row),
            "time               sent\n1.001s        2.0 msg/s\n"
        );
    }

    #[test]
    fn a_compact_latency_that_is_too_wide_loses_its_alignment() {
        let lines = lines(Format::Compact, Unit::Micros, "scr");
        let wide = row(2.001, 10.0, [1068, 1801, 2079, 3142, 3142], [944, 1194, 1565, 1672, 1672]);
        assert_eq!(
            lines.row(&wide),
            "2.001s         10 msg/s     10 msg/s      0 msg/s     10 msg/s 1068/1801/2079/3142/3142 µs 944/1194/1565/1672/1672 µs\n"
        );
        let first_wide = row(2.001, 10.0, [1068, 1801, 2079, 3142, 3142], [1, 2, 3, 4, 5]);
        assert!(lines.row(&first_wide).ends_with(" msg/s 1068/1801/2079/3142/3142 µs 1/2/3/4/5 µs\n"));
        let narrow = row(3.001, 10.0, [1, 2, 3, 4, 5], [1, 2, 3, 4, 5]);
        assert!(lines.row(&narrow).ends_with("           1/2/3/4/5 µs           1/2/3/4/5 µs\n"));
    }

    #[test]
    fn the_last_lines_are_averages_of_the_whole_run() {
        let latency = |micros| Some(Distribution { percentiles: percentiles(micros), ..Distribution::default() });
        let run = Run {
            summary: Summary {
                duration_s: 10.0,
                counts: Counts { published: 52, consumed: 1000, ..Counts::default() },
                latencies: Latencies {
                    consumer: latency([1028, 1864, 3517, 43615, 68997]),
                    confirm: latency([797, 1263, 2623, 36557, 42356]),
                    ..Latencies::default()
                },
                ..Summary::default()
            },
            ..Run::default()
        };
        assert_eq!(
            lines(Format::Default, Unit::Micros, "scr").ending(&run),
            "id: test-1, sending rate avg: 5.2 msg/s\n\
             id: test-1, receiving rate avg: 100 msg/s\n\
             id: test-1, consumer latency min/median/75th/95th/99th 1028/1864/3517/43615/68997 µs\n\
             id: test-1, confirm latency min/median/75th/95th/99th 797/1263/2623/36557/42356 µs\n"
        );
        assert_eq!(
            lines(Format::Compact, Unit::Millis, "s").ending(&run),
            "sending rate avg: 5.2 msg/s\nreceiving rate avg: 100 msg/s\n"
        );
    }

    #[test]
    fn a_run_is_announced_told_and_ended() {
        let words: Vec<String> = "-x 2 -X 2 -C 5".split(' ').map(str::to_owned).collect();
        let Ok(crate::perftest::Command::Run { options, .. }) = crate::perftest::parse(&words, &|_| None) else {
            panic!()
        };
        let plan = options.plan("t", 1, &|_| Err(std::io::Error::other("no files"))).unwrap();
        let mut out = Vec::new();
        let mut console = Console::new(&mut out, &plan, Format::Compact, Unit::Micros);
        console.started(&plan, SystemTime::UNIX_EPOCH);
        let samples = vec![testing::sample(1.0, 1.0, 0), testing::sample(2.0, 1.0, 15), testing::sample(3.0, 1.0, 5)];
        samples.iter().for_each(|sample| console.sample(sample, &Counts::default()));
        console.ended(&plan, &Run { samples, ..Run::default() });
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "id: t, starting consumer #0\n\
             id: t, starting consumer #0, channel #0\n\
             id: t, starting producer #0\n\
             id: t, starting producer #0, channel #0\n\
             id: t, starting producer #0, channel #1\n\
             id: t, starting producer #1\n\
             id: t, starting producer #1, channel #0\n\
             id: t, starting producer #1, channel #1\n\
             time               sent     received       consumer latency\n\
             2.000s        7.5 msg/s    7.5 msg/s           0/0/0/0/0 µs\n\
             3.000s        5.0 msg/s    5.0 msg/s           0/0/0/0/0 µs\n\
             test stopped (Producer reached message limit [4])\n\
             sending rate avg: 0 msg/s\n"
        );
    }

    #[test]
    fn a_name_commands_no_terminal() {
        let mut written = Vec::new();
        Console::new(&mut written, &Plan::default(), Format::Default, Unit::Micros).write("id: \u{1b}[2Jx\n");
        assert_eq!(String::from_utf8(written).unwrap(), "id: \\u001b[2Jx\n");
    }
}
