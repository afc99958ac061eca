//! Load generators for AMQP 0-9-1 brokers. Each run measures one broker once and writes one line of JSON; `bench/run`
//! starts brokers, takes turns and compares.
//!
//! Threads and blocking sockets on purpose: the client has to be cheap and must not share code with the broker.

mod arguments;
mod binds;
mod blast;
mod churn;
mod consume;
mod disk;
mod flat;
mod gets;
mod herd;
mod histogram;
mod json;
mod latency;
mod lone;
mod loopback;
mod process;
mod publish;
mod relay;
mod sink;
mod unconfirmed;
mod wire;

use arguments::{Arguments, Broker};
use json::Object;
use std::io::{self, Write};
use std::process::ExitCode;
use wire::Connection;

const USAGE: &str = "\
usage: bench blast   --port PORT --pid PID [options]     as fast as it goes
       bench latency --port PORT --pid PID --rate N      at a fixed rate
       bench lone    --port PORT --pid PID               one message at a time, each publisher waiting for the answer
       bench gets    --port PORT --pid PID               fetch and acknowledge messages one by one
       bench disk    --dir DIRECTORY                     writes that are synced one by one, without a broker
       bench flat    --port PORT --pid PID               fill a queue, then drain it
       bench binds   --port PORT --pid PID               declare and bind many queues, waiting for each answer
       bench declare --port PORT --pid PID               declare the queue afresh, for another generator
       bench count   --port PORT --pid PID               how many messages of the queue are ready
       bench sink    --port PORT                         a broker that discards, and sends at will: for load generators
       bench churn   --port PORT --pid PID               a connection for each message, to a queue that is there
       bench herd    --port PORT --pid PID               many clients that rest, and come back all at once
       bench relay   --listen PORT --to PORT             TCP, with a delay
       bench loopback                                    raw TCP, which nothing that uses TCP can outdo

blast:   --size 1024  --senders 1  --readers 1  --persistent  --window N (unconfirmed, each sender; 0 = no confirms)
         --warm-up-s 2  --measure-s 5  --queue-type TYPE  --prefetch N (0 = auto-ack)
         --write-len 65536 (bytes a write; 1 = every publish by itself)
latency: --size 1024  --publishers 1  --consumers 1  --persistent  --warm-up-s 2  --measure-s 8  --queue-type TYPE
         --prefetch N (0 = auto-ack)  --dead-letters (by way of a queue that holds none)
lone:    --size 1024  --publishers 1  --consumers 1  --persistent  --warm-up-s 1  --measure-s 4  --queue-type TYPE
         --prefetch N (0 = auto-ack)  --tx-len N (publishes of a transaction; 0 = confirms)  --headers N (of 100 bytes)
         --unanswered (neither transactions nor confirms)
gets:    --size 1024  --count 30000  --persistent  --queue-type TYPE
disk:    --size 4096  --rate N (0 = one after the other)  --measure-s 4
flat:    --size 1024  --count 10000000  --step 1000000  --window 1000  --queue-type TYPE  --prefetch 2000 (0 = auto-ack)
         --fill-only (leave the messages there)
binds:   --count 100000  --publishes 500000 (eight times)  --keep (leave the queues there)
churn:   --size 100  --clients 20  --window N (0 = no confirms)  --measure-s 5
herd:    --clients 10000  --hold-s 3 (how long they rest)
relay:   --delay-ms 0 (a round trip)
sink:    --size 1024 (of what consumers are sent)
loopback: --write-len 65536 (bytes a write)  --warm-up-s 1  --measure-s 3
all:     --host 127.0.0.1  --queue bench
";

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let Some(command) = words.next() else { return usage("a command is missing") };
    let arguments = match Arguments::parse(words) {
        Ok(arguments) => arguments,
        Err(text) => return usage(&text),
    };
    let outcome = match command.as_str() {
        "blast" => blast::Blast::parse(&arguments).map(|blast| blast.run()),
        "latency" => latency::Latency::parse(&arguments).map(|latency| latency.run()),
        "lone" => lone::Lone::parse(&arguments).map(|lone| lone.run()),
        "gets" => gets::Gets::parse(&arguments).map(|gets| gets.run()),
        "disk" => disk::DiskFloor::parse(&arguments).map(|floor| floor.run()),
        "binds" => binds::Binds::parse(&arguments).map(|binds| binds.run()),
        "churn" => churn::Churn::parse(&arguments).map(|churn| churn.run()),
        "herd" => herd::Herd::parse(&arguments).map(|herd| herd.run()),
        "relay" => relay::Relay::parse(&arguments).map(|relay| relay.run()),
        "flat" => flat::Flat::parse(&arguments).map(|flat| flat.run()),
        "declare" => arguments.broker().map(|broker| declare(&broker)),
        "count" => arguments.broker().map(|broker| count(&broker)),
        "loopback" => loopback::Loopback::parse(&arguments).map(|loopback| loopback.run()),
        "sink" => sink::Sink::parse(&arguments).map(|sink| sink.run()),
        _ => Err(format!("unknown command '{command}'")),
    };
    match outcome {
        Err(text) => usage(&text),
        Ok(Err(error)) => {
            complain(&format!("bench {command}: {error}"));
            ExitCode::FAILURE
        }
        Ok(Ok(report)) => match writeln!(io::stdout(), "{report}") {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        },
    }
}

fn declare(broker: &Broker) -> io::Result<Object> {
    Connection::open(broker)?.declare_afresh(broker)?;
    Ok(Object::new())
}

fn count(broker: &Broker) -> io::Result<Object> {
    Ok(Object::new().field("messages", Connection::open(broker)?.ready_count(broker)?))
}

fn usage(text: &str) -> ExitCode {
    complain(&format!("bench: {text}\n{USAGE}"));
    ExitCode::from(2)
}

fn complain(text: &str) {
    // There is nowhere to tell it when standard error is gone.
    let _ = writeln!(io::stderr(), "{text}");
}
