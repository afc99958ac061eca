//! Links of a broker that takes connections and never says a word: so each stays where it is until the test lets go of it.

use std::io;

use amqp::Uri;
use bridge::OwnConnection;
use model::arguments::{ExchangeArguments, ExchangeType, QueueType};
use model::definition;
use model::name::{ExchangeName, VhostName};
use model::shovel::AckMode;
use net::Stream;

use super::*;
use crate::host::FollowedBindings;
use crate::status::LinkKind;
use crate::wanted::Fed;

/// What has been asked of it.
#[derive(Default)]
struct Silent {
    /// The other ends of the connections that there are.
    taken: Mutex<Vec<Stream>>,
    removed: Mutex<Vec<String>>,
    files: bridge::TlsFiles,
}

impl bridge::Host for Silent {
    fn connect(&self, _is_trusted: bool) -> io::Result<OwnConnection> {
        let (ours, its) = Stream::pair()?;
        self.taken.lock().push(its);
        Ok(OwnConnection { stream: ours, name: "own".into() })
    }

    fn permits(&self, _host: &str) -> bool {
        true
    }

    fn tls_files(&self) -> &bridge::TlsFiles {
        &self.files
    }

    fn cluster_name(&self) -> String {
        "c".to_owned()
    }
}

impl Host for Silent {
    fn follow_bindings(&self, _vhost: &VhostName, _exchange: &str) -> Option<FollowedBindings> {
        None
    }

    fn follow_need(&self, _vhost: &VhostName, _queue: &str) -> Option<watch::Receiver<bool>> {
        None
    }

    fn state_changed(&self, _status: &LinkStatus) {}

    fn removed(&self, status: &LinkStatus) {
        self.removed.lock().push(status.id.upstream.to_string());
    }
}

/// A link of exchange `x` from this exchange of the broker itself, which is an upstream of this name.
fn link(upstream: &str, upstream_name: &str) -> Link {
    let vhost = VhostName::parse(b"/").unwrap();
    let exchange = definition::Exchange {
        vhost: vhost.clone(),
        name: ExchangeName::parse(b"x").unwrap(),
        exchange_type: ExchangeType::Topic,
        is_durable: true,
        is_auto_delete: false,
        is_internal: false,
        arguments: ExchangeArguments::default(),
    };
    Link {
        id: LinkId {
            vhost,
            kind: LinkKind::Exchange,
            name: "x".into(),
            upstream: upstream.into(),
            upstream_name: upstream_name.into(),
        },
        fed: Fed::Exchange(exchange),
        policy: "p".into(),
        cluster_name: "c".into(),
        uris: vec![Uri { is_hostless: true, ..Uri::default() }],
        consumer_tag: "tag".into(),
        prefetch_count: 1,
        reconnect_delay: Duration::from_secs(3600),
        ack_mode: AckMode::OnConfirm,
        trusts_user_id: false,
        max_hops: 1,
        expires_ms: None,
        message_ttl_ms: None,
        queue_type: QueueType::Classic,
        cleans_up: true,
        binds_without_waiting: false,
        has_command_channel: true,
    }
}

struct Stage {
    host: Arc<Silent>,
    links: Links,
}

impl Stage {
    fn set() -> Stage {
        let host = Arc::new(Silent::default());
        Stage { links: Links::new(host.clone(), Handle::current()), host }
    }

    /// How many connections wait for an answer, once all tasks have done what they can. One thread has all of them.
    async fn waiting(&self) -> usize {
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        self.host.taken.lock().len()
    }

    /// Closes all connections to this broker.
    async fn cut(&self) {
        self.host.taken.lock().clear();
        // Sockets are looked at when all tasks wait.
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_link_comes_when_what_it_shares_has_been_cleaned_up() {
    for next in [link("u", "x"), link("v", "x")] {
        let stage = Stage::set();
        stage.links.reconcile(vec![link("u", "x")]);
        assert_eq!(stage.waiting().await, 1);
        stage.links.reconcile(Vec::new());
        assert_eq!(*stage.host.removed.lock(), ["u"]);
        // It connects once more, to clean up.
        assert_eq!(stage.waiting().await, 2);
        stage.links.reconcile(vec![next]);
        assert_eq!(stage.waiting().await, 2);
        // Another exchange there is nothing that it shares.
        stage.links.reconcile(vec![link("u", "x"), link("u", "y")]);
        assert_eq!(stage.waiting().await, 3);
        stage.cut().await;
        while stage.waiting().await == 0 {
            tokio::task::yield_now().await;
        }
        stage.links.stop(Duration::ZERO).await;
    }
}

#[tokio::test]
async fn a_link_that_is_the_same_notices_nothing() {
    let stage = Stage::set();
    for _ in 0..3 {
        stage.links.reconcile(vec![link("u", "x"), link("v", "y")]);
        assert_eq!(stage.waiting().await, 2);
    }
    // One that has changed begins anew, and nothing is cleaned up.
    stage.links.reconcile(vec![link("u", "x"), Link { prefetch_count: 2, ..link("v", "y") }]);
    assert_eq!(stage.waiting().await, 3);
    // What another link still uses is left to it.
    stage.links.reconcile(vec![link("u", "x"), link("w", "y")]);
    assert_eq!(stage.waiting().await, 4);
    assert_eq!(*stage.host.removed.lock(), ["v"]);
    // What would be declared otherwise is deleted first.
    stage.links.reconcile(vec![link("u", "x"), Link { expires_ms: Some(1), ..link("w", "y") }]);
    assert_eq!(stage.waiting().await, 5);
    assert_eq!(stage.links.statuses().len(), 2);
    stage.links.stop(Duration::ZERO).await;
}

#[tokio::test]
async fn what_has_stopped_stays_so() {
    let stage = Stage::set();
    stage.links.reconcile(vec![link("u", "x")]);
    assert_eq!(stage.waiting().await, 1);
    stage.links.stop(Duration::from_secs(60)).await;
    stage.links.reconcile(vec![link("u", "x")]);
    assert_eq!(stage.waiting().await, 1);
    assert!(stage.links.statuses().is_empty() && stage.host.removed.lock().is_empty());
}
