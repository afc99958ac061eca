//! Does what commands say is to be done: the only part that talks to anybody.

use std::io::{self, IsTerminal as _, Read as _, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

use http_client::header::{HeaderName, HeaderValue};
use http_client::{Client, HttpError, HttpUrl, Request};
use net::DialOptions;

use crate::failure::{CANNOT_CREATE, DATA, Failure, TEMPORARY, UNAVAILABLE};
use crate::given::Given;
use crate::output::Output;
use crate::reply::Reply;
use crate::secret;
use crate::step::{Ask, Source, Started, Step};
use crate::target::{Surroundings, Target};

/// What comes in is read up to here.
const INPUT_LEN_MAX: u64 = 64 << 20;

/// How long a connection for a check may take.
const CONNECT_PATIENCE: Duration = Duration::from_secs(10);

/// Takes all steps, the first included.
pub(crate) async fn run(given: &Given, started: Started) -> Result<Output, Failure> {
    let mut server = Server { given, client: None };
    let mut step = started?;
    loop {
        step = match step {
            Step::Done(output) => return Ok(output),
            Step::Ask(ask, next) => next(server.ask(&ask).await?)?,
            Step::Try { ask, patience, next } => {
                let began = Instant::now();
                let answer = server.try_to_ask(&ask, patience).await;
                next(answer, began.elapsed())?
            }
            Step::Read(source, next) => next(read(&source)?)?,
            Step::Pause(pause, next) => {
                tokio::time::sleep(pause).await;
                next(())?
            }
            Step::Connect(ports, next) => next(server.connect(&ports).await?)?,
        };
    }
}

/// Who is asked. Only what asks needs to know who that is.
struct Server<'a> {
    given: &'a Given,
    client: Option<Client>,
}

impl Server<'_> {
    fn client(&mut self) -> Result<&mut Client, Failure> {
        if self.client.is_none() {
            let around = Surroundings {
                variable: &|name| std::env::var(name).ok(),
                read: &|path| match std::fs::read_to_string(path) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
                    result => result.map(Some),
                },
                is_there: &Path::exists,
            };
            let target = Target::of(self.given, &around)?;
            if self.given.has_shared("verbose") {
                eprintln!("Asking {}", target.url);
                if self.given.grammar == crate::command::Grammar::Ctl && self.given.has_shared("node") {
                    eprintln!("--node is ignored: the URL says which node is asked");
                }
            }
            self.client = Some(Client::new(target.url, target.timeout));
        }
        self.client.as_mut().ok_or_else(|| Failure::unavailable("there is no server to ask"))
    }

    async fn ask(&mut self, ask: &Ask) -> Result<Reply, Failure> {
        let is_verbose = self.given.has_shared("verbose");
        let client = self.client()?;
        if is_verbose {
            eprintln!("{} /api/{}", ask.method, ask.path);
        }
        let request = request(ask)?;
        let result = match &ask.user {
            None => client.ask(&request).await,
            // Another user is not to be asked for over the connection of the first.
            Some((user, password)) => {
                Client::new(client.url().clone().with_user(user, password), client.timeout()).ask(&request).await
            }
        };
        let answer = result.map_err(|error| unanswered(client.url(), &error))?;
        if is_verbose {
            eprintln!("{}", answer.status);
        }
        Ok(Reply { status: answer.status.as_u16(), body: answer.body.to_vec() })
    }

    async fn try_to_ask(&mut self, ask: &Ask, patience: Duration) -> Result<Reply, Failure> {
        let client = self.client()?;
        client.set_timeout(patience);
        self.ask(ask).await
    }

    async fn connect(&mut self, ports: &[u16]) -> Result<Vec<(u16, String)>, Failure> {
        let url = self.client()?.url();
        let host = url.host().unwrap_or("127.0.0.1").to_owned();
        let options = DialOptions { timeout: CONNECT_PATIENCE, ..DialOptions::default() };
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
        let value = HeaderValue::from_str(reason).map_err(|_| {
            Failure::new(DATA, format!("a reason has to be one line of plain text, and '{reason}' is not"))
        })?;
        request = request.with_header(HeaderName::from_static("x-reason"), value);
    }
    Ok(request)
}

fn unanswered(url: &HttpUrl, error: &HttpError) -> Failure {
    match error {
        HttpError::TimedOut(_) => Failure::new(TEMPORARY, format!("the management API at {url} gave {error}")),
        HttpError::Unreachable(_) => Failure::new(
            UNAVAILABLE,
            format!(
                "cannot reach the management API at {url}: {error}; is the broker running, and does it listen there?"
            ),
        ),
        error => Failure::new(UNAVAILABLE, format!("the management API at {url} gave no answer: {error}")),
    }
}

fn read(source: &Source) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let (result, name) = match source {
        Source::Stdin => {
            (io::stdin().lock().take(INPUT_LEN_MAX + 1).read_to_end(&mut bytes), "what comes in".to_owned())
        }
        Source::Secret => {
            return secret::read().map_err(|error| Failure::data(format!("cannot read a password: {error}")));
        }
        Source::File(path) => {
            let result =
                std::fs::File::open(path).and_then(|file| file.take(INPUT_LEN_MAX + 1).read_to_end(&mut bytes));
            (result, path.display().to_string())
        }
    };
    result.map_err(|error| Failure::data(format!("cannot read {name}: {error}")))?;
    if bytes.len() as u64 > INPUT_LEN_MAX {
        return Err(Failure::data(format!("{name} is longer than {} MiB", INPUT_LEN_MAX >> 20)));
    }
    Ok(bytes)
}

/// Writes what a command has to a file, if it is to go there.
pub(crate) fn keep(output: &Output) -> Result<(), Failure> {
    let Output::File { path, bytes, .. } = output else { return Ok(()) };
    std::fs::write(path, bytes)
        .map_err(|error| Failure::new(CANNOT_CREATE, format!("cannot write {}: {error}", path.display())))
}

/// Writes to where it goes out. A reader that has gone has seen enough.
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

    use super::*;
    use crate::words;

    async fn ask(line: &[&str]) -> Result<Output, Failure> {
        let line: Vec<String> = line.iter().map(|word| (*word).to_owned()).collect();
        let said = words::parse(&line).unwrap();
        run(&said.given, (said.given.command.start)(&said.given)).await
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
        assert_eq!(run(&said.given, Ok(connect)).await, Ok(Output::Nothing));
    }
}
