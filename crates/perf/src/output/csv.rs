//! PerfTest's CSV (`--output-file`).

use std::fmt::Write as _;
use std::io::Write;

use super::columns::{Columns, Unit};
use super::number;
use super::outlet::Outlet;
use super::rows::{Row, Rows, five};
use super::run_output::RunOutput;
use crate::plan::Plan;
use crate::results::{Counts, Percentiles, Sample};

/// Writes rows. Columns of things that cannot happen are there, and empty.
pub(crate) struct Csv<W> {
    outlet: Outlet<W>,
    id: String,
    unit: Unit,
    columns: Columns,
    /// Names of probes, which have columns of their own after PerfTest's.
    probes: Vec<String>,
    rows: Rows,
    has_header: bool,
}

impl<W: Write + Send> Csv<W> {
    /// Rows about this plan. The name is for the warning when it cannot be written.
    pub(crate) fn new(writer: W, name: &str, plan: &Plan, unit: Unit) -> Self {
        Csv {
            outlet: Outlet::new(writer, Some(name.to_owned())),
            id: plan.name.clone(),
            unit,
            columns: Columns::of(plan),
            probes: plan.probes.iter().map(|probe| probe.name.clone()).collect(),
            rows: Rows::default(),
            has_header: false,
        }
    }
}

impl<W: Write + Send> RunOutput for Csv<W> {
    fn sample(&mut self, sample: &Sample, _totals: &Counts) {
        let Some(row) = self.rows.next(sample) else { return };
        if !self.has_header {
            self.has_header = true;
            self.outlet.write(&header(&self.probes, self.unit));
        }
        let probes = self.probes.iter().map(|name| probe_cells(sample.probes.get(name), self.unit));
        self.outlet.write(&line(&self.id, &row, self.columns, probes.flatten(), self.unit));
    }

    fn take_warning(&mut self) -> Option<String> {
        self.outlet.take_warning()
    }
}

fn header(probes: &[String], unit: Unit) -> String {
    let mut out =
        "id,time (s),published (msg/s),returned (msg/s),confirmed (msg/s),nacked (msg/s),received (msg/s)".to_owned();
    for what in ["consumer", "confirm"] {
        for percentile in ["min", "median", "75th p.", "95th p.", "99th p."] {
            // Writing to a String cannot fail.
            let _ = write!(out, ",{percentile} {what} latency ({})", unit.name());
        }
    }
    for name in probes {
        for percentile in ["median", "95th p.", "99th p.", "max"] {
            let column = format!("{percentile} probe {name} ({})", unit.name());
            let _ = write!(out, ",{}", quoted(&column));
        }
    }
    out.push('\n');
    out
}

/// The times of a probe's answers; nothing where there was none in the interval.
fn probe_cells(percentiles: Option<&Percentiles>, unit: Unit) -> [String; 4] {
    let Some(of) = percentiles else { return Default::default() };
    [of.p50_ns, of.p95_ns, of.p99_ns, of.max_ns].map(|nanos| unit.of(nanos).to_string())
}

fn line(id: &str, row: &Row, columns: Columns, probes: impl Iterator<Item = String>, unit: Unit) -> String {
    let has_confirms = columns.published && columns.confirmed;
    let rates = [
        (columns.published, row.published),
        (columns.published && columns.returned, row.returned),
        (has_confirms, row.confirmed),
        (has_confirms, row.nacked),
        (columns.consumed, row.consumed),
    ];
    let mut cells = vec![quoted(id), number::time(row.time_s)];
    cells.extend(rates.map(|(is_shown, per_s)| if is_shown { number::rate(per_s) } else { String::new() }));
    cells.extend(latency(columns.consumed, row.consumer_latency.as_ref(), unit));
    cells.extend(latency(has_confirms, row.confirm_latency.as_ref(), unit));
    cells.extend(probes);
    cells.join(",") + "\n"
}

/// A text as a cell, by RFC 4180.
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}

fn latency(is_shown: bool, percentiles: Option<&Percentiles>, unit: Unit) -> [String; 5] {
    five(percentiles, unit).map(|number| if is_shown { number.to_string() } else { String::new() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::testing::{percentiles, sample};
    use crate::plan::Probe;

    fn write(columns: Columns, samples: &[Sample]) -> String {
        write_named("prom", columns, samples)
    }

    fn write_named(name: &str, columns: Columns, samples: &[Sample]) -> String {
        let mut out = Vec::new();
        let plan = Plan { name: name.to_owned(), ..Plan::default() };
        let mut csv = Csv { columns, ..Csv::new(&mut out, "out.csv", &plan, Unit::Micros) };
        samples.iter().for_each(|sample| csv.sample(sample, &Counts::default()));
        String::from_utf8(out).unwrap()
    }

    // The expected rows were written by PerfTest 2.22.1.

    #[test]
    fn a_row_has_all_columns() {
        let columns = Columns { published: true, consumed: true, returned: true, confirmed: true };
        let mut sample = sample(1.001, 1.001, 20);
        sample.counts.confirmed = 19;
        sample.counts.consumed = 19;
        sample.consumer_latency = Some(percentiles([2087, 4477, 10530, 68997, 69402]));
        sample.confirm_latency = Some(percentiles([1153, 3098, 4992, 41079, 42356]));
        sample.duration_s = 1.0;
        assert_eq!(
            write(columns, &[sample]),
            "id,time (s),published (msg/s),returned (msg/s),confirmed (msg/s),nacked (msg/s),received (msg/s),\
             min consumer latency (µs),median consumer latency (µs),75th p. consumer latency (µs),\
             95th p. consumer latency (µs),99th p. consumer latency (µs),min confirm latency (µs),\
             median confirm latency (µs),75th p. confirm latency (µs),95th p. confirm latency (µs),99th p. confirm latency (µs)\n\
             prom,1.001,20,0,19,0,19,2087,4477,10530,68997,69402,1153,3098,4992,41079,42356\n"
        );
    }

    #[test]
    fn columns_without_meaning_are_empty() {
        let columns = Columns { published: true, consumed: false, returned: false, confirmed: false };
        let written = write(columns, &[sample(1.001, 1.0, 21), sample(2.008, 1.0, 0)]);
        assert_eq!(written.lines().skip(1).collect::<Vec<_>>(), ["prom,1.001,21,,,,,,,,,,,,,,"]);
    }

    #[test]
    fn probes_have_columns_after_those_of_perftest() {
        let probe = |name: &str| Probe {
            name: name.to_owned(),
            path: "/".to_owned(),
            every: std::time::Duration::from_secs(1),
            count: 1,
            user: None,
        };
        let plan = Plan { name: "p".to_owned(), probes: vec![probe("list, all"), probe("page")], ..Plan::default() };
        let mut out = Vec::new();
        let mut csv = Csv::new(&mut out, "out.csv", &plan, Unit::Micros);
        // Nothing was published, but something was answered.
        let mut only_probes = sample(1.0, 1.0, 0);
        only_probes.probes.insert("page".to_owned(), percentiles([1000, 2000, 3000, 4000, 5000]));
        csv.sample(&only_probes, &Counts::default());
        csv.sample(&sample(2.0, 1.0, 0), &Counts::default());
        let text = String::from_utf8(out).unwrap();
        let lines: Vec<_> = text.lines().collect();
        assert!(lines[0].contains(",\"median probe list, all (µs)\",\"95th p. probe list, all (µs)\","), "{text}");
        assert!(
            lines[0].ends_with(
                ",median probe page (µs),95th p. probe page (µs),99th p. probe page (µs),max probe page (µs)"
            )
        );
        assert!(lines[1].starts_with("p,1.000,") && lines[1].contains(",,,,,2000,4000,5000,"), "{text}");
        assert_eq!(lines.len(), 2, "{text}");
    }

    #[test]
    fn name_cannot_shift_the_columns() {
        let columns = Columns { published: true, consumed: false, returned: false, confirmed: false };
        for (name, cell) in [
            ("sweep: window=1, publishers=5", "\"sweep: window=1, publishers=5\""),
            ("the \"best\"", "\"the \"\"best\"\"\""),
            ("two\nlines", "\"two\nlines\""),
            ("a b;c", "a b;c"),
        ] {
            let written = write_named(name, columns, &[sample(1.0, 1.0, 21)]);
            assert!(written.ends_with(&format!("\n{cell},1.000,21,,,,,,,,,,,,,,\n")), "{written}");
        }
    }
}
