//! What operators read.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::switchboard::{ClientId, Notice};

/// Says, once a second at most, that there are no more files for connections.
pub(crate) fn out_of_files(error: &io::Error) {
    if is_first_in_this_second() {
        tracing::error!(%error, "connections are refused: the limit of open files is reached; raise it (ulimit -n)");
    }
}

/// The same of clients, where the files that are left are kept for connections to upstreams.
pub(crate) fn no_file_for_client() {
    if is_first_in_this_second() {
        tracing::error!(
            "connections are refused because the limit of open files is reached, except for those reserved for upstreams; raise it \
             (ulimit -n)"
        );
    }
}

fn is_first_in_this_second() -> bool {
    static LAST_S: AtomicU64 = AtomicU64::new(0);
    let now_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    LAST_S.swap(now_s, Ordering::Relaxed) != now_s
}

pub(crate) fn notice(notice: &Notice, peer_of: impl Fn(ClientId) -> Option<SocketAddr>) {
    match notice {
        Notice::LateError { user, vhost, code, text } => {
            tracing::warn!(%user, %vhost, code, %text, "publish failed after its client had disconnected");
        }
        Notice::LateReturn { user, vhost, text } => {
            tracing::warn!(%user, %vhost, %text, "message returned after its client had disconnected");
        }
        Notice::LateLoss { user, vhost, count } => {
            tracing::warn!(%user, %vhost, count, "publishes unconfirmed when their connection was lost, after their clients had \
                 disconnected");
        }
        Notice::Unconfirmed { user, vhost, count } => {
            tracing::warn!(%user, %vhost, count, "publishes unconfirmed for a long time, after their clients had disconnected");
        }
        Notice::LoginRefused { user, text } => tracing::warn!(%user, %text, "login was refused"),
        Notice::GaveUp { user, text, count } => {
            tracing::warn!(%user, count, %text, "clients were closed: they had waited too long for an upstream");
        }
        Notice::SlowClient(id) => {
            let peer = peer_of(*id).map(|peer| peer.to_string());
            tracing::warn!(peer, "client disconnected because it does not read its connection");
        }
        Notice::Garbled { text, .. } => tracing::error!(%text, "an upstream does not speak as agreed"),
    }
}
