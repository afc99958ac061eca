//! Links between brokers of one process: exchanges and queues that are fed by others.

mod endings;
mod settings;

use ::federation::LinkState;
use amqp::table::{TableBuf, Value as Field};
use amqp::{basic, exchange};
use model::name::VhostName;
use model::parameter::{FEDERATION_UPSTREAM, VhostParameter};
use model::policy::{ApplyTo, PolicyKind};
use serde_json::{Value, json};

use super::*;

/// A broker alone, whose cluster has that name.
async fn start(test: &str, name: &str) -> TestNode {
    let mut house = TestNode::open(&format!("federation-{test}-{name}"), &[&format!("cluster_name={name}")]);
    house.start().await;
    house
}

fn vhost() -> VhostName {
    VhostName::parse(b"/").unwrap()
}

/// Names an upstream of a broker: another one, or itself.
fn put_upstream(house: &TestNode, name: &str, upstream: &TestNode, settings: Value) {
    let mut value = json!({"uri": format!("amqp://guest:guest@{}", upstream.amqp()), "reconnect-delay": 0.01});
    value.as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
    let parameter = VhostParameter { vhost: vhost(), component: FEDERATION_UPSTREAM.into(), name: name.into(), value };
    house.node.broker().unwrap().put_vhost_parameter(&broker::Actor::broker(), parameter).unwrap();
}

fn put_policy(house: &TestNode, pattern: &str, definition: Value) {
    let request = broker::PolicyRequest {
        vhost: vhost(),
        name: "p".to_owned(),
        kind: PolicyKind::User,
        pattern: pattern.to_owned(),
        apply_to: ApplyTo::All,
        priority: 0,
        definition: definition.as_object().unwrap().clone(),
    };
    house.node.broker().unwrap().put_policy(&broker::Actor::broker(), request).unwrap();
}

fn delete_policy(house: &TestNode) {
    house.node.broker().unwrap().delete_policy(&broker::Actor::broker(), PolicyKind::User, "/", "p").unwrap();
}

fn are_running(house: &TestNode, count: usize) -> bool {
    let statuses = house.node.links().unwrap().statuses();
    let is_running = |status: &::federation::LinkStatus| matches!(status.state, LinkState::Running { .. });
    statuses.len() == count && statuses.iter().all(is_running)
}

/// Keys with which something is bound to an exchange, each as often as it is.
fn keys(house: &TestNode, exchange: &str) -> Vec<String> {
    let (now, _) =
        house.node.broker().unwrap().follow_bindings("/", exchange).unwrap_or_else(|| (Vec::new(), closed_channel()));
    let mut keys: Vec<_> =
        now.iter().map(|binding| String::from_utf8_lossy(binding.routing_key()).into_owned()).collect();
    keys.sort();
    keys
}

fn closed_channel() -> tokio::sync::mpsc::Receiver<model::definition::BindingChange> {
    tokio::sync::mpsc::channel(1).1
}

fn ready(house: &TestNode, queue: &str) -> Option<u64> {
    house.node.broker().unwrap().queue_counts("/", queue).map(|counts| counts.ready)
}

/// Waits until an answer to guest is as it should be.
async fn until_listed<F: Future<Output = String>>(ask: impl Fn() -> F, is_so: impl Fn(&str) -> bool) -> String {
    soon(async {
        loop {
            let listed = ask().await;
            if is_so(&listed) {
                return listed;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await
}

async fn declare_exchange(client: &mut Connection, name: &str) {
    let declare = exchange::Declare { exchange: name.as_bytes(), kind: b"topic", durable: true, ..Default::default() };
    client.call(1, &declare).await.unwrap();
}

async fn declare_queue(client: &mut Connection, name: &str) {
    let declare = queue::Declare { queue: name.as_bytes(), durable: true, ..Default::default() };
    client.declare_queue(1, &declare).await.unwrap();
}

async fn bind(client: &mut Connection, queue: &str, exchange: &str, key: &str) {
    let (queue, exchange, routing_key) = (queue.as_bytes(), exchange.as_bytes(), key.as_bytes());
    client.call(1, &queue::Bind { queue, exchange, routing_key, ..Default::default() }).await.unwrap();
}

/// A client with channel 1, whose publishes are confirmed.
async fn client(house: &TestNode) -> Connection {
    let mut client = connect(house.amqp()).await.unwrap();
    client.open_channel(1).await.unwrap();
    client.select_confirms(1).await.unwrap();
    client
}

/// Publishes and waits for the confirm.
async fn send(client: &mut Connection, exchange: &str, key: &str, body: &[u8]) {
    client.publish(1, &Route::new(exchange.as_bytes(), key.as_bytes(), false).unwrap(), PERSISTENT, body);
    soon(async {
        loop {
            while let Some(event) = client.next_event().unwrap() {
                if matches!(event, Event::Confirmed { .. }) {
                    return;
                }
            }
            client.turn().await.unwrap();
        }
    })
    .await;
}

/// Takes so many messages, of a consumer on channel 1: their bodies and headers.
async fn take(client: &mut Connection, count: usize) -> Vec<(Vec<u8>, TableBuf)> {
    let mut taken = Vec::new();
    soon(async {
        while taken.len() < count {
            let mut last = 0;
            while let Some(event) = client.next_event().unwrap() {
                if let Event::Delivered { deliver, content, .. } = event {
                    let headers = content.properties().and_then(|properties| properties.headers).unwrap_or_default();
                    taken.push((content.body.to_vec(), headers.to_owned()));
                    last = deliver.delivery_tag;
                }
            }
            if last > 0 {
                client.ack(1, last, true);
                client.flush().await.unwrap();
            }
            if taken.len() < count {
                client.turn().await.unwrap();
            }
        }
    })
    .await;
    taken
}

async fn consume(client: &mut Connection, queue: &str, prefetch_count: u16) {
    client.call(1, &basic::Qos { prefetch_size: 0, prefetch_count, global: false }).await.unwrap();
    client.consume(1, &basic::Consume { queue: queue.as_bytes(), ..Default::default() }).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_exchange_is_fed_with_what_is_bound_to_it() {
    let (up, down) = (start("exchange", "up").await, start("exchange", "down").await);
    let (mut there, mut here) = (client(&up).await, client(&down).await);
    declare_exchange(&mut here, "x").await;
    declare_queue(&mut here, "q").await;
    bind(&mut here, "q", "x", "a.*").await;
    put_upstream(&down, "u", &up, json!({}));
    put_policy(&down, "^x$", json!({"federation-upstream-set": "all"}));
    until(|| are_running(&down, 1)).await;
    // The exchange there was made as it is here, and what is bound later is bound there, too.
    assert_eq!(keys(&up, "x"), ["a.*"]);
    bind(&mut here, "q", "x", "b.*").await;
    until(|| keys(&up, "x") == ["a.*", "b.*"]).await;
    for key in ["a.1", "c.1", "b.1"] {
        send(&mut there, "x", key, key.as_bytes()).await;
    }
    consume(&mut here, "q", 10).await;
    let taken = take(&mut here, 2).await;
    assert_eq!([&taken[0].0[..], &taken[1].0[..]], [b"a.1", b"b.1"]);
    let way = taken[0].1.as_table().get("x-received-from").and_then(|way| way.as_array()).unwrap();
    let hop = way.iter().next().and_then(|hop| hop.as_table()).unwrap();
    let expected = TableBuf::new()
        .with("uri", Field::LongStr(format!("amqp://{}", up.amqp()).as_bytes()))
        .with("exchange", Field::LongStr(b"x"))
        .with("redelivered", Field::Bool(false))
        .with("cluster-name", Field::LongStr(b"up"))
        .with("vhost", Field::LongStr(b"/"));
    assert_eq!(hop, expected.as_table());
    here.call(1, &queue::Unbind { queue: b"q", exchange: b"x", routing_key: b"a.*", ..Default::default() })
        .await
        .unwrap();
    until(|| keys(&up, "x") == ["b.*"]).await;
    // What the link has made is deleted with it.
    assert!(ready(&up, "federation: x -> down").is_some());
    delete_policy(&down);
    until(|| ready(&up, "federation: x -> down").is_none()).await;
    until(|| keys(&up, "x").is_empty()).await;
    assert!(down.node.links().unwrap().statuses().is_empty());
    up.close().await;
    down.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_while_a_link_connects_anew() {
    let (up, down) = (start("anew", "up").await, start("anew", "down").await);
    let (mut there, mut here) = (client(&up).await, client(&down).await);
    declare_exchange(&mut here, "x").await;
    declare_queue(&mut here, "q").await;
    bind(&mut here, "q", "x", "#").await;
    put_upstream(&down, "u", &up, json!({}));
    put_policy(&down, "^x$", json!({"federation-upstream": "u"}));
    until(|| are_running(&down, 1)).await;
    let links = down.node.links().unwrap();
    let key = links.statuses()[0].id.key();
    for number in 0..300_u32 {
        if number % 50 == 0 {
            assert!(links.restart("/", &key));
        }
        send(&mut there, "x", "k", &number.to_be_bytes()).await;
    }
    // A change of what the link does is as good.
    put_upstream(&down, "u", &up, json!({"prefetch-count": 7}));
    for number in 300..400_u32 {
        send(&mut there, "x", "k", &number.to_be_bytes()).await;
    }
    consume(&mut here, "q", 100).await;
    let mut seen = std::collections::BTreeSet::new();
    while seen.len() < 400 {
        seen.extend(take(&mut here, 1).await.into_iter().map(|(body, _)| body));
    }
    assert!(!links.restart("/", "00000000") && !links.restart("elsewhere", &key));
    up.close().await;
    down.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_go_round_no_further_than_they_may() {
    let houses = [start("ring", "a").await, start("ring", "b").await, start("ring", "c").await];
    let mut clients = Vec::new();
    for house in &houses {
        let mut client = client(house).await;
        declare_exchange(&mut client, "x").await;
        declare_queue(&mut client, "q").await;
        bind(&mut client, "q", "x", "#").await;
        clients.push(client);
    }
    // Each is fed by the one before it.
    for (number, house) in houses.iter().enumerate() {
        put_upstream(house, "u", &houses[(number + 2) % 3], json!({"max-hops": 2}));
        put_policy(house, "^x$", json!({"federation-upstream": "u"}));
    }
    until(|| houses.iter().all(|house| are_running(house, 1))).await;
    // Its own binding, that of the next broker, and that of the one after it.
    until(|| houses.iter().all(|house| keys(house, "x").len() == 3)).await;
    send(&mut clients[0], "x", "k", b"once").await;
    until(|| houses.iter().all(|house| ready(house, "q") == Some(1))).await;
    for (number, client) in clients.iter_mut().enumerate() {
        consume(client, "q", 10).await;
        let headers = take(client, 1).await.remove(0).1;
        let way = headers.as_table().get("x-received-from").and_then(|way| way.as_array());
        assert_eq!(way.map_or(0, |way| way.iter().count()), number);
    }
    assert!(houses.iter().all(|house| ready(house, "q") == Some(0)));
    for house in houses {
        house.close().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_queue_is_fed_while_it_needs_messages() {
    let (up, down) = (start("queue", "up").await, start("queue", "down").await);
    let (mut there, mut here) = (client(&up).await, client(&down).await);
    declare_queue(&mut here, "q").await;
    put_upstream(&down, "u", &up, json!({"prefetch-count": 5}));
    put_policy(&down, "^q$", json!({"federation-upstream-pattern": "^u"}));
    until(|| are_running(&down, 1)).await;
    // The queue there was made as it is here.
    for number in 0..20_u32 {
        send(&mut there, "", "q", &number.to_be_bytes()).await;
    }
    assert_eq!((ready(&up, "q"), ready(&down, "q")), (Some(20), Some(0)));
    consume(&mut here, "q", 1).await;
    let taken = take(&mut here, 20).await;
    let numbers: Vec<_> = taken.iter().map(|(body, _)| u32::from_be_bytes(body[..].try_into().unwrap())).collect();
    assert_eq!(numbers, (0..20).collect::<Vec<_>>());
    let headers = taken[0].1.as_table();
    assert_eq!(headers.get("x-original-routing-key"), Some(Field::LongStr(b"q")));
    let consumers = || get(up.api(), "/api/consumers/%2F");
    let listed = until_listed(consumers, |listed| listed.contains("federation-link-u")).await;
    assert!(listed.contains(r#""x-priority":-1"#) && listed.contains(r#""prefetch_count":5"#), "{listed}");
    // Without a consumer here, messages stay where they are.
    here.close(SOON).await;
    until_listed(consumers, |listed| !listed.contains("federation-link-u")).await;
    until(|| down.node.broker().unwrap().queue_counts("/", "q").is_some_and(|counts| counts.unacked == 0)).await;
    let need = down.node.broker().unwrap().follow_need("/", "q").unwrap();
    assert!(!*need.borrow());
    up.close().await;
    down.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_says_why_it_does_not_run() {
    let down = start("why", "down").await;
    let mut here = client(&down).await;
    declare_exchange(&mut here, "x").await;
    let nowhere = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    put_upstream(&down, "u", &down, json!({"uri": format!("amqp://guest:hidden@{nowhere}")}));
    put_upstream(&down, "v", &down, json!({"uri": format!("amqp://guest:hidden@{}", down.amqp())}));
    put_policy(&down, "^x$", json!({"federation-upstream-set": "all"}));
    let links = down.node.links().unwrap();
    let states = || links.statuses().into_iter().map(|status| status.state).collect::<Vec<_>>();
    until(|| matches!(&states()[..], [LinkState::Error { .. }, LinkState::Shutdown { .. }])).await;
    for status in links.statuses() {
        let reason = status.state.reason().map(str::to_owned);
        // It may just have begun again.
        assert!(reason.is_none_or(|reason| reason.starts_with("upstream: ") && !reason.contains("hidden")));
        assert!(!status.uri.contains("guest"), "{}", status.uri);
    }
    down.close().await;
}
