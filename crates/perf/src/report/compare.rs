//! Several results beside each other. The first is the base; for the others the report shows how many times the base they are.
//!
//! Runs of a sweep are matched by their variables, others by their label; results with a single run each are compared
//! whatever the runs are called. What only some have is shown, and not compared.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use serde::Serialize;

use crate::results::{Distribution, LoadError, Percentiles, Results, Run, per_second};
use figures::format;
use terminal::table::{self, Column};

/// Results beside each other.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// What the results are called, the base first.
    pub names: Vec<String>,
    /// The runs that at least two of them have.
    pub runs: Vec<ComparedRun>,
    /// Runs that have no counterpart: where, and their label.
    pub unmatched: Vec<String>,
    /// What one should know before believing the ratios.
    pub notes: Vec<String>,
}

/// A run, in several results.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparedRun {
    /// Its label; empty if it is the only one.
    pub label: String,
    /// Which run it is, in each of the results that has it.
    pub indexes: Vec<Option<usize>>,
    /// What was measured.
    pub rows: Vec<Row>,
}

/// One number, in several results.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// What it belongs to, such as `consumer latency`.
    pub group: String,
    /// What it is, such as `p99`.
    pub metric: String,
    /// As people read it.
    pub shown: Vec<Option<String>>,
    /// As it was measured.
    pub values: Vec<Option<f64>>,
    /// How many times the base it is; the base itself has 1. `None` where either is missing, or the base is 0.
    pub ratios: Vec<Option<f64>>,
    /// Which way is better, if one is.
    pub better: Option<Better>,
}

/// Which way is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
}

/// Results with their names: a file's without folder and `.json`, or its whole path where two would be called the same.
///
/// # Errors
///
/// When a file cannot be read, is not results, or is of a newer version.
pub fn load(paths: &[impl AsRef<Path>]) -> Result<Vec<(String, Results)>, LoadError> {
    let stem = |path: &Path| path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let stems: Vec<_> = paths.iter().map(|path| stem(path.as_ref())).collect();
    let mut loaded = Vec::with_capacity(paths.len());
    for (path, name) in paths.iter().zip(&stems) {
        let is_alone = stems.iter().filter(|other| *other == name).count() == 1;
        let name = name.clone().filter(|_| is_alone).unwrap_or_else(|| path.as_ref().display().to_string());
        loaded.push((name, Results::load(path.as_ref())?));
    }
    Ok(loaded)
}

/// Compares results, the first being the base.
#[must_use]
pub fn compare(parts: &[(&str, &Results)]) -> Comparison {
    let names = parts.iter().map(|(name, _)| (*name).to_owned()).collect();
    let mut comparison = Comparison { names, runs: Vec::new(), unmatched: Vec::new(), notes: notes(parts) };
    let mut taken: BTreeSet<(usize, usize)> = BTreeSet::new();
    for (part, (name, results)) in parts.iter().enumerate() {
        for (index, run) in results.runs.iter().enumerate() {
            if taken.contains(&(part, index)) {
                continue;
            }
            let counterpart = |(other, (_, results)): (usize, &(&str, &Results))| match other.cmp(&part) {
                std::cmp::Ordering::Less => None,
                std::cmp::Ordering::Equal => Some(index),
                std::cmp::Ordering::Greater => counterpart(run, parts[part].1, results),
            };
            let indexes: Vec<_> = parts.iter().enumerate().map(counterpart).collect();
            let found = indexes.iter().enumerate().filter_map(|(part, index)| index.map(|index| (part, index)));
            taken.extend(found);
            if indexes.iter().flatten().count() < 2 {
                let label = if run.label.is_empty() { "its run" } else { &run.label };
                comparison.unmatched.push(format!("{name}: {label}"));
                continue;
            }
            let label = if results.runs.len() > 1 { run.label.clone() } else { String::new() };
            let rows = rows(parts, &indexes);
            comparison.runs.push(ComparedRun { label, indexes, rows });
        }
    }
    comparison
}

fn counterpart(run: &Run, base: &Results, other: &Results) -> Option<usize> {
    if base.runs.len() == 1 && other.runs.len() == 1 {
        return Some(0);
    }
    let is_same = |candidate: &Run| match run.variables.is_empty() {
        true => candidate.variables.is_empty() && candidate.label == run.label,
        false => candidate.variables == run.variables,
    };
    other.runs.iter().position(is_same)
}

fn notes(parts: &[(&str, &Results)]) -> Vec<String> {
    let mut notes = Vec::new();
    for (name, results) in parts {
        for run in &results.runs {
            let which = if run.label.is_empty() { (*name).to_owned() } else { format!("{name}, {}", run.label) };
            if let Some(why) = &run.interrupted {
                notes.push(format!("{which} was interrupted: {why}"));
            }
            if let Some(why) = &run.summary.bottleneck {
                notes.push(format!("in {which} the generator was the bottleneck: {why}"));
            }
        }
    }
    let machines = |results: &Results| (results.machine.clone(), results.processors());
    if parts.windows(2).any(|pair| machines(pair[0].1) != machines(pair[1].1)) {
        notes.push("the machines that generated the load differ".to_owned());
    }
    if parts.windows(2).any(|pair| pair[0].1.workload != pair[1].1.workload) {
        notes.push("the workloads differ".to_owned());
    }
    notes
}

/// Puts rows together, leaving out those that were not measured.
struct Rows<'a> {
    runs: Vec<Option<(&'a Results, &'a Run)>>,
    rows: Vec<Row>,
}

impl Rows<'_> {
    fn add(
        &mut self,
        group: &str,
        metric: &str,
        better: Option<Better>,
        show: impl Fn(f64) -> String,
        measure: impl Fn(&Results, &Run) -> Option<f64>,
    ) {
        let measured = |run: &Option<(&Results, &Run)>| run.and_then(|(results, run)| measure(results, run));
        let values: Vec<Option<f64>> = self.runs.iter().map(measured).collect();
        if values.iter().all(Option::is_none) {
            return;
        }
        let base = values.first().copied().flatten().filter(|base| *base != 0.0);
        let ratios = values.iter().map(|value| Some((*value)? / base?)).collect();
        let shown = values.iter().map(|value| value.map(&show)).collect();
        let (group, metric) = (group.to_owned(), metric.to_owned());
        self.rows.push(Row { group, metric, shown, values, ratios, better });
    }

    fn add_latencies(
        &mut self,
        group: &str,
        better: Option<Better>,
        distribution: impl Fn(&Run) -> Option<&Distribution>,
    ) {
        let mut add = |metric: &str, pick: fn(&Percentiles) -> u64| {
            self.add(group, metric, better, format::time, |_, run| {
                distribution(run).map(|distribution| pick(&distribution.percentiles) as f64)
            });
        };
        add("median", |percentiles| percentiles.p50_ns);
        add("p99", |percentiles| percentiles.p99_ns);
        add("p99.9", |percentiles| percentiles.p999_ns);
        add("max", |percentiles| percentiles.max_ns);
    }
}

fn rows(parts: &[(&str, &Results)], indexes: &[Option<usize>]) -> Vec<Row> {
    use Better::{Higher, Lower};
    let runs: Vec<_> = parts
        .iter()
        .zip(indexes)
        .map(|((_, results), index)| index.and_then(|index| results.runs.get(index)).map(|run| (*results, run)))
        .collect();
    let probes: BTreeSet<&String> = runs.iter().flatten().flat_map(|(_, run)| run.summary.probes.keys()).collect();
    let mut rows = Rows { runs: runs.clone(), rows: Vec::new() };

    let measured_rate = |count: u64, run: &Run| {
        let seconds = run.summary.duration_s;
        (count > 0 && seconds > 0.0).then(|| per_second(count as f64, seconds))
    };
    let rate = |value| format!("{}/s", format::number(value));
    rows.add("rate", "published", Some(Higher), rate, |_, run| measured_rate(run.summary.counts.published, run));
    rows.add("rate", "confirmed", Some(Higher), rate, |_, run| measured_rate(run.summary.counts.confirmed, run));
    rows.add("rate", "consumed", Some(Higher), rate, |_, run| measured_rate(run.summary.counts.consumed, run));
    rows.add_latencies("consumer latency", Some(Lower), |run| run.summary.latencies.consumer.as_ref());
    rows.add_latencies("confirm latency", Some(Lower), |run| run.summary.latencies.confirm.as_ref());
    for name in probes {
        rows.add_latencies(&format!("probe {name}"), Some(Lower), |run| run.summary.probes.get(name));
    }
    let sequence = |count: fn(&Run) -> u64| {
        move |_: &Results, run: &Run| (run.summary.sequence.is_complete || count(run) > 0).then(|| count(run) as f64)
    };
    rows.add("messages", "lost", Some(Lower), format::number, sequence(|run| run.summary.sequence.total.lost));
    rows.add(
        "messages",
        "duplicate",
        Some(Lower),
        format::number,
        sequence(|run| run.summary.sequence.total.duplicate),
    );
    rows.add(
        "messages",
        "out of order",
        Some(Lower),
        format::number,
        sequence(|run| run.summary.sequence.total.out_of_order),
    );
    rows.add("broker", "messages a CPU second", Some(Higher), format::number, |_, run| messages_per_cpu_second(run));
    rows.add("broker", "memory, at most", Some(Lower), format::bytes, |_, run| {
        Some(run.summary.broker?.usage.memory? as f64)
    });
    let percent = |share: f64| format!("{} %", format::number(share * 100.0));
    rows.add("generator", "share of the CPU", None, percent, |results, run| {
        let most = run.summary.duration_s * f64::from(results.processors());
        (most > 0.0).then_some(run.summary.generator.cpu_s? / most)
    });
    rows.rows
}

/// What was consumed, where there were consumers, for each CPU second of the broker.
fn messages_per_cpu_second(run: &Run) -> Option<f64> {
    let cpu = run.summary.broker?.usage.cpu_s.filter(|cpu| *cpu > 0.0)?;
    let counts = run.summary.counts;
    let messages = if counts.consumed > 0 { counts.consumed } else { counts.published };
    Some(messages as f64 / cpu)
}

impl Comparison {
    /// As a table for a terminal.
    ///
    /// # Errors
    ///
    /// Those of `out`.
    pub fn write_terminal(&self, out: &mut impl io::Write) -> io::Result<()> {
        for run in &self.runs {
            if !run.label.is_empty() {
                writeln!(out, "{}\n", visible(&run.label))?;
            }
            let head = std::iter::once(String::new()).chain(self.names.iter().map(|name| visible(name))).collect();
            let mut table = vec![head];
            table.extend(run.rows.iter().map(|row| {
                let cells = (0..self.names.len()).map(|index| row.cell(index));
                std::iter::once(visible(&row.title())).chain(cells).collect::<Vec<_>>()
            }));
            let mut columns = vec![Column::right(0); self.names.len() + 1];
            columns[0] = Column::left(0);
            writeln!(out, "{}", table::rows(&columns, &table))?;
        }
        for unmatched in &self.unmatched {
            writeln!(out, "not compared, for the others do not have it: {}", visible(unmatched))?;
        }
        for note in &self.notes {
            writeln!(out, "note: {}", visible(note))?;
        }
        Ok(())
    }

    /// As Markdown tables.
    ///
    /// # Errors
    ///
    /// Those of `out`.
    pub fn write_markdown(&self, out: &mut impl io::Write) -> io::Result<()> {
        for run in &self.runs {
            if !run.label.is_empty() {
                writeln!(out, "### {}\n", markdown(&run.label))?;
            }
            let names: Vec<_> = self.names.iter().map(|name| markdown(name)).collect();
            writeln!(out, "| | {} |", names.join(" | "))?;
            writeln!(out, "|---|{}", "---:|".repeat(names.len()))?;
            for row in &run.rows {
                let cells: Vec<_> = (0..names.len()).map(|index| row.cell(index)).collect();
                writeln!(out, "| {} | {} |", markdown(&row.title()), cells.join(" | "))?;
            }
            writeln!(out)?;
        }
        for unmatched in &self.unmatched {
            writeln!(out, "- Not compared, for the others do not have it: {}", markdown(unmatched))?;
        }
        for note in &self.notes {
            writeln!(out, "- Note: {}", markdown(note))?;
        }
        Ok(())
    }
}

impl Row {
    fn title(&self) -> String {
        format!("{}, {}", self.group, self.metric)
    }

    /// The number, and how many times the base it is.
    fn cell(&self, index: usize) -> String {
        let shown = self.shown.get(index).and_then(Option::as_deref).unwrap_or("–");
        match self.ratios.get(index).copied().flatten().filter(|_| index > 0) {
            Some(ratio) => format!("{shown} (×{})", format::number(ratio)),
            None => shown.to_owned(),
        }
    }
}

/// Without what would move a terminal's cursor.
fn visible(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

fn markdown(text: &str) -> String {
    let escape = |c: char| match c {
        '|' | '\\' | '`' | '*' | '_' | '<' | '[' | ']' => format!("\\{c}"),
        c if c.is_control() => " ".to_owned(),
        c => c.to_string(),
    };
    text.chars().map(escape).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::results::{BrokerUsage, Counts, Sequence, Summary, Usage, Variable};

    fn run(published: u64, p99_ns: u64) -> Run {
        let percentiles = Percentiles { count: published, p50_ns: p99_ns / 2, p99_ns, ..Percentiles::default() };
        let mut summary = Summary {
            duration_s: 10.0,
            counts: Counts { published, consumed: published, ..Counts::default() },
            sequence: Sequence { is_complete: true, ..Sequence::default() },
            broker: Some(BrokerUsage {
                usage: Usage { cpu_s: Some(5.0), memory: Some(64 << 20), ..Usage::default() },
                ..BrokerUsage::default()
            }),
            ..Summary::default()
        };
        summary.latencies.consumer = Some(Distribution { percentiles, ..Distribution::default() });
        Run { summary, ..Run::default() }
    }

    fn single(published: u64, p99_ns: u64) -> Results {
        Results { runs: vec![run(published, p99_ns)], ..Results::default() }
    }

    fn sweep(values: &[(f64, u64)]) -> Results {
        let of = |(size, published): &(f64, u64)| Run {
            label: format!("size={size}"),
            variables: BTreeMap::from([("size".to_owned(), Variable::Number(*size))]),
            ..run(*published, 1_000_000)
        };
        Results { runs: values.iter().map(of).collect(), ..Results::default() }
    }

    fn text(write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> String {
        let mut out = Vec::new();
        write(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn ratios_are_to_the_first() {
        let (a, b) = (single(100_000, 2_000_000), single(150_000, 500_000));
        let comparison = compare(&[("a", &a), ("b", &b)]);
        let row = |metric: &str| comparison.runs[0].rows.iter().find(|row| row.title() == metric).unwrap();
        assert_eq!(row("rate, published").ratios, [Some(1.0), Some(1.5)]);
        assert_eq!(row("consumer latency, p99").ratios, [Some(1.0), Some(0.25)]);
        assert_eq!(row("consumer latency, p99").better, Some(Better::Lower));
        assert_eq!(row("messages, lost").ratios, [None, None], "nothing is a multiple of zero");
        assert_eq!(row("broker, messages a CPU second").values, [Some(20_000.0), Some(30_000.0)]);
    }

    #[test]
    fn terminal_table_is_aligned() {
        let (a, b) = (single(100_000, 2_000_000), single(150_000, 500_000));
        let shown = text(|out| compare(&[("before", &a), ("after", &b)]).write_terminal(out));
        let expected = "
                                 before            after
rate, published                10,000/s  15,000/s (×1.5)
rate, consumed                 10,000/s  15,000/s (×1.5)
consumer latency, median           1 ms   250 µs (×0.25)
consumer latency, p99              2 ms   500 µs (×0.25)
consumer latency, p99.9            0 ns             0 ns
consumer latency, max              0 ns             0 ns
messages, lost                        0                0
messages, duplicate                   0                0
messages, out of order                0                0
broker, messages a CPU second    20,000    30,000 (×1.5)
broker, memory, at most          64 MiB      64 MiB (×1)

";
        assert_eq!(format!("\n{shown}"), expected);
    }

    #[test]
    fn markdown_is_a_table_that_names_cannot_break() {
        let (a, b) = (single(100_000, 2_000_000), single(150_000, 500_000));
        let shown = text(|out| compare(&[("a|b", &a), ("c", &b)]).write_markdown(out));
        assert!(
            shown.starts_with("| | a\\|b | c |\n|---|---:|---:|\n| rate, published | 10,000/s | 15,000/s (×1.5) |\n"),
            "{shown}"
        );
    }

    #[test]
    fn runs_of_a_sweep_are_matched_by_their_variables() {
        let (a, b) = (sweep(&[(1.0, 10), (2.0, 20), (3.0, 30)]), sweep(&[(4.0, 40), (2.0, 60), (1.0, 20)]));
        let comparison = compare(&[("a", &a), ("b", &b)]);
        let runs: Vec<_> = comparison.runs.iter().map(|run| (run.label.as_str(), run.indexes.clone())).collect();
        assert_eq!(runs, [("size=1", vec![Some(0), Some(2)]), ("size=2", vec![Some(1), Some(1)])]);
        assert_eq!(comparison.runs[1].rows[0].ratios, [Some(1.0), Some(3.0)]);
        assert_eq!(comparison.unmatched, ["a: size=3", "b: size=4"]);
    }

    #[test]
    fn run_that_the_base_lacks_is_compared_among_the_others() {
        let (a, b, c) = (sweep(&[(1.0, 10)]), sweep(&[(1.0, 10), (2.0, 20)]), sweep(&[(1.0, 10), (2.0, 40)]));
        let comparison = compare(&[("a", &a), ("b", &b), ("c", &c)]);
        assert_eq!(comparison.runs[1].indexes, [None, Some(1), Some(1)]);
        assert_eq!(comparison.runs[1].rows[0].ratios, [None, None, None], "there is no base");
    }

    #[test]
    fn generator_is_compared_by_the_processors_that_it_had() {
        let mut alone = single(1, 1);
        alone.machine.processors = 2;
        alone.runs[0].summary.generator.cpu_s = Some(10.0);
        let mut agents = alone.clone();
        agents.generator_processors = 32;
        agents.runs[0].summary.generator.cpu_s = Some(280.0);
        let comparison = compare(&[("alone", &alone), ("agents", &agents)]);
        let row = comparison.runs[0].rows.iter().find(|row| row.group == "generator").unwrap();
        assert_eq!(row.values, [Some(0.5), Some(0.875)]);
    }

    #[test]
    fn doubts_are_told() {
        let mut a = single(1, 1);
        a.runs[0].interrupted = Some("the broker went away".to_owned());
        let mut b = single(1, 1);
        b.machine.processors = 4;
        b.runs[0].summary.bottleneck = Some("its CPU was busy".to_owned());
        let comparison = compare(&[("a", &a), ("b", &b)]);
        assert_eq!(
            comparison.notes,
            [
                "a was interrupted: the broker went away",
                "in b the generator was the bottleneck: its CPU was busy",
                "the machines that generated the load differ",
            ]
        );
    }

    #[test]
    fn labels_cannot_move_the_cursor() {
        let mut a = sweep(&[(1.0, 10), (2.0, 20)]);
        a.runs[0].label = "\u{1b}[2Jgone".to_owned();
        let shown = text(|out| compare(&[("a", &a), ("b", &a)]).write_terminal(out));
        assert!(!shown.contains('\u{1b}'), "{shown:?}");
    }
}
