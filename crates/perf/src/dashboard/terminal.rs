//! Where the picture is drawn: the lines above the cursor, written over at every draw.
//!
//! ```text
//!  up, to the picture's first line         ESC [ n A
//!  each line: emptied, written             ESC [ 2 K  text  CR LF
//!  the empty line where the cursor stays
//! ```
//!
//! While it is written, lines that are too long (of characters that take two columns) are cut by the terminal and not
//! wrapped (`ESC [ ? 7 l`): the picture has as many rows as lines, or the way up would be another one.

use std::fmt::Write as _;
use std::io::{self, IsTerminal, Stdout, Write};

use rustix::termios::tcgetwinsize;

use super::history::History;
use super::{LINES, Outline, Overall, view};
use crate::results::Sample;

/// What is taken for the size of a terminal that does not know its own: columns and rows.
const USUAL_SIZE: (u16, u16) = (80, 24);

/// Why there is no dashboard. What the caller does next is to print lines.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Standard output is redirected.
    #[error("standard output is not a terminal")]
    NotATerminal,
    /// The terminal is too simple: its cursor cannot be moved.
    #[error("the terminal cannot be drawn to")]
    Dumb,
    /// The terminal fails.
    #[error("the terminal cannot be drawn to: {0}")]
    Terminal(#[from] io::Error),
}

/// What a picture is drawn on.
pub trait Screen: Write {
    /// Its columns and rows.
    fn size(&self) -> (u16, u16);
}

impl Screen for Stdout {
    fn size(&self) -> (u16, u16) {
        match tcgetwinsize(self) {
            Ok(size) if size.ws_col > 0 && size.ws_row > 0 => (size.ws_col, size.ws_row),
            _ => USUAL_SIZE,
        }
    }
}

/// Live progress at the bottom of a terminal.
pub struct Dashboard<S: Screen = Stdout> {
    screen: S,
    has_colours: bool,
    /// Rows of the picture that is there, the empty one included; none before the first.
    drawn_rows: u16,
    drawn_on: (u16, u16),
    history: History,
}

impl Dashboard {
    /// Takes a few lines of the terminal that standard output is.
    ///
    /// # Errors
    ///
    /// Standard output is no terminal, or cannot be drawn to.
    pub fn open(outline: Outline) -> Result<Self, OpenError> {
        if !io::stdout().is_terminal() {
            return Err(OpenError::NotATerminal);
        }
        if std::env::var_os("TERM").is_some_and(|name| name == "dumb") {
            return Err(OpenError::Dumb);
        }
        let has_colours = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        Ok(Dashboard::on(io::stdout(), has_colours, outline)?)
    }

    /// Leaves the last picture where it is; what is written next begins below it.
    ///
    /// # Errors
    ///
    /// Those of the terminal.
    pub fn close(mut self) -> io::Result<()> {
        self.draw()
    }
}

impl<S: Screen> Dashboard<S> {
    fn on(screen: S, has_colours: bool, outline: Outline) -> io::Result<Self> {
        let drawn_on = screen.size();
        let mut dashboard = Dashboard { screen, has_colours, drawn_rows: 0, drawn_on, history: History::new(outline) };
        dashboard.draw()?;
        Ok(dashboard)
    }

    /// Shows what an interval brought. `overall` is since the start.
    ///
    /// # Errors
    ///
    /// Those of the terminal.
    pub fn show(&mut self, sample: &Sample, overall: Overall) -> io::Result<()> {
        self.history.push(sample, overall);
        self.draw()
    }

    /// Shows a warning from the next interval on. The last of several is seen.
    pub fn warn(&mut self, text: impl Into<String>) {
        self.history.warn(text.into());
    }

    fn draw(&mut self) -> io::Result<()> {
        let size @ (width, height) = self.screen.size();
        let (width, rows) = (usize::from(width), LINES.min(height).max(1));
        let mut lines = view::draw(&self.history, width);
        // The last row is the cursor's.
        lines.resize_with(usize::from(rows) - 1, Default::default);

        let mut output = String::from("\x1b[?7l\r");
        if self.drawn_rows > 1 {
            let _ = write!(output, "\x1b[{}A", self.drawn_rows - 1);
        }
        if self.drawn_on != size {
            output.push_str("\x1b[J");
        }
        for line in &lines {
            output.push_str("\x1b[2K");
            line.write(width, self.has_colours, &mut output);
            output.push_str("\r\n");
        }
        output.push_str("\x1b[2K\x1b[?7h");
        self.drawn_rows = rows;
        self.drawn_on = size;
        self.screen.write_all(output.as_bytes())?;
        self.screen.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::results::{BrokerUsage, Counts, Percentiles, Usage};

    /// A terminal that understands what a dashboard says, and nothing else.
    struct TestScreen {
        rows: Vec<Vec<char>>,
        width: usize,
        cursor: (usize, usize),
        wraps: bool,
    }

    impl TestScreen {
        fn new(width: usize, height: usize) -> Self {
            TestScreen { rows: vec![vec![' '; width]; height], width, cursor: (0, 0), wraps: true }
        }

        fn resize(&mut self, width: usize, height: usize) {
            self.rows.iter_mut().for_each(|row| row.resize(width, ' '));
            while self.rows.len() > height {
                self.rows.remove(0);
                self.cursor.1 = self.cursor.1.saturating_sub(1);
            }
            self.rows.resize(height, vec![' '; width]);
            self.width = width;
        }

        fn next_row(&mut self) {
            self.cursor.1 += 1;
            if self.cursor.1 == self.rows.len() {
                self.rows.remove(0);
                self.rows.push(vec![' '; self.width]);
                self.cursor.1 -= 1;
            }
        }

        fn put(&mut self, char: char) {
            assert!(!char.is_control(), "{char:?} is no text");
            if self.cursor.0 >= self.width {
                assert!(!self.wraps, "a line is wider than the terminal");
                self.cursor.0 = self.width - 1;
            }
            self.rows[self.cursor.1][self.cursor.0] = char;
            self.cursor.0 += 1;
        }

        fn obey(&mut self, command: char, words: &str) {
            let (column, row) = self.cursor;
            match (command, words) {
                ('A', rows) => self.cursor.1 = row.saturating_sub(rows.parse().unwrap()),
                ('J', "") => {
                    self.rows[row][column..].fill(' ');
                    self.rows[row + 1..].iter_mut().for_each(|row| row.fill(' '));
                }
                ('K', "2") => self.rows[row].fill(' '),
                ('l', "?7") => self.wraps = false,
                ('h', "?7") => self.wraps = true,
                ('m', _) => {}
                _ => panic!("ESC [ {words} {command} is not known"),
            }
        }
    }

    impl Write for TestScreen {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let mut chars = std::str::from_utf8(bytes).unwrap().chars();
            while let Some(char) = chars.next() {
                match char {
                    '\r' => self.cursor.0 = 0,
                    '\n' => self.next_row(),
                    '\x1b' => {
                        assert_eq!(chars.next(), Some('['));
                        let mut words = String::new();
                        let command = chars.find(|char| {
                            let is_last = char.is_ascii_alphabetic();
                            words.extend((!is_last).then_some(*char));
                            is_last
                        });
                        self.obey(command.unwrap(), &words);
                    }
                    char => self.put(char),
                }
            }
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Screen for TestScreen {
        fn size(&self) -> (u16, u16) {
            (self.width as u16, self.rows.len() as u16)
        }
    }

    fn open(width: usize, height: usize, outline: Outline) -> Dashboard<TestScreen> {
        Dashboard::on(TestScreen::new(width, height), true, outline).unwrap()
    }

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
    fn check(width: usize, height: usize, expected: &str) {
        let mut dashboard = open(width, height, outline());
        dashboard.warn("--heartbeat is ignored");
        (33..=40).for_each(|second| dashboard.show(&sample(second), overall()).unwrap());
        assert_eq!(shown(&dashboard), expected.trim_start_matches('\n'));
    }

    fn shown(dashboard: &Dashboard<TestScreen>) -> String {
        let line = |row: &Vec<char>| row.iter().collect::<String>().trim_end().to_owned();
        dashboard.screen.rows.iter().map(line).collect::<Vec<_>>().join("\n")
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
            let mut dashboard = open(width, height, outline());
            dashboard.show(&sample(40), overall()).unwrap();
        }
    }

    #[test]
    fn resized_terminal_is_drawn_anew() {
        let mut dashboard = open(80, 24, outline());
        dashboard.show(&sample(40), overall()).unwrap();
        for (width, height) in [(40, 24), (120, 10), (5, 3), (80, 24)] {
            dashboard.screen.resize(width, height);
            dashboard.show(&sample(41), overall()).unwrap();
        }
        assert!(shown(&dashboard).contains("peak · peak 0:11 of 1:30"), "{}", shown(&dashboard));
    }

    #[test]
    fn cursor_waits_on_an_empty_line_below() {
        let mut dashboard = open(80, 24, outline());
        dashboard.show(&sample(40), overall()).unwrap();
        assert_eq!(dashboard.screen.cursor, (0, 11));
        assert!(dashboard.screen.rows[11].iter().all(|char| *char == ' '), "the line is empty");
        assert!(dashboard.screen.wraps, "what is written there is wrapped again");
    }

    #[test]
    fn names_cannot_send_the_terminal_commands() {
        let name = "\u{1b}]0;taken\u{7}\u{1b}[2J\n".to_owned();
        let mut dashboard = open(80, 12, Outline { name, ..outline() });
        dashboard.warn("\u{1b}[2J");
        dashboard.show(&sample(40), overall()).unwrap();
        assert!(!shown(&dashboard).replace('\n', "").contains(char::is_control), "{:?}", shown(&dashboard));
    }
}
