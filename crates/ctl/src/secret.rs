//! A password that is typed is not shown.

use std::io::{self, BufRead as _, IsTerminal as _, Read as _, Write as _};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

/// A password longer than this is none.
const SECRET_LEN_MAX: u64 = 64 << 10;

/// The first line of what comes in. At a terminal it is asked for.
pub(crate) fn read() -> io::Result<Vec<u8>> {
    let stdin = io::stdin();
    let silence = if stdin.is_terminal() { Silence::begin().ok() } else { None };
    let mut line = Vec::new();
    stdin.lock().take(SECRET_LEN_MAX).read_until(b'\n', &mut line)?;
    drop(silence);
    Ok(line)
}

/// A terminal that does not show what is typed, until this is dropped.
struct Silence(Termios);

impl Silence {
    fn begin() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut silent = before.clone();
        silent.local_modes -= LocalModes::ECHO;
        tcsetattr(io::stdin(), OptionalActions::Now, &silent)?;
        let _ = write!(io::stderr(), "Password: ");
        Ok(Silence(before))
    }
}

impl Drop for Silence {
    fn drop(&mut self) {
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.0);
        // The end of the line was not shown either.
        let _ = writeln!(io::stderr());
    }
}
