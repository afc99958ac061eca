//! A terminal: keys, and lines that replace each other.

use std::io::{self, Write as _};

use crossterm::cursor::{Hide, MoveTo, Show};
use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use crossterm::style::Print;
use crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode, size,
};
use crossterm::{execute, queue};
use tokio::sync::mpsc;

/// A key that means something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    Char(char),
    Up,
    Down,
    Enter,
    Escape,
    Backspace,
    Tab,
    /// Ctrl-C, or the terminal was closed.
    Quit,
    /// The terminal has another size.
    Resize,
}

impl Key {
    fn of(event: &Event) -> Option<Key> {
        let Event::Key(KeyEvent { code, modifiers, kind: KeyEventKind::Press | KeyEventKind::Repeat, .. }) = event
        else {
            return matches!(event, Event::Resize(..)).then_some(Key::Resize);
        };
        Some(match code {
            KeyCode::Char('c' | 'd') if modifiers.contains(KeyModifiers::CONTROL) => Key::Quit,
            // Escape with a key right behind it looks like this.
            KeyCode::Char(_) if modifiers.contains(KeyModifiers::ALT) => Key::Escape,
            KeyCode::Char(char) => Key::Char(*char),
            KeyCode::Up => Key::Up,
            KeyCode::Down => Key::Down,
            KeyCode::Enter => Key::Enter,
            KeyCode::Esc => Key::Escape,
            KeyCode::Backspace => Key::Backspace,
            KeyCode::Tab => Key::Tab,
            _ => return None,
        })
    }
}

/// The terminal, as long as it shows tables. It is as it was when this is dropped.
#[derive(Debug)]
pub(super) struct Screen {
    keys: mpsc::Receiver<Key>,
}

/// Keys that wait: a user who presses more has to wait.
const KEY_COUNT: usize = 16;

impl Screen {
    pub(super) fn open() -> io::Result<Screen> {
        enable_raw_mode()?;
        let (sender, keys) = mpsc::channel(KEY_COUNT);
        let screen = Screen { keys };
        execute!(io::stdout(), EnterAlternateScreen, Hide)?;
        // It waits for keys until the process ends.
        std::thread::Builder::new().name("keys".to_owned()).spawn(move || {
            while let Ok(event) = event::read() {
                if let Some(key) = Key::of(&event)
                    && sender.blocking_send(key).is_err()
                {
                    return;
                }
            }
        })?;
        Ok(screen)
    }

    /// The next key; none if there will be none.
    pub(super) async fn key(&mut self) -> Option<Key> {
        self.keys.recv().await
    }

    /// Columns and lines.
    pub(super) fn size(&self) -> (usize, usize) {
        size().map_or((80, 24), |(width, height)| (width.into(), height.into()))
    }

    /// Shows these lines, and nothing else. Lines are overwritten, not cleared first, so that nothing flickers.
    pub(super) fn show(&self, lines: &[String]) -> io::Result<()> {
        let mut out = io::stdout().lock();
        for (number, line) in (0..).zip(lines) {
            queue!(out, MoveTo(0, number), Print(human::printable(line)), Clear(ClearType::UntilNewLine))?;
        }
        out.flush()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = execute!(io::stdout(), Show, LeaveAlternateScreen);
        let _ = disable_raw_mode();
    }
}
