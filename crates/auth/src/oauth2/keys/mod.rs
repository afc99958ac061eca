//! Keys that tokens are signed with: configured ones, and those that the issuer publishes (JWKS), which are asked for when
//! a token names one that is not known, and when they have become old.
//!
//! The issuer is asked by a task of its own, at most one at a time. Only logins that need an unknown key wait for it: known
//! keys stay valid meanwhile, and for as long as the issuer does not answer.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http_client::{Client, HttpUrl, Request};
use hyper::Method;
use jsonwebtoken::DecodingKey;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::watch;

use super::TokenError;
use super::key_set::KeySet;

/// Where keys come from.
#[derive(Clone)]
pub struct KeySource {
    /// Keys that are known beforehand, by their ids.
    pub configured: HashMap<String, DecodingKey>,
    /// Where the issuer publishes its keys.
    pub jwks: Option<HttpUrl>,
    /// Where it says where that is, if it is not known.
    pub discovery: Option<HttpUrl>,
    /// How long it may take to answer.
    pub timeout: Duration,
}

impl fmt::Debug for KeySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ids: Vec<_> = self.configured.keys().collect();
        f.debug_struct("KeySource")
            .field("configured", &ids)
            .field("jwks", &self.jwks)
            .field("discovery", &self.discovery)
            .finish_non_exhaustive()
    }
}

/// The issuer is asked no more often than this, whether it answers or not: or else tokens with
/// made-up key ids could cause requests without end.
const ASK_EVERY: Duration = Duration::from_secs(10);
/// Published keys are asked for anew after this, so that what the issuer takes back is not accepted for ever.
const KEPT_FOR: Duration = Duration::from_secs(3600);

/// All keys that are known.
pub(super) struct Keys {
    source: KeySource,
    published: Arc<Mutex<IssuerKeys>>,
}

/// What is known of the issuer's keys.
#[derive(Default)]
struct IssuerKeys {
    set: KeySet,
    /// When they were fetched.
    fetched_at: Option<Instant>,
    /// When they were last asked for, whatever came of it.
    tried_at: Option<Instant>,
    /// Why nothing came of that.
    failure: Option<String>,
    /// The attempt under way, or the last one. Nothing is sent: the other end is dropped when it ends.
    attempt: Option<watch::Receiver<()>>,
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.source.fmt(f)
    }
}

impl Keys {
    pub(super) fn new(source: KeySource) -> Self {
        Self { source, published: Arc::default() }
    }

    /// The key of this id; without one, the only key there is.
    pub(super) async fn find(&self, id: Option<&str>) -> Result<Arc<DecodingKey>, TokenError> {
        self.find_at(id, Instant::now()).await
    }

    async fn find_at(&self, id: Option<&str>, now: Instant) -> Result<Arc<DecodingKey>, TokenError> {
        let configured = match id {
            Some(id) => self.source.configured.get(id),
            None if self.source.configured.len() == 1 => self.source.configured.values().next(),
            None => None,
        };
        if let Some(key) = configured {
            return Ok(Arc::new(key.clone()));
        }
        let unknown = || match id {
            Some(id) => TokenError::Refused(format!("unknown key '{id}' of the token")),
            None => TokenError::Refused("the token names no key".to_owned()),
        };
        let place = match (&self.source.jwks, &self.source.discovery) {
            (Some(url), _) => KeyLocation::Known(url.clone()),
            (None, Some(url)) => KeyLocation::Discovered(url.clone()),
            (None, None) => return Err(unknown()),
        };
        let attempt = {
            let mut published = self.published.lock();
            let known = published.set.get(id);
            let is_fresh = published.fetched_at.is_some_and(|at| now.saturating_duration_since(at) < KEPT_FOR);
            let attempt = if known.is_some() && is_fresh { None } else { self.ask_if_due(&mut published, &place, now) };
            match known {
                Some(key) => return Ok(key),
                None => attempt,
            }
        };
        if let Some(mut attempt) = attempt {
            while attempt.changed().await.is_ok() {}
        }
        let published = self.published.lock();
        match (published.set.get(id), &published.failure) {
            (Some(key), _) => Ok(key),
            (None, Some(reason)) => Err(TokenError::Failed(reason.clone())),
            (None, None) => Err(unknown()),
        }
    }

    /// The attempt under way, or a new one; none if the last one was only just now.
    fn ask_if_due(&self, published: &mut IssuerKeys, place: &KeyLocation, now: Instant) -> Option<watch::Receiver<()>> {
        if let Some(attempt) = published.attempt.as_ref().filter(|attempt| attempt.has_changed().is_ok()) {
            return Some(attempt.clone());
        }
        if published.tried_at.is_some_and(|at| now.saturating_duration_since(at) < ASK_EVERY) {
            return None;
        }
        published.tried_at = Some(now);
        let (under_way, attempt) = watch::channel(());
        published.attempt = Some(attempt.clone());
        let (published, place, timeout) = (self.published.clone(), place.clone(), self.source.timeout);
        // In a task of its own: it continues when the login that wanted it has ended, and logins that do not need it do not wait.
        tokio::spawn(async move {
            let asked_at = Instant::now();
            let fetched = fetch(&place, timeout).await;
            published.lock().take(fetched, now + asked_at.elapsed());
            drop(under_way);
        });
        Some(attempt)
    }
}

impl IssuerKeys {
    /// What came of an attempt that ended now.
    fn take(&mut self, fetched: Result<KeySet, String>, now: Instant) {
        self.tried_at = Some(now);
        match fetched {
            Ok(set) => {
                (self.set, self.fetched_at, self.failure) = (set, Some(now), None);
            }
            Err(reason) => {
                if !self.set.is_empty() {
                    tracing::error!(%reason, "request for the issuer's keys failed; the known keys stay in use");
                }
                self.failure = Some(reason);
            }
        }
    }
}

/// Where an issuer's keys are.
#[derive(Clone)]
enum KeyLocation {
    /// There.
    Known(HttpUrl),
    /// Where the issuer says, which is asked there.
    Discovered(HttpUrl),
}

async fn fetch(place: &KeyLocation, timeout: Duration) -> Result<KeySet, String> {
    let url = match place {
        KeyLocation::Known(url) => url.clone(),
        KeyLocation::Discovered(url) => discover(url, timeout).await?,
    };
    let body = get(&url, timeout, "the keys").await?;
    KeySet::parse(&body).map_err(|error| format!("the response of {url} is not a key set: {error}"))
}

/// Asks an issuer where its keys are (OpenID Connect Discovery 1.0, 4). They are asked for as it was: the authorities trusted for one
/// answer are trusted for the other, and a place without TLS is not taken from one with it.
async fn discover(url: &HttpUrl, timeout: Duration) -> Result<HttpUrl, String> {
    let body = get(url, timeout, "the description").await?;
    let described: Value = serde_json::from_slice(&body)
        .map_err(|error| format!("the response of {url} is not a provider description: {error}"))?;
    let place = described["jwks_uri"].as_str().ok_or_else(|| format!("the description at {url} has no 'jwks_uri'"))?;
    let keys = HttpUrl::parse(place)
        .map_err(|error| format!("the description at {url} has an invalid 'jwks_uri': {error}"))?;
    if url.is_tls() && !keys.is_tls() {
        return Err(format!("the description at {url} has a 'jwks_uri' without TLS"));
    }
    Ok(keys.trusting_as(url))
}

async fn get(url: &HttpUrl, timeout: Duration, what: &str) -> Result<Vec<u8>, String> {
    let path = url.path().to_owned();
    let mut client = Client::new(url.clone().with_path(""), timeout);
    let answer = client.ask(&Request::new(Method::GET).below(path)).await;
    let answer = answer.map_err(|error| format!("cannot get {what} from {url}: {error}"))?;
    if !answer.status.is_success() {
        return Err(format!("cannot get {what} from {url}: status {}", answer.status.as_u16()));
    }
    Ok(answer.body.to_vec())
}

#[cfg(test)]
mod tests;
