//! One link: connects, brings messages, fails, waits, and begins again.

use std::sync::Arc;
use std::time::Duration;

use amqp::Uri;
use amqp_client::Connection;
use bridge::{Author, CHANNEL, Transfer, Wish};
use model::definition::BindingChange;
use model::shovel::AckMode;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use crate::exchange_link::{self, ExchangeEnd, cluster_name_of, has_exchange};
use crate::failure::Failure;
use crate::host::Host;
use crate::life::{Life, Publisher};
use crate::message::{Way, WayKind};
use crate::queue_link::QueueEnd;
use crate::status::{LinkState, StatusCell};
use crate::wanted::{Fed, Link};

/// How long what is under way may take to be settled when a link connects anew.
const SETTLING_TIMEOUT: Duration = Duration::from_secs(2);
/// How long an upstream may take to delete what a link has made there, and to be connected to for that.
const CLEANING_TIMEOUT: Duration = Duration::from_secs(5);
/// How often it is looked whether the exchange of a link still exists: without it messages are routed elsewhere, and no error reports it.
const CHECK_INTERVAL: Duration = Duration::from_secs(90);

/// How long a link lives on that gets no more bindings: where its exchange is deleted it is to be stopped, and to clean up.
const UNFOLLOWED_TIMEOUT: Duration = Duration::from_secs(1);
/// Bytes that wait for an upstream at most: as long as there are more, no more is asked of it.
const ASKED_LEN_MAX: usize = 1 << 20;

/// How long a broker may take to say goodbye.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// What is wanted of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// To run. The number changes with each restart that was asked for.
    Run(u64),
    /// To end. What is under way is settled for so long.
    Stop {
        timeout: Duration,
        /// What it has made at the upstream is deleted, if the link is one that cleans up.
        cleans_up: bool,
    },
}

/// A link's task.
pub(crate) struct Worker {
    pub(crate) link: Arc<Link>,
    pub(crate) host: Arc<dyn Host>,
    pub(crate) status_cell: Arc<StatusCell>,
    pub(crate) orders: watch::Receiver<Order>,
    /// The first URI that is tried; the next life begins with the next one.
    pub(crate) first_uri: usize,
    /// Whether the upstream knows exchanges that keep messages from going round. It does until it says otherwise.
    pub(crate) knows_type: bool,
}

/// The upstream's end, and what it receives.
enum End {
    Exchange {
        end: Box<ExchangeEnd>,
        changes: mpsc::Receiver<BindingChange>,
        check_at: Instant,
        /// No more changes of bindings come. Mostly the exchange is deleted, and the link about to be stopped.
        fails_at: Option<Instant>,
    },
    Queue {
        end: QueueEnd,
        need: watch::Receiver<bool>,
    },
}

/// A link that is up.
struct Connected {
    life: Life,
    end: End,
    /// What the connection here is called.
    local_connection: Box<str>,
    upstream_vhost: Box<str>,
}

/// What is left of a life that was ordered to end: the connection to the upstream, and the vhost there.
type Rest = Option<(Connection, Box<str>)>;

/// What an end has to do next.
enum Task {
    Bind(BindingChange),
    Unfollowed,
    Check,
    Follow(bool),
}

impl End {
    /// May be dropped at any time.
    async fn next(&mut self) -> Result<Task, Failure> {
        match self {
            End::Exchange { fails_at: Some(fails_at), .. } => {
                tokio::time::sleep_until(*fails_at).await;
                Err(Failure::Unfollowed)
            }
            End::Exchange { changes, check_at, fails_at: None, .. } => tokio::select! {
                change = changes.recv() => Ok(change.map_or(Task::Unfollowed, Task::Bind)),
                () = tokio::time::sleep_until(*check_at) => Ok(Task::Check),
            },
            End::Queue { need, .. } => {
                need.changed().await.map_err(|_| Failure::Unfollowed)?;
                Ok(Task::Follow(*need.borrow_and_update()))
            }
        }
    }

    async fn act(&mut self, upstream: &mut Connection, task: Task) -> Result<(), Failure> {
        match (self, task) {
            (End::Exchange { end, .. }, Task::Bind(change)) => end.follow(upstream, &change),
            (End::Exchange { fails_at, .. }, Task::Unfollowed) => {
                *fails_at = Some(Instant::now() + UNFOLLOWED_TIMEOUT);
            }
            (End::Exchange { end, check_at, .. }, Task::Check) => {
                upstream.set_receiving(true);
                if !has_exchange(upstream, &end.exchange).await? {
                    return Err(Failure::ExchangeGone(end.exchange.clone()));
                }
                *check_at = Instant::now() + CHECK_INTERVAL;
            }
            (End::Queue { end, .. }, Task::Follow(is_needed)) => end.follow(upstream, is_needed),
            (End::Exchange { .. }, Task::Follow(_))
            | (End::Queue { .. }, Task::Bind(_) | Task::Unfollowed | Task::Check) => {}
        }
        Ok(())
    }
}

impl Worker {
    /// Lives until it is ordered to end.
    pub(crate) async fn run(mut self) {
        let mut rest = None;
        loop {
            let order = *self.orders.borrow_and_update();
            if let Order::Stop { cleans_up, .. } = order {
                return self.leave(rest, cleans_up).await;
            }
            close(rest.take()).await;
            if self.orders.has_changed().is_err() {
                return;
            }
            self.enter(LinkState::Starting);
            let failure = match self.live().await {
                Ok(left) => {
                    rest = left;
                    continue;
                }
                Err(failure) => failure,
            };
            if self.knows_type && failure.is_of_unknown_type() {
                tracing::info!(link = %self.link.id, "upstream without federation: only this broker prevents cycles of messages");
                self.knows_type = false;
                continue;
            }
            tracing::warn!(link = %self.link.id, reason = %failure, "federation link failed");
            self.enter(failure.state());
            self.first_uri += 1;
            // What is said meanwhile is looked at above.
            let _ = tokio::time::timeout(self.link.reconnect_delay, self.orders.clone().changed()).await;
        }
    }

    fn enter(&self, state: LinkState) {
        self.status_cell.set_state(state);
        self.host.state_changed(&self.status_cell.status());
    }

    /// From the first connection to the last acknowledgement.
    async fn live(&mut self) -> Result<Rest, Failure> {
        let mut orders = self.orders.clone();
        let Connected { mut life, mut end, local_connection, upstream_vhost } = tokio::select! {
            connected = self.connect() => connected?,
            _ = orders.changed() => return Ok(None),
        };
        self.enter(LinkState::Running { local_connection });
        tracing::info!(link = %self.link.id, uri = %self.status_cell.status().uri, "federation link started");
        loop {
            tokio::select! {
                moved = life.step() => moved?,
                task = end.next(), if life.upstream.output_len() < ASKED_LEN_MAX => end.act(&mut life.upstream, task?).await?,
                _ = orders.changed() => break,
            }
        }
        let timeout = match *orders.borrow() {
            Order::Stop { timeout, .. } => timeout,
            Order::Run(_) => SETTLING_TIMEOUT,
        };
        life.settle(timeout).await?;
        life.here.close(CLOSE_TIMEOUT).await;
        Ok(Some((life.upstream, upstream_vhost)))
    }

    /// Deletes what the link has made at the upstream, if it is one that does, and says goodbye. What was made by an earlier life is
    /// deleted, too: so the upstream is connected to once more for that.
    async fn leave(&self, rest: Rest, cleans_up: bool) {
        let makes_something = matches!(self.link.fed, Fed::Exchange(_));
        if !(cleans_up && self.link.cleans_up && makes_something) {
            return close(rest).await;
        }
        let cleaning = async {
            let (mut upstream, vhost) = match rest {
                Some(rest) => rest,
                None => {
                    let wish = self.wish(false);
                    let upstream = bridge::connect(&self.link.uris, self.first_uri, &wish, &*self.host).await;
                    let upstream = upstream.map_err(Failure::UpstreamConnect)?;
                    (upstream.connection, upstream.vhost)
                }
            };
            exchange_link::clean_up(&mut upstream, &self.link, &vhost).await?;
            Ok::<_, Failure>((upstream, vhost))
        };
        let reason = match tokio::time::timeout(CLEANING_TIMEOUT, cleaning).await {
            Ok(Ok(rest)) => return close(Some(rest)).await,
            Ok(Err(failure)) => failure.to_string(),
            Err(_) => "the upstream does not answer in time".to_owned(),
        };
        tracing::warn!(link = %self.link.id, reason, "deleting a federation link's objects at its upstream failed");
    }

    fn wish(&self, is_here: bool) -> Wish {
        Wish { name: self.link.connection_name(), who: "links", is_here, author: Author::User }
    }

    /// Connects both ends, and declares.
    async fn connect(&self) -> Result<Connected, Failure> {
        let (link, host) = (&*self.link, &*self.host);
        for name in [&link.id.upstream_name, &link.consumer_tag] {
            if name.len() > amqp::limits::SHORT_STR_LEN_MAX {
                return Err(Failure::Unnameable(name.to_string()));
            }
        }
        let here = Uri { vhost: link.id.vhost.as_str().to_owned(), is_hostless: true, ..Uri::default() };
        let here = bridge::connect(&[here], 0, &self.wish(true), host).await.map_err(Failure::HereConnect)?;
        let (mut here, local_connection) = (here.connection, here.own_name.unwrap_or_default());
        if link.ack_mode == AckMode::OnConfirm {
            let refused = |source| Failure::HereRefused { what: "confirms".to_owned(), source };
            here.select_confirms(CHANNEL).await.map_err(refused)?;
        }
        let upstream = bridge::connect(&link.uris, self.first_uri, &self.wish(false), host).await;
        let upstream = upstream.map_err(Failure::UpstreamConnect)?;
        self.status_cell.set_uri(&upstream.uri);
        let (uri, upstream_vhost, mut upstream) = (upstream.uri, upstream.vhost, upstream.connection);
        let (end, kind) = self.prepare(&mut upstream, &upstream_vhost).await?;
        let publisher = Publisher::new(Way { uri, trusts_user_id: link.trusts_user_id, kind });
        let transfer = Transfer::new(link.ack_mode, None, link.prefetch_count);
        let life = Life { upstream, here, transfer, publisher, has_more: false };
        Ok(Connected { life, end, local_connection, upstream_vhost })
    }

    async fn prepare(&self, upstream: &mut Connection, upstream_vhost: &str) -> Result<(End, WayKind), Failure> {
        let link = &*self.link;
        let (vhost, name) = (&link.id.vhost, &link.id.name);
        match &link.fed {
            Fed::Exchange(exchange) => {
                // Followed before anything is declared: what changes meanwhile waits.
                let bindings = self.host.follow_bindings(vhost, name).ok_or(Failure::Unfollowed)?;
                let end =
                    ExchangeEnd::prepare(upstream, link, exchange, upstream_vhost, &bindings, self.knows_type).await?;
                let kind = WayKind::Exchange {
                    name: name.clone(),
                    max_hops: link.max_hops,
                    upstream_cluster_name: cluster_name_of(upstream),
                    cluster_name: link.cluster_name.clone(),
                    vhost: vhost.as_str().into(),
                    upstream_vhost: upstream_vhost.into(),
                };
                let check_at = Instant::now() + CHECK_INTERVAL;
                let changes = bindings.changes;
                Ok((End::Exchange { end: Box::new(end), changes, check_at, fails_at: None }, kind))
            }
            Fed::Queue(queue) => {
                let mut end = QueueEnd::prepare(upstream, link, queue).await?;
                let mut need = self.host.follow_need(vhost, name).ok_or(Failure::Unfollowed)?;
                end.follow(upstream, *need.borrow_and_update());
                Ok((End::Queue { end, need }, WayKind::Queue { name: name.clone() }))
            }
        }
    }
}

async fn close(rest: Rest) {
    if let Some((upstream, _)) = rest {
        upstream.close(CLOSE_TIMEOUT).await;
    }
}
