//! The log as JSON: what peers and users chose steers no terminal that shows it.
//!
//! JSON has to escape the first 32 characters only. All others that the log's text escapes ([`log_fields`](crate::log_fields)) are escaped
//! here, when the event has been written: outside of strings there are none.

use std::fmt::Write as _;
use std::io;

use crate::log_fields::is_printable;

/// Writes events on.
pub(crate) struct EscapingWriter<W>(pub(crate) W);

impl<W: io::Write> io::Write for EscapingWriter<W> {
    /// An event is written at once, so that no character is cut in two.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match std::str::from_utf8(bytes) {
            Ok(text) if bytes.iter().any(|byte| *byte >= 0x7f) => self.0.write_all(escape(text).as_bytes())?,
            _ => self.0.write_all(bytes)?,
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// The same JSON, with what is not to be seen as it is escaped.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for char in text.chars() {
        if char == '\n' || is_printable(char) {
            escaped.push(char);
            continue;
        }
        for unit in char.encode_utf16(&mut [0; 2]) {
            let _ = write!(escaped, "\\u{unit:04x}"); // a text can always be written to
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;
    use crate::captured_log::CapturedLog;

    fn logged(emit: impl FnOnce()) -> String {
        let log = CapturedLog::default();
        let writer = log.clone();
        let subscriber = tracing_subscriber::registry().with(crate::logging::objects(move || writer.clone()));
        tracing::subscriber::with_default(subscriber, emit);
        log.text()
    }

    #[test]
    fn no_name_forges_a_line_or_steers_a_terminal() {
        let hostile = [
            "x\n2026-01-01T00:00:00Z ERROR forged",
            "\u{1b}]0;owned\u{7}\u{1b}[2J",
            "\u{9b}31m\u{80}\u{9f}",
            "\u{85}\u{2028}\u{2029}",
            "\u{202e}desrever",
            "\0\u{7f}\u{8}",
            "\u{e0001} beyond 16 bits",
            "\"}\n{\"level\":\"ERROR\"",
            "Grüße, 日本, 🐇",
        ];
        for name in hostile {
            let text = logged(|| tracing::warn!(user = name, vhost = %name, "of {name}"));
            let (line, rest) = text.split_once('\n').unwrap();
            assert_eq!(rest, "");
            assert!(line.chars().all(is_printable), "{line:?}");
            let event: serde_json::Value = serde_json::from_str(line).unwrap();
            assert_eq!(
                [&event["user"], &event["vhost"], &event["message"]],
                [name, name, &format!("of {name}")],
                "{line}"
            );
        }
        let text = logged(|| tracing::warn!(user = "a\u{85}b\u{9b}c\u{7f}ü"));
        assert!(text.contains(r#""user":"a\u0085b\u009bc\u007fü""#), "{text}");
    }
}
