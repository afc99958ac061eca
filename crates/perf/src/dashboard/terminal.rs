//! Where the picture goes.

use std::io::{self, IsTerminal, Stdout};

use ratatui::backend::{Backend, CrosstermBackend};
use ratatui::layout::{Position, Rect};
use ratatui::{Terminal, TerminalOptions, Viewport};

use super::history::History;
use super::{LINES, Outline, Overall, view};
use crate::results::Sample;

/// Why there is no dashboard. What the caller does next is to print lines.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Standard output goes elsewhere.
    #[error("standard output is not a terminal")]
    NotATerminal,
    /// The terminal is too simple: it does not say where its cursor is.
    #[error("the terminal cannot be drawn to: {0}")]
    Terminal(#[from] io::Error),
}

/// Live progress at the bottom of a terminal.
pub struct Dashboard<B: Backend = CrosstermBackend<Stdout>> {
    terminal: Terminal<B>,
    history: History,
}

impl Dashboard {
    /// Takes a few lines of the terminal that standard output is.
    ///
    /// # Errors
    ///
    /// When it is none, or cannot be drawn to.
    pub fn open(outline: Outline) -> Result<Self, OpenError> {
        if !io::stdout().is_terminal() {
            return Err(OpenError::NotATerminal);
        }
        Ok(Dashboard::on(CrosstermBackend::new(io::stdout()), outline)?)
    }

    /// Leaves the last picture where it is; what is written next begins below it.
    ///
    /// # Errors
    ///
    /// Those of the terminal.
    pub fn close(mut self) -> io::Result<()> {
        self.draw()?;
        Backend::flush(self.terminal.backend_mut())
    }
}

impl<B: Backend> Dashboard<B> {
    fn on(backend: B, outline: Outline) -> Result<Self, B::Error> {
        let options = TerminalOptions { viewport: Viewport::Inline(LINES) };
        let mut dashboard =
            Dashboard { terminal: Terminal::with_options(backend, options)?, history: History::new(outline) };
        dashboard.draw()?;
        Ok(dashboard)
    }

    /// Shows what an interval brought. `overall` is since the start.
    ///
    /// # Errors
    ///
    /// Those of the terminal.
    pub fn show(&mut self, sample: &Sample, overall: Overall) -> Result<(), B::Error> {
        self.history.push(sample, overall);
        self.draw()
    }

    /// Shows a warning from the next interval on. Of several, the last is seen.
    pub fn warn(&mut self, text: impl Into<String>) {
        self.history.warn(text.into());
    }

    fn draw(&mut self) -> Result<(), B::Error> {
        let Dashboard { terminal, history } = self;
        terminal.draw(|frame| {
            let area = frame.area();
            let below = Position::new(area.x, area.bottom().saturating_sub(1));
            // The last line is the cursor's.
            let picture = Rect { height: area.height.saturating_sub(1), ..area };
            view::draw(history, picture, frame.buffer_mut());
            frame.set_cursor_position(below);
        })?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ratatui::backend::TestBackend;

    use super::*;
    use crate::results::{BrokerUsage, Counts, Percentiles, Usage};

    fn outline() -> Outline {
        let seconds = Duration::from_secs;
        Outline {
            name: "peak".to_owned(),
            duration: Some(seconds(120)),
            phases: vec![("base".to_owned(), seconds(30)), ("peak".to_owned(), seconds(90))],
            processors: 4,
            has_agents: false,
        }
    }

    fn percentiles(us: u64) -> Option<Percentiles> {
        Some(Percentiles {
            count: 1,
            p50_ns: us * 1_000,
            p99_ns: us * 3_000,
            max_ns: us * 50_000,
            ..Percentiles::default()
        })
    }

    fn sample(second: u64) -> Sample {
        let count = 1_000 * second;
        Sample {
            end_s: second as f64,
            duration_s: 1.0,
            counts: Counts { published: count, confirmed: count - 10, consumed: count - 20, ..Counts::default() },
            consumer_latency: percentiles(436),
            confirm_latency: percentiles(688),
            backlog: 123_456,
            connections: 20,
            generator: Usage { cpu_s: Some(0.5), ..Usage::default() },
            broker: Some(BrokerUsage {
                usage: Usage { cpu_s: Some(1.1), memory: Some(64 << 20), ..Usage::default() },
                ready: Some(123_000),
                unacked: Some(456),
            }),
            ..Sample::default()
        }
    }

    fn overall() -> Overall {
        Overall { consumer: percentiles(400), confirm: None }
    }

    #[track_caller]
    fn check(width: u16, height: u16, expected: &str) {
        let mut dashboard = Dashboard::on(TestBackend::new(width, height), outline()).unwrap();
        dashboard.warn("--heartbeat is ignored");
        (33..=40).for_each(|second| dashboard.show(&sample(second), overall()).unwrap());
        assert_eq!(shown(&dashboard), expected.trim_start_matches('\n'));
    }

    fn shown(dashboard: &Dashboard<TestBackend>) -> String {
        let buffer = dashboard.terminal.backend().buffer();
        let line =
            |y| (0..buffer.area.width).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned();
        (0..buffer.area.height).map(line).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn whole_picture_fits_eighty_columns() {
        check(
            80,
            12,
            "
peak · peak 0:10 of 1:30 · 0:40 of 2:00 · 1:20 left
━━━━━━━━━━━━━━━━━━━━━━━━━━━─────────────────────────────────────────────────────
published       40,000/s ▆▆▇▇▇▇▇█
confirmed       39,990/s ▆▆▆▇▇▇▇█
consumed        39,980/s ▆▆▆▇▇▇▇█
latency    now: p50      p99      max    all: p50      p99      max
  consumer   436 µs  1.31 ms  21.8 ms      400 µs   1.2 ms    20 ms
  confirm    688 µs  2.06 ms  34.4 ms           –        –        –
backlog          123,456 · 123,000 ready · 456 unacked ████████
broker          1.1 CPUs · 64 MiB · generator 13 % CPU ████████
! --heartbeat is ignored
",
        );
    }

    #[test]
    fn narrow_terminal_has_less() {
        check(
            40,
            12,
            "
peak · peak 0:10 of 1:30 · 0:40 of 2:00
━━━━━━━━━━━━━───────────────────────────
published       40,000/s ▆▆▇▇▇▇▇█
confirmed       39,990/s ▆▆▆▇▇▇▇█
consumed        39,980/s ▆▆▆▇▇▇▇█
latency    now: p50      p99      max
  consumer   436 µs  1.31 ms  21.8 ms
  confirm    688 µs  2.06 ms  34.4 ms
backlog          123,456 ████████
broker          1.1 CPUs ████████
! --heartbeat is ignored
",
        );
    }

    #[test]
    fn any_size_can_be_drawn_to() {
        for (width, height) in [(1, 1), (3, 2), (10, 5), (25, 30), (300, 11)] {
            let mut dashboard = Dashboard::on(TestBackend::new(width, height), outline()).unwrap();
            dashboard.show(&sample(40), overall()).unwrap();
        }
    }

    #[test]
    fn resized_terminal_is_drawn_anew() {
        let mut dashboard = Dashboard::on(TestBackend::new(80, 24), outline()).unwrap();
        dashboard.show(&sample(40), overall()).unwrap();
        for (width, height) in [(40, 24), (120, 10), (5, 3), (80, 24)] {
            dashboard.terminal.backend_mut().resize(width, height);
            dashboard.show(&sample(41), overall()).unwrap();
        }
        assert!(shown(&dashboard).contains("peak · peak 0:11 of 1:30"), "{}", shown(&dashboard));
    }

    #[test]
    fn cursor_waits_on_an_empty_line_below() {
        let mut dashboard = Dashboard::on(TestBackend::new(80, 24), outline()).unwrap();
        dashboard.show(&sample(40), overall()).unwrap();
        let backend = dashboard.terminal.backend_mut();
        let cursor = backend.get_cursor_position().unwrap();
        assert_eq!(cursor, Position::new(0, 11));
        let buffer = backend.buffer();
        assert!((0..80).all(|x| buffer[(x, 11)].symbol() == " "), "the line is empty");
    }

    #[test]
    fn names_cannot_send_the_terminal_commands() {
        let name = "\u{1b}]0;taken\u{7}\u{1b}[2J\n".to_owned();
        let mut dashboard = Dashboard::on(TestBackend::new(80, 12), Outline { name, ..outline() }).unwrap();
        dashboard.warn("\u{1b}[2J");
        dashboard.show(&sample(40), overall()).unwrap();
        assert!(!shown(&dashboard).replace('\n', "").contains(char::is_control), "{:?}", shown(&dashboard));
    }
}
