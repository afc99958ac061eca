//! The picture, for whatever room there is: what does not fit is left out, the least important first.
//!
//! ```text
//!  name · phase 0:12 of 0:30 · 1:02 of 2:00 · 0:58 left
//!  ████████████████████████████░░░░░░░░░░░░░░░░░░░░░░░░░
//!  published      56,012/s ▁▂▃▄▅▆▇█
//!  …
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Sparkline, Widget};

use super::history::{History, Series, rate};
use crate::format;
use crate::results::{Percentiles, per_second};

/// Columns of what a line is about.
const LABEL_WIDTH: u16 = 10;
/// Columns of its number.
const NUMBER_WIDTH: u16 = 14;
/// Columns of one percentile.
const TIME_WIDTH: usize = 9;
/// From this width on, latencies since the start stand beside those of now.
const OVERALL_WIDTH_MIN: u16 = 74;

const QUIET: Style = Style::new().fg(Color::DarkGray);
const PUBLISHED: Color = Color::Blue;
const CONFIRMED: Color = Color::Yellow;
const CONSUMED: Color = Color::Green;

/// Draws into the area, from the top; lines that do not fit are left out.
pub(super) fn draw(history: &History, area: Rect, buffer: &mut Buffer) {
    let sample = &history.sample;
    let mut lines = area.rows();
    // Without a place to draw to, nothing is drawn; the order of the calls is the order of the lines.
    let mut next = || lines.next().unwrap_or_default();

    title(history, area.width).render(next(), buffer);
    progress(history, next(), buffer);
    let rate_of = |count| format!("{}/s", format::number(rate(sample, count)));
    numbers("published", &rate_of(sample.counts.published), "", Some((&history.published, PUBLISHED)), next(), buffer);
    numbers("confirmed", &rate_of(sample.counts.confirmed), "", Some((&history.confirmed, CONFIRMED)), next(), buffer);
    numbers("consumed", &rate_of(sample.counts.consumed), "", Some((&history.consumed, CONSUMED)), next(), buffer);

    let has_overall = area.width >= OVERALL_WIDTH_MIN;
    latency_head(has_overall).render(next(), buffer);
    latencies("consumer", sample.consumer_latency, history.overall.consumer, has_overall).render(next(), buffer);
    latencies("confirm", sample.confirm_latency, history.overall.confirm, has_overall).render(next(), buffer);

    let of_broker =
        |count: Option<u64>, word: &str| count.map(|count| format!(" · {} {word}", format::whole(count as f64)));
    let ready = sample.broker.and_then(|broker| of_broker(broker.ready, "ready"));
    let unacked = sample.broker.and_then(|broker| of_broker(broker.unacked, "unacked"));
    let details: String = ready.into_iter().chain(unacked).collect();
    let backlog = format::whole(sample.backlog as f64);
    numbers("backlog", &backlog, &details, Some((&history.backlog, Color::Magenta)), next(), buffer);
    machine(history, next(), buffer);
    if let Some(warning) = history.warning() {
        let style = Style::new().fg(Color::Red).add_modifier(Modifier::BOLD);
        Line::from(vec![Span::styled("! ", style), Span::styled(warning, style)]).render(next(), buffer);
    }
}

/// The name gives way to how far the run is.
fn title(history: &History, width: u16) -> Line<'static> {
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
    while facts.len() > 1 && facts.join(" · ").chars().count() > usize::from(width) {
        facts.pop();
    }
    let facts = facts.join(" · ");
    let room = usize::from(width).saturating_sub(facts.chars().count() + 3);
    let name = shorten(&history.outline.name, room);
    let bold = Style::new().add_modifier(Modifier::BOLD);
    if name.is_empty() {
        return Line::from(facts);
    }
    Line::from(vec![Span::styled(name, bold), Span::styled(" · ", QUIET), Span::raw(facts)])
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

/// How much of the run has passed; a quiet line if nobody knows how long it is.
fn progress(history: &History, area: Rect, buffer: &mut Buffer) {
    let all = history.outline.duration.map_or(0.0, |duration| duration.as_secs_f64());
    let share = if all > 0.0 { (history.sample.end_s / all).clamp(0.0, 1.0) } else { 0.0 };
    let done = (f64::from(area.width) * share).round() as usize;
    let rest = usize::from(area.width).saturating_sub(done);
    let bar = [Span::styled("━".repeat(done), Style::new().fg(Color::Cyan)), Span::styled("─".repeat(rest), QUIET)];
    Line::from(bar.to_vec()).render(area, buffer);
}

/// What, how much, what else, and how it went.
fn numbers(
    label: &str,
    number: &str,
    details: &str,
    series: Option<(&Series, Color)>,
    area: Rect,
    buffer: &mut Buffer,
) {
    let width = usize::from(NUMBER_WIDTH);
    let colour = series.map_or(Style::new(), |(_, colour)| Style::new().fg(colour));
    let mut text = Line::from(vec![
        Span::raw(format!("{label:<0$}", usize::from(LABEL_WIDTH))),
        Span::styled(format!("{number:>width$}"), colour.add_modifier(Modifier::BOLD)),
    ]);
    let details = Span::styled(details.to_owned(), QUIET);
    // Half a number would be another number.
    if text.width() + details.width() <= usize::from(area.width) {
        text.push_span(details);
    }
    let taken = u16::try_from(text.width()).unwrap_or(u16::MAX).saturating_add(1);
    text.render(area, buffer);
    let Some((series, _)) = series.filter(|_| taken < area.width) else { return };
    let room = Rect { x: area.x + taken, width: area.width - taken, ..area };
    let values = series.last(usize::from(room.width));
    Sparkline::default().data(values.iter().copied()).style(colour).render(room, buffer);
}

fn latency_head(has_overall: bool) -> Line<'static> {
    let columns = |first: &str| format!("{first:>TIME_WIDTH$}{:>TIME_WIDTH$}{:>TIME_WIDTH$}", "p99", "max");
    let label = format!("{:<1$}", "latency", usize::from(LABEL_WIDTH));
    let overall = if has_overall { format!("   {}", columns("all: p50")) } else { String::new() };
    Line::from(vec![Span::raw(label), Span::styled(format!("{}{overall}", columns("now: p50")), QUIET)])
}

fn latencies(label: &str, now: Option<Percentiles>, overall: Option<Percentiles>, has_overall: bool) -> Line<'static> {
    let cells = |percentiles: Option<Percentiles>| -> String {
        let times = percentiles.map(|all| [all.p50_ns, all.p99_ns, all.max_ns].map(|ns| format::time(ns as f64)));
        times
            .unwrap_or_default()
            .iter()
            .map(|time| format!("{:>TIME_WIDTH$}", if time.is_empty() { "–" } else { time }))
            .collect()
    };
    let label = format!("{:<1$}", format!("  {label}"), usize::from(LABEL_WIDTH));
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let mut spans = vec![Span::raw(label), Span::styled(cells(now), bold)];
    if has_overall {
        spans.push(Span::raw(format!("   {}", cells(overall))));
    }
    Line::from(spans)
}

/// The broker's CPU and memory, and the generator's share.
fn machine(history: &History, area: Rect, buffer: &mut Buffer) {
    let sample = &history.sample;
    let generator = history.generator_share().map(|share| format!(" · generator {} % CPU", (share * 100.0).round()));
    let generator = generator.unwrap_or_default();
    let Some(usage) = sample.broker.map(|broker| broker.usage) else {
        return numbers("broker", "not watched", &generator, None, area, buffer);
    };
    let cpu = usage
        .cpu_s
        .map_or("–".to_owned(), |cpu| format!("{} CPUs", format::number(per_second(cpu, sample.duration_s))));
    let memory = usage.memory.map(|memory| format!(" · {}", format::bytes(memory as f64))).unwrap_or_default();
    let series = Some((&history.broker_cpu, Color::Cyan));
    numbers("broker", &cpu, &format!("{memory}{generator}"), series, area, buffer);
}
