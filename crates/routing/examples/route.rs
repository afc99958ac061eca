//! How long routing takes: `cargo run --release -p routing --example route`.
//!
//! Every line binds 100,000 queues to one exchange, routes messages with changing keys, and deletes the queues.

#![allow(clippy::print_stdout, reason = "its output is what it is for")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use amqp::table::{Table, TableBuf, Value};
use model::ids::QueueId;
use routing::{
    BindingSpec, CacheLimits, Declaration, Destination, ExchangeType, Exchanges, HashSeed, Routable, RouteCache,
    RouteScratch,
};

const QUEUE_COUNT: u64 = 100_000;
const ROUTE_COUNT: u64 = 1_000_000;

struct Shape {
    name: &'static str,
    kind: ExchangeType,
    /// The binding key of a queue.
    binding_key: fn(u64) -> String,
    /// The routing key of a message for a queue.
    routing_key: fn(u64) -> String,
    arguments: fn(u64) -> TableBuf,
}

const SHAPES: [Shape; 6] = [
    Shape {
        name: "direct, a key a queue",
        kind: ExchangeType::Direct,
        binding_key: three,
        routing_key: three,
        arguments: no,
    },
    Shape {
        name: "topic, three words",
        kind: ExchangeType::Topic,
        binding_key: three,
        routing_key: three,
        arguments: no,
    },
    Shape {
        name: "topic, orders.N.#",
        kind: ExchangeType::Topic,
        binding_key: |number| format!("orders.{number}.#"),
        routing_key: |number| format!("orders.{number}.paid.eur"),
        arguments: no,
    },
    Shape {
        name: "topic, *.N.*",
        kind: ExchangeType::Topic,
        binding_key: |number| format!("*.{number}.*"),
        routing_key: three,
        arguments: no,
    },
    Shape {
        name: "topic, #.N",
        kind: ExchangeType::Topic,
        binding_key: |number| format!("#.{number}"),
        routing_key: |number| format!("eu.orders.paid.{number}"),
        arguments: no,
    },
    Shape {
        name: "headers, all of two",
        kind: ExchangeType::Headers,
        binding_key: |_| String::new(),
        routing_key: |_| String::new(),
        arguments: |number| {
            let region = TableBuf::new().with("region", Value::LongStr(b"eu"));
            region.with("customer", Value::I64(number.cast_signed()))
        },
    },
];

fn three(number: u64) -> String {
    format!("orders.{number}.paid")
}

fn no(_: u64) -> TableBuf {
    TableBuf::new()
}

fn main() {
    println!("{:24}{:>12}{:>12}{:>12}{:>12}", "100,000 queues", "binds/s", "ns/route", "ns/cached", "deletes/s");
    for shape in &SHAPES {
        run(shape);
    }
}

fn run(shape: &Shape) {
    let mut exchanges = Exchanges::new(HashSeed::fixed());
    let declaration = Declaration {
        name: b"x",
        kind: shape.kind,
        is_durable: true,
        is_auto_delete: false,
        is_internal: false,
        alternate: None,
        arguments: Table::EMPTY,
    };
    assert!(exchanges.declare(&declaration), "it is new");
    for number in 0..QUEUE_COUNT {
        exchanges.queue_added(format!("queue-{number}").as_bytes(), QueueId(number), true);
    }
    let keys = |key: fn(u64) -> String| (0..QUEUE_COUNT).map(key).collect::<Vec<_>>();
    let (binding_keys, routing_keys) = (keys(shape.binding_key), keys(shape.routing_key));
    let tables: Vec<_> = (0..QUEUE_COUNT).map(shape.arguments).collect();
    let bind = time(|| {
        for ((number, key), table) in (0..).zip(&binding_keys).zip(&tables) {
            let destination = Destination::Queue(QueueId(number));
            let (routing_key, arguments) = (key.as_bytes(), table.as_table());
            exchanges.bind(&BindingSpec { source: b"x", destination, routing_key, arguments }).expect("both are there");
        }
    });
    // Neighbouring messages have keys far apart; of the cached ones, a thousand.
    let number = |message: u64, count: u64| (message.wrapping_mul(0x9e37_79b9_7f4a_7c15) % count) as usize;
    let mut scratch = RouteScratch::new(1);
    let route = time(|| {
        for message in 0..ROUTE_COUNT {
            let number = number(message, QUEUE_COUNT);
            let headers = Some(tables[number].as_table());
            let message = Routable { headers, ..Routable::by_key(routing_keys[number].as_bytes()) };
            let routed = exchanges.route(b"x", &message, &mut scratch).expect("it is there");
            assert_eq!(black_box(routed.queues).len(), 1);
        }
    });
    let mut cache = RouteCache::new(HashSeed::fixed(), CacheLimits::default());
    let cached = time(|| {
        for message in 0..ROUTE_COUNT {
            let key = routing_keys[number(message, 1000)].as_bytes();
            if black_box(cache.get(exchanges.epoch(), b"x", key)).is_none() {
                cache.insert(exchanges.epoch(), b"x", key, message);
            }
        }
    });
    let delete = time(|| (0..QUEUE_COUNT).for_each(|number| drop(exchanges.queue_deleted(QueueId(number)))));
    let per_second = |took: Duration| QUEUE_COUNT as f64 / took.as_secs_f64();
    let per_route = |took: Duration| took.as_nanos() as f64 / ROUTE_COUNT as f64;
    println!(
        "{:24}{:>12.0}{:>12.1}{:>12.1}{:>12.0}",
        shape.name,
        per_second(bind),
        per_route(route),
        per_route(cached),
        per_second(delete)
    );
}

fn time(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}
