//! An event's fields in the log's text: what peers and users chose can end no line, steer no terminal, and pass for no other field.
//!
//! ```text
//! connection was opened peer=127.0.0.1:5672 user="a b" vhost=/ text="what it says\n, as \"written\""
//! ```
//!
//! A value stands bare where it is one plain word, and quoted as Rust quotes texts otherwise.

use std::fmt::{self, Debug};

use tracing::field::{Field, Visit};
use tracing_subscriber::field::RecordFields;
use tracing_subscriber::fmt::FormatFields;
use tracing_subscriber::fmt::format::Writer;

/// The field that is the event's text.
const MESSAGE: &str = "message";

/// Writes fields as `name=value`, behind the event's text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EscapedFields;

impl<'writer> FormatFields<'writer> for EscapedFields {
    fn format_fields<R: RecordFields>(&self, writer: Writer<'writer>, fields: R) -> fmt::Result {
        let mut line = Line { writer, is_empty: true, result: Ok(()) };
        fields.record(&mut line);
        line.result
    }
}

struct Line<'writer> {
    writer: Writer<'writer>,
    is_empty: bool,
    result: fmt::Result,
}

impl Line<'_> {
    fn write(&mut self, field: &Field, value: &str) -> fmt::Result {
        if !std::mem::take(&mut self.is_empty) {
            self.writer.write_char(' ')?;
        }
        if field.name() == MESSAGE {
            return value.chars().try_for_each(|char| match is_printable(char) {
                true => self.writer.write_char(char),
                false => write!(self.writer, "{}", char.escape_default()),
            });
        }
        let name = field.name().strip_prefix("r#").unwrap_or(field.name());
        match self.writer.has_ansi_escapes() {
            true => write!(self.writer, "\x1b[3m{name}\x1b[0m\x1b[2m=\x1b[0m")?,
            false => write!(self.writer, "{name}=")?,
        }
        match is_word(value) {
            true => self.writer.write_str(value),
            false => write!(self.writer, "{value:?}"),
        }
    }
}

impl Visit for Line<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.record_str(field, &format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        if self.result.is_ok() {
            self.result = self.write(field, value);
        }
    }
}

/// Whether it needs no quotes to be distinguished from what stands around it.
fn is_word(value: &str) -> bool {
    !value.is_empty() && value.chars().all(|char| is_printable(char) && !matches!(char, ' ' | '"' | '=' | '\\'))
}

/// Whether it is shown as it is: neither a control character nor one that breaks lines, hides, or turns the direction of what follows.
pub(crate) fn is_printable(char: char) -> bool {
    matches!(char, ' ' | '"' | '\'' | '\\') || char.escape_debug().len() == 1
}

#[cfg(test)]
mod tests {
    use std::io;

    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;
    use crate::captured_log::CapturedLog;

    /// What the log says of an event, as it is written to a file or, in colour, to a terminal.
    fn logged(ansi: bool, emit: impl FnOnce()) -> String {
        let log = CapturedLog::default();
        let writer = log.clone();
        let lines = crate::logging::lines(move || writer.clone(), ansi).without_time().with_level(false);
        let subscriber = tracing_subscriber::registry().with(lines.with_target(false));
        tracing::subscriber::with_default(subscriber, emit);
        log.text()
    }

    #[test]
    fn fields_are_told_apart() {
        let text = logged(false, || {
            let error = io::Error::other("no room");
            tracing::warn!(peer = ?Some(1), user = "guest", vhost = %"/", %error, count = 3, is_on = true, "it happened");
        });
        assert_eq!(text, "it happened peer=Some(1) user=guest vhost=/ error=\"no room\" count=3 is_on=true\n");
    }

    #[test]
    fn no_name_forges_a_line_or_a_field_or_steers_a_terminal() {
        let hostile = [
            "x\n2026-01-01T00:00:00Z ERROR forged",
            "x\r\n",
            "\u{1b}]0;owned\u{7}\u{1b}[2J",
            "\u{9b}31m",
            "\u{85}\u{2028}\u{2029}",
            "\u{202e}desrever",
            "\0\u{7f}\u{8}",
            "guest vhost=/ text=\"fine\"",
            "guest\" code=\"200",
            "back\\slash",
            "",
        ];
        for name in hostile {
            for ansi in [false, true] {
                let text = logged(ansi, || {
                    tracing::warn!(user = name, vhost = %name, queue = ?name, "it happened");
                    tracing::warn!("of {name}");
                });
                let own = text.replace("\u{1b}[3m", "").replace("\u{1b}[2m", "").replace("\u{1b}[0m", "");
                let lines: Vec<&str> = own.split('\n').collect();
                assert_eq!((lines.len(), lines[2]), (3, ""), "{own:?}");
                assert!(lines.concat().chars().all(is_printable), "{own:?}");
                assert!(lines[0].starts_with(&format!("it happened user={name:?} vhost={name:?} queue=")), "{own:?}");
            }
        }
        assert_eq!(logged(false, || tracing::warn!("of {}", "a\n\"b\" \u{1b}[m")), "of a\\n\"b\" \\u{1b}[m\n");
    }
}
