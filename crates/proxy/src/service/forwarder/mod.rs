//! Sends on what the spool has kept: each queue over a connection of its own, which is there as long as it is needed.

mod sender;

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use amqp_client::{ConnectOptions, Connection, OpenError, Uri};
use tokio::task::JoinSet;

use self::sender::Sender;
use super::upstreams::{DialedConnection, Upstreams};
use crate::balance::UpstreamId;
use crate::limits::SPOOL_FORWARDER_COUNT_MAX;
use crate::spool::{Job, Spool, Window};
use crate::switchboard::{says_no_access, says_not_here, says_vhost_not_here};

/// How often it is looked what is too old, and what can be tried again.
const TICK: Duration = Duration::from_secs(1);

/// How long an upstream is looked for, and how long the handshake with it may take.
const DIAL_TIMEOUT: Duration = Duration::from_secs(5);
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// How long an upstream may take to agree to a close.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Seconds between heartbeats that are asked for.
const HEARTBEAT_S: u16 = 10;

/// Sends on what is kept, until the spool stops.
pub(super) async fn forward(spool: Arc<Spool>, upstreams: Arc<Upstreams>) {
    let mut changes = spool.changes();
    let mut jobs = JoinSet::new();
    let mut ticks = tokio::time::interval(TICK);
    while !(spool.is_stopping() && jobs.is_empty()) {
        changes.borrow_and_update();
        while jobs.len() < SPOOL_FORWARDER_COUNT_MAX
            && let Some(job) = spool.claim(upstreams.now_ms())
        {
            jobs.spawn(send_on(spool.clone(), upstreams.clone(), job));
        }
        tokio::select! {
            _ = changes.changed() => {}
            Some(_) = jobs.join_next() => {}
            _ = ticks.tick() => spool.tick(upstreams.now_ms(), wall_ms()),
        }
    }
}

/// Milliseconds since 1970 as they were when that was first asked, and what has passed since: what is kept becomes neither older nor
/// younger when the system's clock is set.
pub(crate) fn wall_ms() -> u64 {
    static START: OnceLock<(Instant, Duration)> = OnceLock::new();
    let begin = || (Instant::now(), SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default());
    let (began_at, since) = START.get_or_init(begin);
    since.saturating_add(began_at.elapsed()).as_millis() as u64
}

/// Gives the queue back, whatever becomes of the task.
struct Claim {
    spool: Arc<Spool>,
    upstreams: Arc<Upstreams>,
    job: Job,
    result: Result<(), String>,
}

impl Drop for Claim {
    fn drop(&mut self) {
        let result = std::mem::replace(&mut self.result, Ok(()));
        self.spool.release(self.job.spool_queue, result, self.upstreams.now_ms());
    }
}

async fn send_on(spool: Arc<Spool>, upstreams: Arc<Upstreams>, job: Job) {
    let result = Err("it was not forwarded".to_owned());
    let mut claim = Claim { spool, upstreams, job, result };
    let Claim { spool, upstreams, job, .. } = &claim;
    let mut window = if job.is_careful { Window::careful() } else { Window::default() };
    let result = loop {
        match send_over_new_connection(spool, upstreams, job, &mut window).await {
            Ok(()) => break Ok(()),
            // It is clearer now what is to blame.
            Err(EndReason::Blamed) => {}
            Err(EndReason::Lost(error)) => break Err(error),
        }
    };
    match &result {
        Ok(()) => tracing::info!(user = %job.user, vhost = %job.vhost, "stored messages forwarded"),
        Err(error) => {
            tracing::debug!(user = %job.user, vhost = %job.vhost, %error, "forwarding stored messages failed");
        }
    }
    claim.result = result;
}

/// Why a connection is over before all was sent.
enum EndReason {
    /// For something that was sent over it.
    Blamed,
    /// For any other reason.
    Lost(String),
}

async fn send_over_new_connection(
    spool: &Spool,
    upstreams: &Upstreams,
    job: &Job,
    window: &mut Window,
) -> Result<(), EndReason> {
    let (mut connection, open) = connect(spool, upstreams, job).await.map_err(EndReason::Lost)?;
    spool.sends(job.spool_queue, upstreams.now_ms());
    let mut sender = Sender::new(spool, upstreams, open.upstream, job, window);
    let sent = sender.send_all(&mut connection).await;
    sender.tell();
    sent?;
    connection.close(CLOSE_TIMEOUT).await;
    Ok(())
}

async fn connect<'a>(
    spool: &Spool,
    upstreams: &'a Upstreams,
    job: &Job,
) -> Result<(Connection, OpenConnection<'a>), String> {
    let Ok(password) = std::str::from_utf8(&job.secret) else {
        return Err("the user's password is not UTF-8".to_owned());
    };
    let DialedConnection { upstream, stream, .. } =
        upstreams.dial(Some(&*job.vhost), None, DIAL_TIMEOUT, |_| {}).await?;
    let uri = Uri {
        user: job.user.to_string(),
        password: password.to_owned(),
        vhost: job.vhost.to_string(),
        ..Uri::default()
    };
    let options = ConnectOptions {
        name: Some("warren proxy, spool".to_owned()),
        heartbeat: HEARTBEAT_S,
        timeout: HANDSHAKE_TIMEOUT,
        answer_timeout: HANDSHAKE_TIMEOUT,
        ..ConnectOptions::default()
    };
    match Connection::over(stream, &uri, &options).await {
        Ok(connection) => Ok((connection, OpenConnection::new(upstreams, upstream, &job.vhost))),
        Err(error) => {
            let text = without_address(&error);
            match &error {
                OpenError::LoginRefused { .. } => spool.refused(&job.user, &job.secret, None),
                OpenError::Refused { code, text, .. } if says_no_access(*code, text) => {
                    spool.refused(&job.user, &job.secret, Some(&job.vhost));
                }
                _ => {}
            }
            let vhost = &*job.vhost;
            match fault_of(&error) {
                Fault::Vhost(said) => upstreams.refused(upstream, vhost, said),
                Fault::Upstream => upstreams.failed(upstream, Some(vhost), &text),
                Fault::Login => upstreams.abandoned(upstream, Some(vhost)),
            }
            Err(text)
        }
    }
}

/// What is at fault when a connection is not opened.
#[derive(Debug, PartialEq, Eq)]
enum Fault<'a> {
    /// The upstream refuses the vhost, in these words.
    Vhost(&'a str),
    /// The upstream is not well, or refuses every user.
    Upstream,
    /// It said no to this login, or to one more connection of it.
    Login,
}

fn fault_of(error: &OpenError) -> Fault<'_> {
    match error {
        OpenError::Refused { code, text, has_logged_in: true, .. } if says_vhost_not_here(*code, text) => {
            Fault::Vhost(text)
        }
        OpenError::Refused { code, text, .. } if says_not_here(*code, text) => Fault::Upstream,
        error if error.is_passing() => Fault::Upstream,
        _ => Fault::Login,
    }
}

/// The URI names no upstream: that is the balance's.
fn without_address(error: &OpenError) -> String {
    match error {
        OpenError::LoginRefused { text, .. } => text.clone(),
        OpenError::Refused { code, text, .. } => format!("{code} {text}"),
        OpenError::Lost { source, .. } => format!("the upstream connection was lost: {source}"),
        OpenError::TimedOut { timeout, .. } => {
            format!("the upstream did not open the connection within {} s", timeout.as_secs_f64())
        }
        other => other.to_string(),
    }
}

/// An open connection to an upstream, as the balance counts it.
struct OpenConnection<'a> {
    upstreams: &'a Upstreams,
    upstream: UpstreamId,
}

impl<'a> OpenConnection<'a> {
    fn new(upstreams: &'a Upstreams, upstream: UpstreamId, vhost: &str) -> Self {
        upstreams.opened(upstream, Some(vhost));
        OpenConnection { upstreams, upstream }
    }
}

impl Drop for OpenConnection<'_> {
    fn drop(&mut self) {
        self.upstreams.lost(self.upstream);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_vhost_is_refused_for_is_not_its_upstreams_fault() {
        let refused = |code, text: &str, has_logged_in| OpenError::Refused {
            address: "a:5672".to_owned(),
            code,
            text: text.to_owned(),
            has_logged_in,
        };
        let is_down = "INTERNAL_ERROR - access to vhost 'v' refused for user 'u': vhost 'v' is down";
        let is_full = "NOT_ALLOWED - connection refused: node connection limit (1) is reached";
        for (error, fault) in [
            (refused(541, is_down, true), Fault::Vhost(is_down)),
            (refused(320, "CONNECTION_FORCED - shutdown", false), Fault::Upstream),
            (refused(530, is_full, true), Fault::Upstream),
            (refused(530, "NOT_ALLOWED - vhost v not found", true), Fault::Login),
        ] {
            assert_eq!(fault_of(&error), fault);
        }
    }
}
