//! The picture, for whatever room there is: what does not fit is left out, the least important first.
//!
//! ```text
//!  name · phase 0:12 of 0:30 · 1:02 of 2:00 · 0:58 left
//!  ████████████████████████████░░░░░░░░░░░░░░░░░░░░░░░░░
//!  published      56,012/s ▁▂▃▄▅▆▇█
//!  …
//! ```

use super::history::{History, Series, rate};
use super::line::{Colour, Line, Style};
use crate::results::{Percentiles, per_second};
use figures::format;

/// Columns of what a line is about.
const LABEL_WIDTH: usize = 10;
/// Columns of its number.
const NUMBER_WIDTH: usize = 14;
/// Columns of one percentile.
const TIME_WIDTH: usize = 9;
/// From this width on, latencies since the start stand beside those of now.
const OVERALL_WIDTH_MIN: usize = 74;

const QUIET: Style = Style::of(Colour::Grey);
const PUBLISHED: Colour = Colour::Blue;
const CONFIRMED: Colour = Colour::Yellow;
const CONSUMED: Colour = Colour::Green;

/// Heights of a sparkline's bars.
const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The picture's lines, from the top, for a terminal of `width` columns.
pub(super) fn draw(history: &History, width: usize) -> Vec<Line> {
    let sample = &history.sample;
    let rate_of = |count| format!("{}/s", format::number(rate(sample, count)));
    let of_broker =
        |count: Option<u64>, word: &str| count.map(|count| format!(" · {} {word}", format::whole(count as f64)));
    let ready = sample.broker.and_then(|broker| of_broker(broker.ready, "ready"));
    let unacked = sample.broker.and_then(|broker| of_broker(broker.unacked, "unacked"));
    let details: String = ready.into_iter().chain(unacked).collect();
    let backlog = format::whole(sample.backlog as f64);
    let has_overall = width >= OVERALL_WIDTH_MIN;

    let mut lines = vec![
        title(history, width),
        progress(history, width),
        numbers("published", &rate_of(sample.counts.published), "", Some((&history.published, PUBLISHED)), width),
        numbers("confirmed", &rate_of(sample.counts.confirmed), "", Some((&history.confirmed, CONFIRMED)), width),
        numbers("consumed", &rate_of(sample.counts.consumed), "", Some((&history.consumed, CONSUMED)), width),
        latency_head(has_overall),
        latencies("consumer", sample.consumer_latency, history.overall.consumer, has_overall),
        latencies("confirm", sample.confirm_latency, history.overall.confirm, has_overall),
        numbers("backlog", &backlog, &details, Some((&history.backlog, Colour::Magenta)), width),
        machine(history, width),
    ];
    if let Some(warning) = history.warning() {
        lines.push(Line::default().with(&format!("! {warning}"), Style::of(Colour::Red).bold()));
    }
    lines
}

/// The name gives way to how far the run is.
fn title(history: &History, width: usize) -> Line {
    let sample = &history.sample;
    let mut facts = Vec::new();
    if let Some((phase, passed, length)) = history.phase() {
        facts.push(format!("{phase} {} of {}", format::clock(passed), format::clock(length)));
    }
    match history.outline.duration.map(|duration| duration.as_secs_f64()) {
        Some(all) if sample.end_s < all => {
            let [now, end, left] = [sample.end_s, all, all - sample.end_s].map(format::clock);
            facts.push(format!("{now} of {end}"));
            facts.push(format!("{left} left"));
        }
        Some(all) => {
            // Publishers have stopped; consumers may go on for a while.
            let what = if sample.backlog > 0 { ", emptying queues" } else { "" };
            facts.push(format!("{} of {}{what}", format::clock(sample.end_s), format::clock(all)));
        }
        None => facts.push(format::clock(sample.end_s)),
    }
    while facts.len() > 1 && facts.join(" · ").chars().count() > width {
        facts.pop();
    }
    let facts = facts.join(" · ");
    let room = width.saturating_sub(facts.chars().count() + 3);
    let name = shorten(&history.outline.name, room);
    if name.is_empty() {
        return Line::default().with(&facts, Style::PLAIN);
    }
    Line::default().with(&name, Style::BOLD).with(" · ", QUIET).with(&facts, Style::PLAIN)
}

fn shorten(text: &str, room: usize) -> String {
    if text.chars().count() <= room {
        return text.to_owned();
    }
    match room {
        0..4 => String::new(),
        _ => text.chars().take(room - 1).chain(['…']).collect(),
    }
}

/// How much of the run has passed; a quiet line if its end is not known.
fn progress(history: &History, width: usize) -> Line {
    let all = history.outline.duration.map_or(0.0, |duration| duration.as_secs_f64());
    let share = if all > 0.0 { (history.sample.end_s / all).clamp(0.0, 1.0) } else { 0.0 };
    let done = (width as f64 * share).round() as usize;
    let rest = width.saturating_sub(done);
    Line::default().with(&"━".repeat(done), Style::of(Colour::Cyan)).with(&"─".repeat(rest), QUIET)
}

/// What, how much, what else, and how it went.
fn numbers(label: &str, number: &str, details: &str, series: Option<(&Series, Colour)>, width: usize) -> Line {
    let style = series.map_or(Style::PLAIN, |(_, colour)| Style::of(colour));
    let mut line = Line::default()
        .with(&format!("{label:<LABEL_WIDTH$}"), Style::PLAIN)
        .with(&format!("{number:>NUMBER_WIDTH$}"), style.bold());
    // Half a number would be another number.
    if line.width() + details.chars().count() <= width {
        line = line.with(details, QUIET);
    }
    let taken = line.width() + 1;
    match series {
        Some((series, _)) if taken < width => {
            line.with(" ", Style::PLAIN).with(&sparkline(&series.last(width - taken)), style)
        }
        _ => line,
    }
}

/// A bar for each value; the highest value's is a whole one.
fn sparkline(values: &[u64]) -> String {
    let highest = values.iter().copied().max().unwrap_or(0).max(1);
    let full = BARS.len() as u128 - 1;
    values.iter().map(|value| BARS[(u128::from(*value) * full / u128::from(highest)) as usize]).collect()
}

fn latency_head(has_overall: bool) -> Line {
    let columns = |first: &str| format!("{first:>TIME_WIDTH$}{:>TIME_WIDTH$}{:>TIME_WIDTH$}", "p99", "max");
    let overall = if has_overall { format!("   {}", columns("all: p50")) } else { String::new() };
    Line::default()
        .with(&format!("{:<LABEL_WIDTH$}", "latency"), Style::PLAIN)
        .with(&format!("{}{overall}", columns("now: p50")), QUIET)
}

fn latencies(label: &str, now: Option<Percentiles>, overall: Option<Percentiles>, has_overall: bool) -> Line {
    let cells = |percentiles: Option<Percentiles>| -> String {
        let times = percentiles.map(|all| [all.p50_ns, all.p99_ns, all.max_ns].map(|ns| format::time(ns as f64)));
        times
            .unwrap_or_default()
            .iter()
            .map(|time| format!("{:>TIME_WIDTH$}", if time.is_empty() { "–" } else { time }))
            .collect()
    };
    let label = format!("{:<LABEL_WIDTH$}", format!("  {label}"));
    let line = Line::default().with(&label, Style::PLAIN).with(&cells(now), Style::BOLD);
    if has_overall { line.with(&format!("   {}", cells(overall)), Style::PLAIN) } else { line }
}

/// The broker's CPU and memory, and the generator's share.
fn machine(history: &History, width: usize) -> Line {
    let sample = &history.sample;
    let generator = history.generator_share().map(|share| format!(" · generator {} % CPU", (share * 100.0).round()));
    let generator = generator.unwrap_or_default();
    let Some(usage) = sample.broker.map(|broker| broker.usage) else {
        return numbers("broker", "not watched", &generator, None, width);
    };
    let cpu = usage
        .cpu_s
        .map_or("–".to_owned(), |cpu| format!("{} CPUs", format::number(per_second(cpu, sample.duration_s))));
    let memory = usage.memory.map(|memory| format!(" · {}", format::bytes(memory as f64))).unwrap_or_default();
    let series = Some((&history.broker_cpu, Colour::Cyan));
    numbers("broker", &cpu, &format!("{memory}{generator}"), series, width)
}
