//! The brokers behind the proxy, for all its threads: where they are, how they are, and which one is dialled.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use amqp::TableBuf;
use amqp::handshake::{ClientHandshake, ServerReply};
use amqp_client::{ConnectOptions, Connection, Uri};
use net::proxy_protocol::Version;
use net::{ClientTls, DialError, DialOptions, Stream};
use parking_lot::Mutex;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::watch;

use crate::balance::{Balance, Choice, Options, OptionsError, Snapshot, State, Transport, UpstreamId, UpstreamOptions};
use crate::config::HealthLogin;

/// How long a pool that wants an upstream connection rests at least before it asks again.
const ASK_AGAIN: Duration = Duration::from_millis(50);

/// How long it rests at most: whatever it waits for may be there sooner than was to be expected.
const ASK_AT_LEAST: Duration = Duration::from_millis(500);

/// How long the first clients wait for an upstream's `server-properties`.
const GREETING_TIMEOUT: Duration = Duration::from_secs(1);

/// One broker behind the proxy.
#[derive(Debug, Clone)]
pub struct Upstream {
    /// Its name, for operators.
    pub name: String,
    /// A name or an address. A name is looked up for every upstream connection.
    pub host: String,
    /// The port.
    pub port: u16,
    /// TLS, if it is spoken.
    pub tls: Option<ClientTls>,
    /// Whether upstream connections begin with a header of the PROXY protocol.
    pub proxy_protocol: Option<Version>,
    /// How long name, connection and TLS may take together.
    pub dial_timeout: Duration,
    /// The login of health checks; `None`: none, a greeting has to do.
    pub health_login: Option<HealthLogin>,
    /// Its share of upstream connections.
    pub weight: u32,
    /// The vhosts that it serves; empty: those that no upstream names.
    pub vhosts: Vec<String>,
}

impl Upstream {
    fn transport(&self) -> Transport {
        Transport { tls: self.tls.as_ref().map(|tls| tls.options().clone()), proxy_protocol: self.proxy_protocol }
    }

    fn dial_options(&self, client: Option<SocketAddr>) -> DialOptions {
        DialOptions {
            timeout: self.dial_timeout,
            proxy_header: self.proxy_protocol.map(|version| (version, client)),
            ..DialOptions::default()
        }
    }

    async fn dial(&self, client: Option<SocketAddr>) -> Result<Stream, String> {
        let dialled = net::dial(&self.host, self.port, self.tls.as_ref(), &self.dial_options(client)).await;
        dialled.map_err(|error| match error {
            // A record of TLS it could not read: what came is none.
            DialError::Tls { .. } if error.to_string().contains("InvalidContentType") => {
                format!("{}:{} does not speak TLS: use amqp:// in its URL, or another port", self.host, self.port)
            }
            error => error.to_string(),
        })
    }

    /// Whether it is well: whether it greets, and lets the health check's user in. Gives the server's properties.
    async fn check(&self) -> Result<TableBuf, String> {
        let properties = self.greet().await?;
        let Some(HealthLogin { user, password, vhost }) = self.health_login.clone() else { return Ok(properties) };
        let uri = Uri {
            is_tls: self.tls.is_some(),
            host: self.host.clone(),
            port: self.port,
            user,
            password,
            vhost,
            ..Uri::default()
        };
        let options = ConnectOptions {
            name: Some("warren proxy, health check".to_owned()),
            tls: self.tls.clone(),
            dial: self.dial_options(None),
            timeout: self.dial_timeout,
            ..ConnectOptions::default()
        };
        let connection = Connection::open(&uri, &options).await.map_err(|error| error.to_string())?;
        // That it is open is all that was to be seen.
        connection.close(self.dial_timeout).await;
        Ok(properties)
    }

    /// Whether a server there speaks AMQP, as far as that can be known without a login.
    async fn greet(&self) -> Result<TableBuf, String> {
        let greeting = async {
            let mut stream = self.dial(None).await?;
            let mut output = Vec::new();
            let mut handshake = ClientHandshake::begin(&mut output);
            stream.write_all(&output).await.map_err(|error| error.to_string())?;
            let mut bytes = Vec::new();
            loop {
                let count = stream.read_buf(&mut bytes).await.map_err(|error| error.to_string())?;
                if count == 0 {
                    return Err("it closed the connection".to_owned());
                }
                match handshake.receive(&bytes, &mut output) {
                    Ok((_, None)) => {}
                    Ok((_, Some(ServerReply::Started(start)))) => return Ok(start.server_properties.to_owned()),
                    Ok((_, Some(_))) => return Err("its first bytes are not AMQP 0-9-1".to_owned()),
                    Err(error) => {
                        return Err(what_speaks(&bytes)
                            .map_or_else(|| format!("it does not speak AMQP 0-9-1: {error}"), str::to_owned));
                    }
                }
            }
        };
        match tokio::time::timeout(self.dial_timeout, greeting).await {
            Ok(result) => result,
            Err(_) => Err(format!("it sent nothing within {} s", self.dial_timeout.as_secs_f64())),
        }
    }
}

/// What is likely to be at a port that does not begin as AMQP does.
fn what_speaks(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [21, 3, ..] => Some("it speaks TLS: use amqps:// in its URL, or another port"),
        [b'H', b'T', b'T', b'P', b'/', ..] => Some("it speaks HTTP: use another port in its URL"),
        [b'A', b'M', b'Q', b'P', ..] => Some("it speaks a version of AMQP other than 0-9-1"),
        _ => None,
    }
}

/// All of them.
#[derive(Debug)]
pub(crate) struct Upstreams {
    state: Mutex<KnownUpstream>,
    /// As an upstream described itself last.
    server: watch::Sender<Option<Arc<TableBuf>>>,
    /// How often something has changed for which upstream connections may be to be left that were not before.
    changes: watch::Sender<u64>,
    started_at: Instant,
}

#[derive(Debug)]
struct KnownUpstream {
    balance: Balance,
    by_name: HashMap<String, Arc<Upstream>>,
}

/// An upstream connection that is connected.
pub(crate) struct DialedConnection {
    pub(crate) upstream: UpstreamId,
    pub(crate) name: String,
    pub(crate) stream: Stream,
    /// How often something had [changed](Upstreams::change_count) when it was chosen.
    pub(crate) change_count: u64,
}

impl Upstreams {
    pub(crate) fn new(upstreams: Vec<Upstream>, options: Options) -> Result<Self, OptionsError> {
        let (by_name, options) = known(upstreams, options);
        let state = Mutex::new(KnownUpstream { balance: Balance::new(options)?, by_name });
        Ok(Upstreams {
            state,
            server: watch::Sender::new(None),
            changes: watch::Sender::new(0),
            started_at: Instant::now(),
        })
    }

    /// Sets what operators have changed.
    pub(crate) fn configure(&self, upstreams: Vec<Upstream>, options: Options) -> Result<(), OptionsError> {
        let (by_name, options) = known(upstreams, options);
        let mut state = self.state.lock();
        state.balance.set_options(options, self.now_ms())?;
        state.by_name = by_name;
        drop(state);
        self.note_change();
        Ok(())
    }

    /// Signals when upstream connections may be to be left that were not before.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// How often that was.
    pub(crate) fn change_count(&self) -> u64 {
        *self.changes.borrow()
    }

    fn note_change(&self) {
        self.changes.send_modify(|count| *count += 1);
    }

    /// The `server-properties` that clients get. Waits for a moment until an upstream has sent its own.
    pub(crate) async fn server(&self) -> Option<Arc<TableBuf>> {
        let mut server = self.server.subscribe();
        let known = tokio::time::timeout(GREETING_TIMEOUT, server.wait_for(Option::is_some)).await;
        known.ok()?.ok()?.clone()
    }

    /// Milliseconds since the proxy's start, for all its threads.
    pub(crate) fn now_ms(&self) -> u64 {
        self.started_at.elapsed().as_millis() as u64
    }

    /// Connects to an upstream of this vhost. Tries until there is one, or for so long; then returns what went wrong last. `on_failure`
    /// gets each failure meanwhile.
    pub(crate) async fn dial(
        &self,
        vhost: Option<&str>,
        client: Option<SocketAddr>,
        timeout: Duration,
        on_failure: impl Fn(&str),
    ) -> Result<DialedConnection, String> {
        let (until, mut tried, mut last_error) = (Instant::now() + timeout, Vec::new(), None);
        loop {
            let change_count = self.change_count();
            let at_ms = match self.choose(vhost, &tried) {
                Ok((id, upstream)) => match upstream.dial(client).await {
                    Ok(stream) => {
                        return Ok(DialedConnection {
                            upstream: id,
                            name: upstream.name.clone(),
                            stream,
                            change_count,
                        });
                    }
                    Err(error) => {
                        self.failed(id, vhost, &error);
                        on_failure(&error);
                        tried.push(id);
                        last_error = Some(error);
                        continue;
                    }
                },
                Err(Some(at_ms)) => at_ms,
                Err(None) => {
                    return Err(format!("no upstream serves the vhost '{}'", vhost.unwrap_or_default()));
                }
            };
            let pause = Duration::from_millis(at_ms.saturating_sub(self.now_ms())).max(ASK_AGAIN);
            if last_error.is_none()
                && let Some(text) = self.refusal_of(vhost)
            {
                on_failure(&text);
                last_error = Some(text);
            }
            if Instant::now() + pause >= until {
                return Err(last_error.unwrap_or_else(|| "all upstreams are down".to_owned()));
            }
            tokio::time::sleep(pause.min(ASK_AT_LEAST)).await;
            tried.clear();
        }
    }

    /// An upstream that is to be dialled now, and counts as being dialled; or when to ask again, if ever. All at once: options may change.
    fn choose(&self, vhost: Option<&str>, tried: &[UpstreamId]) -> Result<(UpstreamId, Arc<Upstream>), Option<u64>> {
        let (mut state, now_ms) = (self.state.lock(), self.now_ms());
        match state.balance.choose(vhost, tried, now_ms, fastrand::u64(..)) {
            Choice::Upstream(id) => {
                let upstream = state.upstream(id).expect("an upstream that is chosen is set");
                state.balance.dialled(id, vhost, now_ms);
                Ok((id, upstream))
            }
            Choice::Later { at_ms } => Err(Some(at_ms)),
            Choice::Nowhere => Err(None),
        }
    }

    /// What an upstream that is up said when it refused this vhost.
    fn refusal_of(&self, vhost: Option<&str>) -> Option<String> {
        self.state.lock().balance.refusal_of(vhost).map(str::to_owned)
    }

    /// An upstream connection's handshake is done.
    pub(crate) fn opened(&self, id: UpstreamId, vhost: Option<&str>) {
        let (was_refusing, changed, name) = {
            let mut state = self.state.lock();
            let was_refusing = state.balance.is_refusing(id, vhost);
            (was_refusing, state.balance.opened(id, vhost), state.name_if(id, was_refusing))
        };
        self.tell(id, changed);
        if was_refusing {
            // Upstream connections of this vhost that are at a reserve for that may return.
            self.note_change();
        }
        if let Some(name) = name {
            tracing::info!(upstream = %name, vhost, "upstream lets clients into this vhost again");
        }
    }

    /// An upstream connection could not be opened, and that is the upstream's fault.
    pub(crate) fn failed(&self, id: UpstreamId, vhost: Option<&str>, why: &str) {
        let changed = self.state.lock().balance.failed(id, vhost, self.now_ms(), fastrand::u64(..), why);
        self.tell(id, changed);
    }

    /// An upstream connection could not be opened: the upstream refuses its vhost for now.
    pub(crate) fn refused(&self, id: UpstreamId, vhost: &str, why: &str) {
        let (changed, name) = {
            let mut state = self.state.lock();
            let is_new = !state.balance.is_refusing(id, Some(vhost));
            let changed = state.balance.refused(id, vhost, self.now_ms(), fastrand::u64(..), why);
            (changed, state.name_if(id, is_new))
        };
        self.tell(id, changed);
        if let Some(name) = name {
            tracing::warn!(upstream = %name, vhost, error = why, "upstream lets no user into this vhost");
        }
    }

    /// An upstream connection ended before it was open, for a reason that says nothing about the upstream.
    pub(crate) fn abandoned(&self, id: UpstreamId, vhost: Option<&str>) {
        self.state.lock().balance.abandoned(id, vhost, self.now_ms());
    }

    /// An open upstream connection ended.
    pub(crate) fn lost(&self, id: UpstreamId) {
        self.state.lock().balance.lost(id);
    }

    /// Nothing new is sent to this upstream (or is again). Returns whether there is one of this name.
    pub(crate) fn drain(&self, name: &str, is_draining: bool) -> Option<UpstreamId> {
        let mut state = self.state.lock();
        let id = state.balance.id_of(name)?;
        match is_draining {
            true => state.balance.drain(id),
            false => state.balance.undrain(id),
        };
        drop(state);
        self.note_change();
        Some(id)
    }

    /// Whether an upstream connection of this vhost (`None`: not known yet) is to be left: its upstream drains, is no longer in the
    /// configuration, or leaves the vhost to others now.
    pub(crate) fn should_drain(&self, id: UpstreamId, vhost: Option<&str>) -> bool {
        self.state.lock().balance.should_drain(id, vhost)
    }

    /// Whether an open upstream connection of this vhost would better be elsewhere, for whatever reason.
    pub(crate) fn is_better_elsewhere(&self, id: UpstreamId, vhost: Option<&str>) -> bool {
        let balance = &self.state.lock().balance;
        balance.should_drain(id, vhost) || balance.has_better_upstream(id, vhost)
    }

    pub(crate) fn snapshot(&self) -> Vec<Snapshot> {
        self.state.lock().balance.snapshot()
    }

    /// Whether there is one that takes upstream connections.
    pub(crate) fn is_any_up(&self) -> bool {
        self.snapshot().iter().any(|upstream| upstream.state == State::Up)
    }

    /// Asks upstreams how they are, for ever.
    pub(crate) async fn watch(self: Arc<Self>) {
        loop {
            let (due, next_at_ms, has_forgotten) = {
                let mut state = self.state.lock();
                let now_ms = self.now_ms();
                let has_forgotten = state.balance.forget_refusals(now_ms);
                let mut due = Vec::new();
                while let Some(id) = state.balance.next_check(now_ms) {
                    due.extend(state.upstream(id).map(|upstream| (id, upstream)));
                }
                (due, state.balance.next_check_at_ms(), has_forgotten)
            };
            if has_forgotten {
                self.note_change();
            }
            for (id, upstream) in due {
                let this = self.clone();
                tokio::spawn(async move {
                    let result = upstream.check().await;
                    if let Ok(properties) = &result {
                        this.server.send_replace(Some(Arc::new(properties.clone())));
                    }
                    let result = result.as_ref().map(|_| ()).map_err(String::as_str);
                    let (changed, is_new) = {
                        let mut state = this.state.lock();
                        let is_new = state.balance.is_unseen(id);
                        (state.balance.checked(id, result, this.now_ms(), fastrand::u64(..)), is_new)
                    };
                    this.tell(id, changed);
                    if let (Err(error), true, None) = (result, is_new, changed) {
                        // It takes several failures to be down, and an operator that has just written its URL is not to wait for them.
                        tracing::warn!(upstream = %upstream.name, error, "upstream is not well so far");
                    }
                });
            }
            let pause_ms = next_at_ms.map_or(1_000, |at_ms| at_ms.saturating_sub(self.now_ms()));
            tokio::time::sleep(Duration::from_millis(pause_ms.clamp(100, 1_000))).await;
        }
    }

    fn tell(&self, id: UpstreamId, changed: Option<State>) {
        let Some(state) = changed else { return };
        self.note_change();
        let known = self.state.lock();
        let snapshot = known.balance.snapshot();
        let Some(name) = known.balance.options_of(id).map(|options| options.name.clone()) else { return };
        let error = snapshot.into_iter().find(|of| of.id == id).and_then(|of| of.last_error).map(|error| error.text);
        drop(known);
        match state {
            State::Up => tracing::info!(upstream = %name, "upstream is up"),
            State::Down => tracing::warn!(upstream = %name, error = error.as_deref(), "upstream is down"),
            State::Draining => tracing::info!(upstream = %name, "upstream is draining"),
        }
    }
}

impl KnownUpstream {
    fn upstream(&self, id: UpstreamId) -> Option<Arc<Upstream>> {
        self.by_name.get(&self.balance.options_of(id)?.name).cloned()
    }

    /// An upstream's name, where there is something to report of it.
    fn name_if(&self, id: UpstreamId, is_named: bool) -> Option<String> {
        is_named.then(|| self.balance.options_of(id).map(|options| options.name.clone())).flatten()
    }
}

fn known(upstreams: Vec<Upstream>, options: Options) -> (HashMap<String, Arc<Upstream>>, Options) {
    let of = |upstream: &Upstream| UpstreamOptions {
        name: upstream.name.clone(),
        address: format!("{}:{}", upstream.host, upstream.port),
        transport: upstream.transport(),
        weight: upstream.weight,
        vhosts: upstream.vhosts.clone(),
    };
    let options = Options { upstreams: upstreams.iter().map(of).collect(), ..options };
    (upstreams.into_iter().map(|upstream| (upstream.name.clone(), Arc::new(upstream))).collect(), options)
}

#[cfg(test)]
mod tests {
    use net::{ClientTlsOptions, TlsVersion};

    use super::*;

    fn named(name: &str) -> Upstream {
        Upstream {
            name: name.to_owned(),
            host: "localhost".to_owned(),
            port: 5672,
            tls: None,
            proxy_protocol: None,
            dial_timeout: Duration::from_secs(1),
            health_login: None,
            weight: 1,
            vhosts: Vec::new(),
        }
    }

    #[test]
    fn an_upstream_is_left_while_it_drains_and_when_it_is_gone() {
        let upstreams = Upstreams::new(vec![named("a"), named("b")], Options::default()).unwrap();
        let [a, b] = ["a", "b"].map(|name| upstreams.drain(name, false).unwrap());
        let is_left = |id| upstreams.should_drain(id, None);
        assert!(!is_left(a) && !is_left(b));
        upstreams.drain("a", true);
        assert!(is_left(a) && !is_left(b));
        // One that is forgotten, and one whose upstream connection is being dialled still.
        upstreams.state.lock().balance.dialled(b, None, 0);
        upstreams.configure(vec![named("c")], Options::default()).unwrap();
        assert!(is_left(a) && is_left(b));
    }
    #[test]
    fn an_upstream_that_is_spoken_to_in_another_way_is_another_one() {
        let plain = named("a");
        let tls = |options: &ClientTlsOptions| Upstream { tls: Some(ClientTls::new(options).unwrap()), ..named("a") };
        let trusting = ClientTlsOptions::trusting_any_server();
        let named_otherwise = ClientTlsOptions { server_name: Some("b".to_owned()), ..trusting.clone() };
        let newer = ClientTlsOptions { versions: vec![TlsVersion::V1_3], ..trusting.clone() };
        let proxied = Upstream { proxy_protocol: Some(Version::V2), ..named("a") };
        let upstreams = Upstreams::new(vec![plain.clone()], Options::default()).unwrap();
        let mut before = upstreams.state.lock().balance.id_of("a");
        for next in [plain, tls(&trusting), tls(&named_otherwise), tls(&newer), proxied] {
            for is_first in [true, false] {
                let is_changed = is_first && (next.tls.is_some() || next.proxy_protocol.is_some());
                upstreams.configure(vec![next.clone()], Options::default()).unwrap();
                let now = upstreams.state.lock().balance.id_of("a");
                assert_eq!(now != before, is_changed, "{next:?}, for the first time: {is_first}");
                before = now;
            }
        }
    }
}
