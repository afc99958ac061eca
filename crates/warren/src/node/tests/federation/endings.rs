//! What links leave at their upstreams when they end.

use std::sync::Arc;
use std::time::Instant;

use ::federation::{Fed, Link, Links, Subject, Upstreams};
use broker::Actor;
use model::arguments::{ExchangeArguments, ExchangeType};
use model::config::LinkOptions;
use model::definition;
use model::federation::Choice;
use model::name::ExchangeName;
use tokio::runtime::Handle;

use super::*;
use crate::node::own_broker::OwnBroker;

/// Where messages wait for a link of exchange `x`.
pub(super) const WAITING: &str = "federation: x -> down";

/// Two brokers, of which the second one has exchange `x` and a queue `q` for all that comes there, and links that no policy makes.
pub(super) struct Stage {
    pub(super) up: TestNode,
    pub(super) down: TestNode,
    pub(super) there: Connection,
    pub(super) here: Connection,
    pub(super) links: Links,
}

impl Stage {
    pub(super) async fn set(test: &str) -> Stage {
        let (up, down) = (start(test, "up").await, start(test, "down").await);
        let (there, mut here) = (client(&up).await, client(&down).await);
        declare_exchange(&mut here, "x").await;
        declare_queue(&mut here, "q").await;
        bind(&mut here, "q", "x", "#").await;
        let host = OwnBroker::new(&down.node.broker().unwrap(), &LinkOptions::default());
        let links = Links::new(Arc::new(host), Handle::current());
        Stage { up, down, there, here, links }
    }

    /// The link of `x` from an upstream of this name, which connects once.
    pub(super) fn link(&self, upstream: &str, settings: Value) -> Vec<Link> {
        let mut value = json!({"uri": format!("amqp://guest:guest@{}", self.up.amqp()), "reconnect-delay": 3600});
        value.as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
        let (component, name) = (FEDERATION_UPSTREAM.into(), upstream.into());
        let upstreams = Upstreams::of(&[VhostParameter { vhost: vhost(), component, name, value }], "down");
        let exchange = definition::Exchange {
            vhost: vhost(),
            name: ExchangeName::parse(b"x").unwrap(),
            exchange_type: ExchangeType::Topic,
            is_durable: true,
            is_auto_delete: false,
            is_internal: false,
            arguments: ExchangeArguments::default(),
        };
        let choice = Choice::Set("all".into());
        upstreams.links(&Subject { fed: Fed::Exchange(exchange), policy: "p".into(), choice }).collect()
    }

    pub(super) async fn run(&self, links: Vec<Link>) {
        self.links.reconcile(links);
        self.until_running().await;
    }

    pub(super) async fn until_running(&self) {
        until(|| matches!(&self.links.statuses()[..], [one] if matches!(one.state, LinkState::Running { .. }))).await;
    }

    /// Whether nothing is left of what the link has made.
    fn is_clean(&self) -> bool {
        let broker = self.up.node.broker().unwrap();
        let has_exchange = |side| broker.follow_bindings("/", &format!("{WAITING} {side}")).is_some();
        ready(&self.up, WAITING).is_none() && !has_exchange("A") && !has_exchange("B")
    }

    /// A message comes through.
    pub(super) async fn feed(&mut self) {
        let before = ready(&self.down, "q").unwrap();
        send(&mut self.there, "x", "k", b"fed").await;
        until(|| ready(&self.down, "q") == Some(before + 1)).await;
    }

    pub(super) async fn clear(self) {
        self.links.stop(SOON).await;
        self.here.close(SOON).await;
        self.there.close(SOON).await;
        self.up.close().await;
        self.down.close().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_link_has_made_goes_though_the_next_one_never_ran() {
    let stage = Stage::set("replaced").await;
    stage.run(stage.link("u", json!({}))).await;
    assert!(!stage.is_clean());
    stage.links.reconcile(stage.link("u", json!({"prefetch-count": 7})));
    stage.links.reconcile(stage.link("u", json!({"prefetch-count": 8})));
    stage.links.reconcile(Vec::new());
    until(|| stage.is_clean()).await;
    // Unless it says that it never does.
    stage.run(stage.link("u", json!({"resource-cleanup-mode": "never"}))).await;
    stage.links.reconcile(Vec::new());
    stage.links.stop(SOON).await;
    assert!(!stage.is_clean());
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_link_has_made_goes_though_it_is_down() {
    let mut stage = Stage::set("down").await;
    stage.run(stage.link("u", json!({}))).await;
    let broker = stage.up.node.broker().unwrap();
    let views = broker.connection_views();
    let of_link = views.iter().find(|view| {
        let said = view.opened().and_then(|opened| opened.client_properties.get("connection_name")?.as_bytes());
        said == Some(b"Federation link (upstream: u, policy: p)")
    });
    broker.close_connection(&Actor::broker(), &of_link.unwrap().name(), "go").unwrap();
    until(|| matches!(&stage.links.statuses()[..], [one] if matches!(one.state, LinkState::Shutdown { .. }))).await;
    // As a life leaves it that ends between making one and deleting the other.
    declare_exchange(&mut stage.there, "federation: x -> down A").await;
    stage.links.reconcile(Vec::new());
    until(|| stage.is_clean()).await;
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_being_deleted_is_waited_for_but_not_for_ever() {
    let stage = Stage::set("stop").await;
    stage.run(stage.link("u", json!({}))).await;
    stage.links.reconcile(Vec::new());
    stage.links.stop(SOON).await;
    assert!(stage.is_clean());
    // Nothing runs after the stop.
    stage.links.reconcile(stage.link("u", json!({})));
    assert!(stage.links.statuses().is_empty());

    let host = OwnBroker::new(&stage.down.node.broker().unwrap(), &LinkOptions::default());
    let links = Links::new(Arc::new(host), Handle::current());
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let uri = format!("amqp://{}", silent.local_addr().unwrap());
    links.reconcile(stage.link("u", json!({"uri": uri})));
    drop(soon(silent.accept()).await.unwrap());
    links.reconcile(Vec::new());
    let _held = soon(silent.accept()).await.unwrap();
    let began_at = Instant::now();
    links.stop(Duration::from_millis(50)).await;
    assert!(began_at.elapsed() < Duration::from_secs(3));
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upstream_may_get_another_name() {
    let mut stage = Stage::set("renamed").await;
    stage.run(stage.link("u", json!({}))).await;
    stage.feed().await;
    // A binding of the queue is deleted with the queue.
    declare_exchange(&mut stage.there, "mark").await;
    bind(&mut stage.there, WAITING, "mark", "m").await;
    stage.run(stage.link("v", json!({"prefetch-count": 3}))).await;
    stage.feed().await;
    assert_eq!(keys(&stage.up, "mark"), ["m"]);
    // Another queue is wanted, by the same name.
    stage.run(stage.link("w", json!({"expires": 3_600_000}))).await;
    stage.feed().await;
    assert!(keys(&stage.up, "mark").is_empty());
    // One of two links ends.
    bind(&mut stage.there, WAITING, "mark", "m").await;
    let two = ["w", "v"].map(|upstream| stage.link(upstream, json!({"expires": 3_600_000})));
    stage.links.reconcile(two.concat());
    until(|| stage.links.statuses().iter().all(|one| matches!(one.state, LinkState::Running { .. }))).await;
    stage.run(two[0].clone()).await;
    until(|| stage.up.node.broker().unwrap().connection_views().len() == 2).await;
    assert_eq!(keys(&stage.up, "mark"), ["m"]);
    // One link ends, and only then the other one begins.
    stage.links.reconcile(Vec::new());
    stage.run(stage.link("z", json!({"expires": 7_200_000}))).await;
    stage.feed().await;
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_may_get_another_name() {
    let (up, down) = (start("cluster-name", "up").await, start("cluster-name", "down").await);
    let mut here = client(&down).await;
    declare_exchange(&mut here, "x").await;
    put_upstream(&down, "u", &up, json!({}));
    put_policy(&down, "^x$", json!({"federation-upstream": "u"}));
    until(|| are_running(&down, 1)).await;
    let broker = down.node.broker().unwrap();
    broker.put_global_parameter(&Actor::broker(), "cluster_name", json!("east")).unwrap();
    until(|| ready(&up, "federation: x -> east").is_some() && ready(&up, WAITING).is_none()).await;
    up.close().await;
    down.close().await;
}
