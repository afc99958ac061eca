//! Somewhere to write to, which may stop working.

use std::io::Write;

/// Writes until it fails once.
pub(super) struct Outlet<W> {
    writer: W,
    /// What it is, for the warning; `None`: there is none.
    name: Option<String>,
    has_failed: bool,
    warning: Option<String>,
}

impl<W: Write> Outlet<W> {
    pub(super) fn new(writer: W, name: Option<String>) -> Self {
        Outlet { writer, name, has_failed: false, warning: None }
    }

    pub(super) fn write(&mut self, text: &str) {
        if self.has_failed {
            return;
        }
        if let Err(error) = self.writer.write_all(text.as_bytes()).and_then(|()| self.writer.flush()) {
            self.has_failed = true;
            self.warning = self.name.as_ref().map(|name| format!("writing {name} failed: {error}"));
        }
    }

    pub(super) fn take_warning(&mut self) -> Option<String> {
        self.warning.take()
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    struct Broken(u32);

    impl Write for Broken {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += 1;
            if self.0 > 1 { Err(io::Error::other("disk full")) } else { Ok(bytes.len()) }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_failure_is_said_once_and_ends_the_writing() {
        let mut outlet = Outlet::new(Broken(0), Some("out.csv".to_owned()));
        for _ in 0..4 {
            outlet.write("line\n");
        }
        assert_eq!(outlet.take_warning().as_deref(), Some("writing out.csv failed: disk full"));
        assert_eq!(outlet.take_warning(), None);
        assert_eq!(outlet.writer.0, 2);
    }
}
