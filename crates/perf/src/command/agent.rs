//! `warren perf agent`: takes part in runs that another machine starts.

use std::net::SocketAddr;

use command_line::Opt;
use terminal::Interrupt;
use tokio::net::{TcpListener, lookup_host};

use super::{Failure, OwnWords, RunRequest, complain, print, read};
use crate::agents::{Agent, DEFAULT_PORT, Job, Order, Surroundings};
use crate::engine::{Ahead, StampUnit};

#[derive(Clone, Copy)]
enum Meaning {
    Listen,
    Token,
}

const WORDS: OwnWords<Meaning> = OwnWords { introduction: "\
usage: warren perf agent [--listen HOST:PORT] [--token TEXT]

Waits for a coordinator, which is any other command of warren perf with --agents, and generates the assigned part of the load.
Files that the command names are sent to the agent, except certificates, which must exist on this machine, too.

", options: &[
    Opt::valued("listen", "HOST:PORT", Meaning::Listen, "where to listen (default 127.0.0.1:5699)"),
    Opt::valued(
        "token",
        "TEXT",
        Meaning::Token,
        "the token that coordinators must send with --agent-token; also the variable AGENT_TOKEN. Required for all addresses except this \
         machine's own, because a coordinator can put load on any broker",
    ),
] };

/// What the command says.
#[derive(Debug, PartialEq, Eq)]
struct Options {
    listen: String,
    token: String,
}

pub(crate) fn run(words: &[String]) -> Result<(), Failure> {
    let options = parse(words, std::env::var("AGENT_TOKEN").ok())?;
    net::raise_open_files_limit();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::failed(format!("cannot start: {error}")))?;
    let result = runtime.block_on(serve(options));
    runtime.shutdown_background();
    result
}

async fn serve(options: Options) -> Result<(), Failure> {
    let mut interrupt = Interrupt::listen().map_err(Failure::failed)?;
    let address = resolve(&options).await?;
    let cannot = |error| Failure::failed(format!("cannot listen on {address}: {error}"));
    let listener = TcpListener::bind(address).await.map_err(cannot)?;
    let address = listener.local_addr().map_err(cannot)?;
    print(&format!("listening on {address}\n"))?;
    let agent =
        Agent { listener, token: options.token, read: &|order, ahead| Box::pin(job(order, ahead)), say: &complain };
    tokio::select! {
        () = agent.run() => Ok(()),
        () = interrupt.come() => match interrupt.status() {
            Some(status) => Err(Failure::Status(status)),
            None => Ok(()),
        },
    }
}

/// What a coordinator's command comes to here.
async fn job(order: Order, ahead: &'static Ahead) -> Result<Job, String> {
    let Order { words, found, run } = order;
    match read(&words, Surroundings::There(found)) {
        Ok(RunRequest::Run(mut session)) => {
            session.order.run = run;
            session.into_job(StampUnit::Shared(ahead)).await
        }
        Ok(RunRequest::Print(_)) | Err(Failure::Status(_)) => Err("the command generates no load".to_owned()),
        Err(Failure::Usage(text) | Failure::Failed(text)) => Err(text),
    }
}

fn parse(words: &[String], variable: Option<String>) -> Result<Options, Failure> {
    let mut options = Options { listen: format!("127.0.0.1:{DEFAULT_PORT}"), token: variable.unwrap_or_default() };
    let (said, stray) = WORDS.read(words)?;
    if let Some(word) = stray.first() {
        return Err(WORDS.misused(&format!("unexpected argument '{word}'")));
    }
    for said in said {
        let place = match said.option.means {
            Meaning::Listen => &mut options.listen,
            Meaning::Token => &mut options.token,
        };
        *place = said.value().to_owned();
    }
    Ok(options)
}

/// Where to listen: only where the token lets it.
async fn resolve(options: &Options) -> Result<SocketAddr, Failure> {
    let listen = &options.listen;
    let cannot =
        |reason: String| Failure::Usage(format!("--listen: invalid address '{listen}', expected HOST:PORT: {reason}"));
    let mut addresses = lookup_host(listen.as_str()).await.map_err(|error| cannot(error.to_string()))?;
    let address = addresses.next().ok_or_else(|| cannot("it is unknown".to_owned()))?;
    if options.token.is_empty() && !address.ip().is_loopback() {
        return Err(Failure::Usage(format!(
            "{listen} can be reached from other machines, and any program there could use the agent to put load on any broker: --token \
             is required"
        )));
    }
    Ok(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_ascii_whitespace().map(str::to_owned).collect()
    }

    fn check_listen(line: &str, expected: Result<&str, &str>) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let options = parse(&words(line), None).unwrap();
        match (runtime.block_on(resolve(&options)), expected) {
            (Ok(address), Ok(expected)) => assert_eq!(address.to_string(), expected),
            (Err(Failure::Usage(text)), Err(expected)) => assert!(text.contains(expected), "{text}"),
            (resolved, _) => panic!("{resolved:?}"),
        }
    }

    #[test]
    fn others_machines_need_a_token() {
        check_listen("", Ok("127.0.0.1:5699"));
        check_listen("--listen [::1]:7", Ok("[::1]:7"));
        check_listen("--listen 0.0.0.0:7", Err("--token is required"));
        check_listen("--listen 0.0.0.0:7 --token=t", Ok("0.0.0.0:7"));
        check_listen("--listen here", Err("invalid address 'here'"));
    }

    #[test]
    fn words_that_make_no_sense_are_refused() {
        assert!(matches!(parse(&words("--port 7"), None), Err(Failure::Usage(_))));
        assert!(matches!(parse(&words("--token"), None), Err(Failure::Usage(_))));
        assert_eq!(parse(&words("--token a"), Some("b".to_owned())).unwrap().token, "a");
        assert_eq!(parse(&[], Some("b".to_owned())).unwrap().token, "b");
    }

    #[tokio::test]
    async fn command_means_the_same_elsewhere() {
        static AHEAD: Ahead = Ahead::new();
        let dir = std::env::temp_dir().join(format!("perf-agent-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let file = dir.join("load.toml");
        std::fs::write(&file, "[[queues]]\nname = \"q\"\n[[publishers]]\nname = \"p\"\nqueue = \"q\"\nrate = 5\n")
            .unwrap();
        let body = dir.join("body");
        std::fs::write(&body, "hello").unwrap();
        let commands = [
            format!("run {} --set publishers.p.rate=7 --agents a", file.display()),
            format!("-x 2 -y 3 -u q --body {} --random-routing-key --routing-key-cache-size 5", body.display()),
        ];
        let mut orders = Vec::new();
        for command in &commands {
            let Ok(RunRequest::Run(session)) = read(&words(command), Surroundings::here()) else { panic!("{command}") };
            orders.push((session.order.clone(), session.runs[0].plan.clone()));
        }
        std::fs::remove_dir_all(&dir).unwrap();
        for (order, plan) in orders {
            assert_eq!(job(order.clone(), &AHEAD).await.unwrap().plan, plan);
            assert!(job(Order { run: 1, ..order }, &AHEAD).await.is_err());
        }
    }
}
