//! The program as a process: starting it, what it says, a broker that ends with its test.

use std::fs;
use std::io::{BufRead, BufReader};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// The program, without anything of our own environment.
pub(crate) fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warren"));
    command.args(arguments).env_clear();
    command
}

pub(crate) fn warren(arguments: &[&str]) -> Output {
    program(arguments).output().unwrap()
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[track_caller]
pub(crate) fn check_fails(arguments: &[&str], status: i32, says: &str) {
    check_output(&warren(arguments), status, says);
}

#[track_caller]
pub(crate) fn check_output(output: &Output, status: i32, says: &str) {
    let text = text(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{text}");
    assert!(text.contains(says), "{text}");
}

/// An empty directory of this test's own, which is left for a look into what failed.
pub(crate) struct Scratch(PathBuf);

pub(crate) fn scratch(test: &str) -> Scratch {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(&dir).unwrap();
    Scratch(dir)
}

impl Deref for Scratch {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = fs::remove_dir_all(&self.0);
        }
    }
}

pub(crate) fn write(dir: &Path, name: &str, text: &str) -> String {
    let path = dir.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

/// How long an event may take, on the busiest of machines.
const EVENT_TIME_MAX: Duration = Duration::from_secs(120);

/// A broker on a port that the system chose, which ends with the test.
pub(crate) struct Broker {
    pub(crate) child: Child,
    /// The lines that it logs, as they come.
    lines: Receiver<String>,
    /// What it has logged, as far as it was read.
    pub(crate) log: String,
    /// How much of it has been waited for.
    heard: usize,
}

impl Broker {
    /// Starts one and waits until it is ready.
    pub(crate) fn start(data_dir: &Path, arguments: &[&str]) -> Self {
        Self::start_with(data_dir, arguments, Stdio::null())
    }

    pub(crate) fn start_with(data_dir: &Path, arguments: &[&str], stdout: impl Into<Stdio>) -> Self {
        Self::start_as(data_dir, arguments, &[], stdout.into())
    }

    /// Starts one in an environment that has these.
    pub(crate) fn start_in(data_dir: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        Self::start_as(data_dir, arguments, environment, Stdio::null())
    }

    fn start_as(data_dir: &Path, arguments: &[&str], environment: &[(&str, &str)], stdout: Stdio) -> Self {
        let data_dir = data_dir.to_str().unwrap();
        let settings =
            ["listeners.tcp.default=127.0.0.1:0", "warren.management.enabled=false", "warren.prometheus.enabled=false"];
        let mut all = vec!["serve", "--data-dir", data_dir];
        settings.iter().for_each(|setting| all.extend(["--set", setting]));
        all.extend(arguments);
        let mut child =
            program(&all).envs(environment.iter().copied()).stdout(stdout).stderr(Stdio::piped()).spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let (sender, lines) = channel();
        // Ends with the broker, or with the test's interest in it.
        std::thread::spawn(move || {
            let mut line = String::new();
            while stderr.read_line(&mut line).is_ok_and(|len| len > 0) && sender.send(std::mem::take(&mut line)).is_ok()
            {
            }
        });
        let mut broker = Broker { child, lines, log: String::new(), heard: 0 };
        broker.wait_for_event("started");
        // Other threads may have logged something before.
        broker.heard = 0;
        broker
    }

    /// Reads the log up to this text, behind what was waited for before.
    #[track_caller]
    pub(crate) fn wait_for_event(&mut self, text: &str) {
        let given_up_at = Instant::now() + EVENT_TIME_MAX;
        loop {
            if let Some(at) = self.log[self.heard..].find(text) {
                self.heard += at + text.len();
                return;
            }
            match self.lines.recv_timeout(given_up_at.saturating_duration_since(Instant::now())) {
                Ok(line) => self.log.push_str(&line),
                Err(RecvTimeoutError::Timeout) => panic!("no '{text}' within {EVENT_TIME_MAX:?}: {}", self.log),
                Err(RecvTimeoutError::Disconnected) => panic!("it ended before '{text}': {}", self.log),
            }
        }
    }

    /// Host and port that it listens on, as it logged them.
    #[track_caller]
    pub(crate) fn address(&self) -> String {
        let at = self.log.find("127.0.0.1:").expect("the log says where it listens");
        self.log[at..].chars().take_while(|char| char.is_ascii_digit() || matches!(char, '.' | ':')).collect()
    }

    pub(crate) fn signal(&self, name: &str) {
        let status = Command::new("sh").args(["-c", &format!("kill -{name} {}", self.child.id())]).status();
        assert!(status.unwrap().success());
    }

    /// Waits until it has ended in good order; all that it logged.
    #[track_caller]
    pub(crate) fn wait(mut self) -> String {
        self.log.extend(self.lines.iter());
        assert_eq!(self.child.wait().unwrap().code(), Some(0), "{}", self.log);
        std::mem::take(&mut self.log)
    }

    /// Tells it to stop; all that it logged.
    #[track_caller]
    pub(crate) fn stop(self) -> String {
        self.signal("TERM");
        self.wait()
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A request as it came: its first line, its headers, its body.
#[derive(Debug)]
pub(crate) struct RecordedRequest {
    pub(crate) line: String,
    pub(crate) headers: String,
    pub(crate) body: String,
}

/// Reads a request; None: there is no other one.
pub(crate) fn read_request(stream: &mut impl BufRead) -> Option<RecordedRequest> {
    let mut line = String::new();
    if stream.read_line(&mut line).unwrap() == 0 {
        return None;
    }
    let mut headers = String::new();
    while !headers.ends_with("\r\n\r\n") && headers != "\r\n" {
        assert!(stream.read_line(&mut headers).unwrap() > 0);
    }
    let len = headers.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap_or("0");
    let mut sent = vec![0; len.parse().unwrap()];
    stream.read_exact(&mut sent).unwrap();
    Some(RecordedRequest { line: line.trim_end().to_owned(), headers, body: String::from_utf8(sent).unwrap() })
}
