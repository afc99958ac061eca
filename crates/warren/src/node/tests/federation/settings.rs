//! What upstreams and policies say is done, and how links report their state.

use amqp::queue::{Declare, Delete};
use broker::{Actor, VhostRequest};

use super::endings::{Stage, WAITING};
use super::*;

/// The path of something at the upstream that a link of `x` has made.
fn made(kind: &str, suffix: &str) -> String {
    format!("/api/{kind}/%2F/{}{suffix}", WAITING.replace(' ', "%20").replace(':', "%3A").replace('>', "%3E"))
}

/// Waits until the only link has failed for a reason with that text.
async fn until_failed(stage: &Stage, text: &str) {
    let has_failed = || {
        let statuses = stage.links.statuses();
        statuses.iter().any(|status| status.state.reason().is_some_and(|reason| reason.contains(text)))
    };
    until(has_failed).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_upstream_says_is_declared_there() {
    let stage = Stage::set("declared").await;
    let settings = json!({
        "expires": 3_600_000, "message-ttl": 60_000, "queue-type": "quorum", "max-hops": 3, "prefetch-count": 5,
        "channel-use-mode": "single", "bind-nowait": true,
    });
    stage.run(stage.link("u", settings)).await;
    let queue = get(stage.up.api(), &made("queues", "")).await;
    for part in [r#""x-expires":3600000"#, r#""x-message-ttl":60000"#, r#""x-queue-type":"quorum""#] {
        assert!(queue.contains(part), "{part}: {queue}");
    }
    let exchange = get(stage.up.api(), &made("exchanges", "%20B")).await;
    for part in [r#""x-max-hops":3"#, r#""internal":true"#, r#""durable":true"#, r#""auto_delete":true"#] {
        assert!(exchange.contains(part), "{part}: {exchange}");
    }
    assert!(get(stage.up.api(), "/api/exchanges/%2F/x").await.contains(r#""durable":true"#));
    // All of it was asked on one channel; the other one is the test's.
    let channels = || stage.up.node.broker().unwrap().channel_views();
    assert_eq!(channels().len(), 2);
    assert!(channels().iter().any(|channel| channel.prefetch_count == 5));
    stage.run(stage.link("u", json!({"expires": 3_600_000, "message-ttl": 60_000, "queue-type": "quorum"}))).await;
    until(|| channels().len() == 3).await;
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_makes_the_bindings_anew() {
    let mut stage = Stage::set("restart").await;
    stage.run(stage.link("u", json!({}))).await;
    let broker = stage.up.node.broker().unwrap();
    let sides = || ["A", "B"].map(|side| broker.follow_bindings("/", &format!("{WAITING} {side}")).is_some());
    assert_eq!(sides(), [false, true]);
    assert!(stage.links.restart("/", &stage.links.statuses()[0].id.key()));
    until(|| sides() == [true, false]).await;
    stage.until_running().await;
    stage.feed().await;
    drop(broker);
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_refused_here_stays_at_the_upstream() {
    let mut stage = Stage::set("refused").await;
    let arguments = TableBuf::new().with("x-max-length", Field::I64(1));
    let arguments = arguments.with("x-overflow", Field::LongStr(b"reject-publish"));
    let declare = Declare { queue: b"small", durable: true, arguments: arguments.as_table(), ..Default::default() };
    stage.here.declare_queue(1, &declare).await.unwrap();
    bind(&mut stage.here, "small", "x", "#").await;
    stage.run(stage.link("u", json!({"prefetch-count": 1}))).await;
    for body in [b"1", b"2", b"3"] {
        send(&mut stage.there, "x", "k", body).await;
    }
    until(|| ready(&stage.down, "small") == Some(1)).await;
    consume(&mut stage.here, "small", 10).await;
    let mut bodies: Vec<_> = take(&mut stage.here, 3).await.into_iter().map(|(body, _)| body).collect();
    bodies.sort();
    assert_eq!(bodies, [b"1", b"2", b"3"]);
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_fails_when_something_of_it_is_gone() {
    let mut stage = Stage::set("gone").await;
    stage.run(stage.link("u", json!({}))).await;
    stage.there.call(1, &Delete { queue: WAITING.as_bytes(), ..Default::default() }).await.unwrap();
    until_failed(&stage, "the consumer was cancelled").await;
    stage.links.reconcile(stage.link("u", json!({"exchange": "y".repeat(250)})));
    until_failed(&stage, "longer than 255 bytes").await;
    stage.run(stage.link("u", json!({"prefetch-count": 7}))).await;
    stage.here.call(1, &exchange::Delete { exchange: b"x", ..Default::default() }).await.unwrap();
    until_failed(&stage, "the federated exchange or queue was deleted").await;
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn links_follow_upstreams_policies_and_vhosts() {
    let (up, down) = (start("followed", "up").await, start("followed", "down").await);
    let mut here = client(&down).await;
    declare_exchange(&mut here, "x").await;
    let internal =
        exchange::Declare { exchange: b"i", kind: b"topic", durable: true, internal: true, ..Default::default() };
    here.call(1, &internal).await.unwrap();
    declare_queue(&mut here, "events").await;
    bind(&mut here, "events", "amq.rabbitmq.event", "federation.link.#").await;
    let broker = down.node.broker().unwrap();
    let links = down.node.links().unwrap();
    // Neither the default exchange nor an internal one is fed.
    put_policy(&down, "^(|i|x)$", json!({"federation-upstream-set": "all"}));
    put_upstream(&down, "u", &up, json!({}));
    until(|| are_running(&down, 1)).await;
    assert_eq!(&*links.statuses()[0].id.name, "x");
    until(|| ready(&down, "events") == Some(2)).await;
    broker.delete_vhost_parameter(&Actor::broker(), "/", FEDERATION_UPSTREAM, "u").unwrap();
    until(|| links.statuses().is_empty()).await;
    until(|| ready(&down, "events") == Some(3)).await;
    // A vhost is deleted with all that is in it.
    let north = VhostName::parse(b"north").unwrap();
    broker.put_vhost(&Actor::broker(), VhostRequest::named(north.clone())).unwrap();
    let value = json!({"uri": format!("amqp://guest:guest@{}/%2F", up.amqp())});
    let parameter = VhostParameter { vhost: north, component: FEDERATION_UPSTREAM.into(), name: "u".into(), value };
    broker.put_vhost_parameter(&Actor::broker(), parameter).unwrap();
    let policy = "/api/policies/north/p";
    let definition = r#"{"pattern": "^amq\\.topic$", "definition": {"federation-upstream": "u"}}"#;
    let answer = order(TcpStream::connect(down.api()).await.unwrap(), "PUT", policy, definition).await;
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
    until(|| are_running(&down, 1)).await;
    broker.delete_vhost(&Actor::broker(), "north").unwrap();
    until(|| links.statuses().is_empty()).await;
    drop(broker);
    up.close().await;
    down.close().await;
}
