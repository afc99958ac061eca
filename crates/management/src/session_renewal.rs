//! Sessions of users that a token names: it is renewed before it ends, as long as there is the session.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use broker::Origin;

use crate::cookie::now_ms;
use crate::oauth::OAuth;
use crate::service::Service;

/// A token is renewed so long before its end.
const RENEWAL_MARGIN: Duration = Duration::from_secs(60);

/// A session whose token is renewed.
pub(crate) struct RenewedSession {
    /// What the browser's cookie has.
    pub(crate) token: String,
    pub(crate) refresh_token: String,
    pub(crate) origin: Origin,
    /// When the token ends, and until when the session lasts at most, in milliseconds since 1970.
    pub(crate) expires_at_ms: u64,
    pub(crate) until_ms: u64,
}

/// Renews a session's token before it ends, as long as there is the session. A failure is logged, and the session ends with its token.
pub(crate) fn keep_alive(service: &Arc<Service>, oauth: &Arc<OAuth>, session: RenewedSession) {
    tokio::spawn(renew(Arc::downgrade(service), oauth.clone(), session));
}

async fn renew(service: Weak<Service>, oauth: Arc<OAuth>, mut session: RenewedSession) {
    while session.expires_at_ms < session.until_ms {
        let left = Duration::from_millis(session.expires_at_ms.saturating_sub(now_ms()));
        tokio::time::sleep(left.saturating_sub(RENEWAL_MARGIN.min(left / 5))).await;
        if !session.renew(&service, &oauth).await {
            return;
        }
    }
}

impl RenewedSession {
    /// Renews the token. False: the session has ended, or will with the token that it has.
    pub(crate) async fn renew(&mut self, service: &Weak<Service>, oauth: &OAuth) -> bool {
        let is_open =
            |service: Arc<Service>| service.broker.login_session(&self.token, &self.origin, now_ms()).is_some();
        if !service.upgrade().is_some_and(is_open) {
            return false;
        }
        let tokens = match oauth.refresh(&self.refresh_token, Instant::now()).await {
            Ok(tokens) => tokens,
            Err(reason) => {
                tracing::warn!(%reason, "renewal of a session's token failed");
                return false;
            }
        };
        let Some(service) = service.upgrade() else { return false };
        let Ok(actor) = service.log_in_by_token(tokens.access_token.as_bytes(), self.origin).await else {
            return false;
        };
        let renewed = service.broker.renew_login_session(&self.token, &actor.identity, self.until_ms);
        let Some(expires_at_ms) = renewed else { return false };
        // A token that ends no later than the one before would be renewed again and again.
        let is_later = expires_at_ms > self.expires_at_ms;
        self.expires_at_ms = expires_at_ms;
        self.refresh_token = tokens.refresh_token.unwrap_or_else(|| std::mem::take(&mut self.refresh_token));
        is_later
    }
}
