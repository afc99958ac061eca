//! Does what commands say is to be done: the only part that does I/O.

use std::io::{self, IsTerminal as _, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use http_client::header::{HeaderName, HeaderValue};
use http_client::{Client, DEFINITIONS_LEN_MAX, HttpError, HttpUrl, Method, Request};
use net::DialOptions;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};

use crate::failure::{CANNOT_CREATE, CONFIG, DATA, Failure, TEMPORARY, UNAVAILABLE};
use crate::invocation::Invocation;
use crate::output::Output;
use crate::reply::{Reply, is_telling};
use crate::secret;
use crate::step::{Ask, Directories, Ended, Process, ProcessName, SettingsFile, Source, Step, StepResult};
use crate::target::{self, Surroundings, Target};

/// What comes in is read up to here: definitions, as a server's answer may be.
const INPUT_LEN_MAX: u64 = DEFINITIONS_LEN_MAX as u64;

/// How long a server may be silent that has not said a word yet, where a command may take all the time there is.
const GREETING_TIMEOUT: Duration = Duration::from_secs(60);

/// How long what such a command only reads may take to begin, and to come as a whole.
const READING_TIMEOUT: Duration = Duration::from_secs(900);

/// How long a connection for a check may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a process may take to end: longer than a broker waits for its clients, unless it is configured to wait longer.
const END_TIMEOUT: Duration = Duration::from_secs(90);

/// Takes from rabbitmqadmin's file of settings what a command has to know before it begins.
pub(crate) fn complete_from_file(input: &mut Invocation) -> Result<(), Failure> {
    with_surroundings(|around| target::complete(input, around))
}

/// What is around the program in truth.
fn with_surroundings<T>(use_them: impl FnOnce(&Surroundings<'_>) -> T) -> T {
    use_them(&Surroundings {
        variable: &|name| std::env::var(name).ok(),
        read: &|path| match std::fs::read_to_string(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            result => result.map(Some),
        },
        is_there: &Path::exists,
    })
}

/// Takes all steps, the first included.
pub(crate) async fn run(input: &Invocation, started: StepResult, directories: &Directories) -> Result<Output, Failure> {
    let mut server = Server { input, client: None, is_patient: false, has_answered: false, is_api: false };
    let mut step = started?;
    loop {
        step = match step {
            Step::Done(output) => return Ok(output),
            Step::Ask(ask, next) => next(server.ask(&ask).await?)?,
            Step::Try { ask, timeout, next } => {
                let began = Instant::now();
                let answer = server.try_to_ask(&ask, timeout).await;
                next(answer, began.elapsed())?
            }
            Step::Read(source, next) => next(read(&source)?)?,
            Step::Pause(pause, next) => {
                tokio::time::sleep(pause).await;
                next(())?
            }
            Step::Connect(ports, next) => next(server.connect(&ports).await?)?,
            Step::Look(name, next) => next(look(&name)?)?,
            Step::End(name, next) => next(server.end(name).await?)?,
            Step::Directory { order, dir, next } => next(directories(order, &dir))?,
            Step::Locate(next) => next(format!("{}/api", server.client()?.url().to_string().trim_end_matches('/')))?,
            Step::ReadSettings(next) => next(read_settings(input)?)?,
        };
    }
}

/// The server that is asked. Only what asks needs to know which one.
struct Server<'a> {
    input: &'a Invocation,
    client: Option<Client>,
    /// Whether the user has not said how long an answer may take, and the command may take long.
    is_patient: bool,
    has_answered: bool,
    /// Whether something has been answered by which it is known that this is a management API.
    is_api: bool,
}

impl Server<'_> {
    fn client(&mut self) -> Result<&mut Client, Failure> {
        if self.client.is_none() {
            let target = with_surroundings(|around| Target::of(self.input, around))?;
            if self.input.has_shared("verbose") {
                eprintln!("Asking {}", target.url);
                if self.input.grammar == crate::command::Grammar::Ctl && self.input.has_shared("node") {
                    eprintln!("--node is ignored: the URL selects the node");
                }
            }
            let mut client = Client::new(target.url, target.timeout);
            if self.input.command.is_long {
                client.set_answer_len_max(DEFINITIONS_LEN_MAX);
            }
            self.is_patient = self.input.command.is_long && !self.input.has_shared("timeout");
            self.client = Some(client);
        }
        self.client.as_mut().ok_or_else(|| Failure::unavailable("no server to connect to"))
    }

    async fn ask(&mut self, ask: &Ask) -> Result<Reply, Failure> {
        let is_verbose = self.input.has_shared("verbose");
        let request = request(ask)?;
        self.be_greeted().await?;
        let is_patient = self.is_patient;
        let client = self.client()?;
        if is_verbose {
            eprintln!("{} /api/{}", ask.method, ask.path);
        }
        let limit = if is_patient && ask.method == Method::GET { READING_TIMEOUT } else { client.timeout() };
        let timeout = client.timeout();
        client.set_timeout(limit.min(timeout));
        let result = match &ask.user {
            None => client.ask(&request).await,
            // Another user is not to be asked for over the connection of the first.
            Some((user, password)) => {
                Client::new(client.url().clone().with_user(user, password), client.timeout()).ask(&request).await
            }
        };
        client.set_timeout(timeout);
        let answer = result.map_err(|error| unanswered(client.url(), &error))?;
        if is_verbose {
            eprintln!("{}", answer.status);
        }
        let reply = Reply { status: answer.status.as_u16(), body: answer.body.into() };
        self.check_place(&reply).await?;
        Ok(reply)
    }

    /// Before anything is asked that may take all the time there is, something that does not: a server that never says a word is found out.
    async fn be_greeted(&mut self) -> Result<(), Failure> {
        let client = self.client()?;
        let timeout = client.timeout();
        client.set_timeout(timeout.min(GREETING_TIMEOUT));
        let asked = match self.is_patient && !self.has_answered {
            true => {
                let whoami = request(&Ask::get("whoami".to_owned()))?;
                let client = self.client()?;
                client.ask(&whoami).await.map(drop).map_err(|error| unanswered(client.url(), &error))
            }
            false => Ok(()),
        };
        self.has_answered = true;
        self.client()?.set_timeout(timeout);
        asked
    }

    /// A path that is not the API's is answered like an object that does not exist. What every API has distinguishes the two.
    async fn check_place(&mut self, reply: &Reply) -> Result<(), Failure> {
        if self.is_api || reply.status != 404 || reply.reason().is_some_and(|reason| is_telling(&reason)) {
            self.is_api = true;
            return Ok(());
        }
        let client = self.client()?;
        let whoami = request(&Ask::get("whoami".to_owned()))?;
        let answer = client.ask(&whoami).await.map_err(|error| unanswered(client.url(), &error))?;
        if answer.status.as_u16() == 404 {
            return Err(Failure::unavailable(format!(
                "no management API at {}{}: check the path",
                client.url(),
                client.url().path().trim_end_matches('/')
            )));
        }
        self.is_api = true;
        Ok(())
    }

    async fn try_to_ask(&mut self, ask: &Ask, timeout: Duration) -> Result<Reply, Failure> {
        let client = self.client()?;
        client.set_timeout(timeout);
        self.ask(ask).await
    }

    /// Has a process end in order, and waits for that.
    async fn end(&mut self, name: Option<ProcessName>) -> Result<Ended, Failure> {
        let id = match name {
            Some(name) => match look(&name)? {
                Process::Running(id) => id,
                Process::Unknown | Process::Gone(_) => return Ok(Ended::NotThere),
            },
            None => self.process_at_socket().await?,
        };
        let known = i32::try_from(id).ok().and_then(Pid::from_raw).ok_or_else(|| no_process(id))?;
        match kill_process(known, Signal::TERM) {
            Err(Errno::SRCH) => return Ok(Ended::NotThere),
            result => result.map_err(|error| Failure::unavailable(format!("cannot end process {id}: {error}")))?,
        }
        let deadline = Instant::now() + END_TIMEOUT;
        while is_running(known) {
            if Instant::now() > deadline {
                return Ok(Ended::StillThere(id));
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(Ended::InOrder(id))
    }

    /// The process that listens on the server's socket, as the kernel knows it.
    async fn process_at_socket(&mut self) -> Result<u32, Failure> {
        let url = self.client()?.url();
        let path = url.socket().ok_or_else(|| {
            Failure::unavailable(
                "no broker found on this machine: name its data directory with --data-dir, or give stop a file with its process id",
            )
        })?;
        let unreachable = |error| Failure::unavailable(format!("cannot connect to {}: {error}", path.display()));
        let stream = tokio::net::UnixStream::connect(path).await.map_err(unreachable)?;
        let id = stream.peer_cred().map_err(unreachable)?.pid().and_then(|id| u32::try_from(id).ok());
        // A process of another namespace has no number here.
        id.filter(|id| *id > 0).ok_or_else(|| Failure::unavailable("the kernel does not report the process id"))
    }

    async fn connect(&mut self, ports: &[u16]) -> Result<Vec<(u16, String)>, Failure> {
        let url = self.client()?.url();
        let host = url.host().unwrap_or("127.0.0.1").to_owned();
        let options = DialOptions { timeout: CONNECT_TIMEOUT, ..DialOptions::default() };
        let mut failed = Vec::new();
        for port in ports {
            if let Err(error) = net::dial(&host, *port, None, &options).await {
                failed.push((*port, error.to_string()));
            }
        }
        Ok(failed)
    }
}

fn request(ask: &Ask) -> Result<Request, Failure> {
    let mut request = Request::new(ask.method.clone()).below(format!("api/{}", ask.path));
    if let Some(body) = &ask.body {
        request = request.with_json(body.clone());
    }
    if let Some(reason) = &ask.reason {
        let value = HeaderValue::from_str(reason)
            .map_err(|_| Failure::new(DATA, format!("a reason must be one line of plain text, not '{reason}'")))?;
        request = request.with_header(HeaderName::from_static("x-reason"), value);
    }
    Ok(request)
}

fn unanswered(url: &HttpUrl, error: &HttpError) -> Failure {
    match error {
        HttpError::TimedOut(_) => Failure::new(TEMPORARY, format!("the management API at {url} returned {error}")),
        HttpError::Unreachable(_) => Failure::new(
            UNAVAILABLE,
            format!(
                "cannot reach the management API at {url}: {error}; is the broker running, and does it listen there?"
            ),
        ),
        error => Failure::new(UNAVAILABLE, format!("the management API at {url} did not answer: {error}")),
    }
}

fn read(source: &Source) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let (result, name) = match source {
        Source::Stdin => {
            (io::stdin().lock().take(INPUT_LEN_MAX + 1).read_to_end(&mut bytes), "standard input".to_owned())
        }
        Source::Secret => {
            return secret::read().map_err(|error| Failure::data(format!("cannot read a password: {error}")));
        }
        Source::File(path) => {
            let result = std::fs::File::open(path).and_then(|file| {
                // Room for all of it, and no more: a file may be a quarter of the memory there is.
                let len = file.metadata().map_or(0, |metadata| metadata.len()).min(INPUT_LEN_MAX);
                bytes.reserve_exact(usize::try_from(len).unwrap_or_default() + 1);
                file.take(INPUT_LEN_MAX + 1).read_to_end(&mut bytes)
            });
            (result, path.display().to_string())
        }
    };
    result.map_err(|error| Failure::data(format!("cannot read {name}: {error}")))?;
    if bytes.len() as u64 > INPUT_LEN_MAX {
        return Err(Failure::data(format!("{name} is longer than {} MiB", INPUT_LEN_MAX >> 20)));
    }
    Ok(bytes)
}

/// Whether a process is there. A file that says nothing yet is being written.
fn look(name: &ProcessName) -> Result<Process, Failure> {
    let id = match name {
        ProcessName::Id(id) => *id,
        ProcessName::File(path) => {
            let text = match std::fs::read_to_string(path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Process::Unknown),
                result => result.map_err(|error| Failure::data(format!("cannot read {}: {error}", path.display())))?,
            };
            match text.trim() {
                "" => return Ok(Process::Unknown),
                id => id
                    .parse()
                    .map_err(|_| Failure::data(format!("{} has no process id, but '{id}'", path.display())))?,
            }
        }
    };
    let known = i32::try_from(id).ok().and_then(Pid::from_raw);
    Ok(if known.is_some_and(is_running) { Process::Running(id) } else { Process::Gone(id) })
}

/// A process of another user is there, too.
fn is_running(pid: Pid) -> bool {
    !matches!(test_kill_process(pid), Err(Errno::SRCH))
}

fn no_process(id: u32) -> Failure {
    Failure::data(format!("no process has the id {id}"))
}

fn read_settings(input: &Invocation) -> Result<SettingsFile, Failure> {
    let (path, _) = target::settings_path(input, &|name| std::env::var(name).ok())
        .ok_or_else(|| Failure::usage("the environment variable HOME is not set: name the file with --config"))?;
    match std::fs::read_to_string(&path) {
        Ok(text) => Ok(SettingsFile { path, text: Some(text) }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(SettingsFile { path, text: None }),
        Err(error) => Err(Failure::new(CONFIG, format!("cannot read {}: {error}", path.display()))),
    }
}

/// Writes what a command has to a file, if it is to go there.
pub(crate) fn keep(output: &Output) -> Result<(), Failure> {
    let (path, bytes, mode) = match output {
        Output::File { path, bytes, .. } => (path, bytes.as_slice(), 0o666),
        // Passwords are in it.
        Output::Settings { path, settings, .. } => (path, settings.as_bytes(), 0o600),
        _ => return Ok(()),
    };
    let mut options = std::fs::OpenOptions::new();
    let file = options.write(true).create(true).truncate(true).mode(mode).open(path);
    file.and_then(|mut file| file.write_all(bytes))
        .map_err(|error| Failure::new(CANNOT_CREATE, format!("cannot write {}: {error}", path.display())))
}

/// Writes to standard output. A reader that has closed it has seen enough.
pub(crate) fn print(bytes: &[u8]) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::new(CANNOT_CREATE, format!("cannot write the answer: {error}")))
        }
        _ => Ok(()),
    }
}

pub(crate) fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

#[cfg(test)]
mod tests {
    use http_client::testing::TlsServer;
    use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufStream};

    use super::*;
    use crate::words;

    async fn ask(line: &[&str]) -> Result<Output, Failure> {
        let line: Vec<String> = line.iter().map(|word| (*word).to_owned()).collect();
        let said = words::parse(&line).unwrap();
        run(&said.input, (said.input.command.start)(&said.input), &|_, _| Ok(String::new())).await
    }

    #[tokio::test]
    async fn https_is_trusted_by_its_authority_or_not_at_all() {
        let server = TlsServer::start("ctl").await;
        let url = format!("https://localhost:{}", server.port);
        let ca = server.ca.to_str().unwrap();
        for trust in [&["--ssl-ca-cert-file", ca][..], &["-k"]] {
            let line = [&["ping", "--url", &url][..], trust].concat();
            assert_eq!(ask(&line).await, Ok(Output::Text("Ping succeeded".to_owned())));
        }
        let failure = ask(&["ping", "--url", &url]).await.unwrap_err();
        assert_eq!(failure.status, UNAVAILABLE, "{}", failure.text);
    }

    /// A server that answers each request with the status for its path, for as long as it is asked.
    async fn serving(status_of: fn(&str) -> &'static str) -> u16 {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let mut stream = BufStream::new(stream);
                let mut head = String::new();
                while stream.read_line(&mut head).await.is_ok_and(|len| len > 2) {}
                let path = head.split(' ').nth(1).unwrap_or_default();
                let body = r#"{"error":"Object Not Found","reason":"Not Found"}"#;
                let answer = format!(
                    "HTTP/1.1 {}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                    status_of(path),
                    body.len()
                );
                let _ = stream.write_all(answer.as_bytes()).await;
                let _ = stream.flush().await;
            }
        });
        port
    }

    #[tokio::test]
    async fn a_path_that_is_not_the_apis_is_told() {
        let port = serving(|_| "404 Not Found").await;
        let url = format!("http://127.0.0.1:{port}/foo");
        let failure = ask(&["list_queues", "--url", &url]).await.unwrap_err();
        let text = format!("no management API at 127.0.0.1:{port}/foo: check the path");
        assert_eq!((failure.status, failure.text), (UNAVAILABLE, text));
    }

    #[tokio::test]
    async fn what_is_not_there_at_an_api_is_what_was_asked_for() {
        let port = serving(|path| if path == "/api/whoami" { "200 OK" } else { "404 Not Found" }).await;
        let failure = ask(&["list_queues", "-p", "v", "--url", &format!("http://127.0.0.1:{port}")]).await.unwrap_err();
        assert_eq!((failure.status, &*failure.text), (DATA, "virtual host 'v' does not exist"));
    }

    /// Whatever time a command may take: it was for ever.
    #[tokio::test(start_paused = true)]
    async fn a_server_that_never_says_a_word_is_not_waited_for() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        for line in [&["check", &url][..], &["--url", &url, "export_definitions", "-"], &["--url", &url, "list_queues"]]
        {
            let failure = ask(line).await.unwrap_err();
            assert_eq!(failure.status, TEMPORARY, "{line:?}: {}", failure.text);
            assert!(failure.text.ends_with("no answer within 60 s"), "{}", failure.text);
        }
    }

    #[tokio::test]
    async fn ports_that_nobody_listens_on_are_told() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let open = listener.local_addr().unwrap().port();
        let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let line = ["ping", "--host", "127.0.0.1"].map(str::to_owned);
        let said = words::parse(&line).unwrap();
        let connect = Step::Connect(
            vec![open, closed],
            Box::new(move |failed| {
                assert_eq!(failed.iter().map(|(port, _)| *port).collect::<Vec<_>>(), [closed]);
                crate::step::done()
            }),
        );
        assert_eq!(run(&said.input, Ok(connect), &|_, _| Ok(String::new())).await, Ok(Output::Nothing));
    }
}
