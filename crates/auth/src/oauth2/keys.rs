//! Keys that tokens are signed with: configured ones, and those that the issuer publishes (JWKS), which are asked for when
//! a token names one that is not known.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http_client::{Client, HttpUrl, Request};
use hyper::Method;
use jsonwebtoken::DecodingKey;
use jsonwebtoken::jwk::JwkSet;
use tokio::sync::Mutex;

use super::TokenError;

/// Where keys come from.
#[derive(Clone)]
pub struct KeySource {
    /// Keys that are known beforehand, by their ids.
    pub configured: HashMap<String, DecodingKey>,
    /// Where the issuer publishes its keys.
    pub jwks: Option<HttpUrl>,
    /// How long it may take to answer.
    pub timeout: Duration,
}

impl fmt::Debug for KeySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ids: Vec<_> = self.configured.keys().collect();
        f.debug_struct("KeySource").field("configured", &ids).field("jwks", &self.jwks).finish_non_exhaustive()
    }
}

/// The issuer is asked no more often than this for a key that it did not have the last time: or else whoever makes up ids could make
/// it be asked without end.
const ASK_EVERY: Duration = Duration::from_secs(10);
/// Published keys are asked for anew after this, so that what the issuer takes back is not accepted for ever.
const KEPT_FOR: Duration = Duration::from_secs(3600);

/// All keys that are known.
pub(super) struct Keys {
    source: KeySource,
    published: Mutex<Published>,
}

#[derive(Default)]
struct Published {
    keys: HashMap<String, Arc<DecodingKey>>,
    /// The key of a set with only one, which needs no id.
    only: Option<Arc<DecodingKey>>,
    asked_at: Option<Instant>,
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.source.fmt(f)
    }
}

impl Keys {
    pub(super) fn new(source: KeySource) -> Self {
        Self { source, published: Mutex::default() }
    }

    /// The key of this id; without one, the only key there is.
    pub(super) async fn find(&self, id: Option<&str>) -> Result<Arc<DecodingKey>, TokenError> {
        let configured = match id {
            Some(id) => self.source.configured.get(id),
            None if self.source.configured.len() == 1 => self.source.configured.values().next(),
            None => None,
        };
        if let Some(key) = configured {
            return Ok(Arc::new(key.clone()));
        }
        let unknown = || match id {
            Some(id) => TokenError::Refused(format!("the token's key '{id}' is not known")),
            None => TokenError::Refused("the token names no key".to_owned()),
        };
        let Some(url) = &self.source.jwks else { return Err(unknown()) };
        let mut published = self.published.lock().await;
        let age = published.asked_at.map(|at| at.elapsed());
        let is_known = published.get(id).is_some() && age.is_some_and(|age| age < KEPT_FOR);
        if !is_known && age.is_none_or(|age| age >= ASK_EVERY) {
            published.asked_at = Some(Instant::now());
            match fetch(url, self.source.timeout).await {
                Ok(keys) => published.replace(&keys),
                // What was known goes on being good while the issuer cannot be asked.
                Err(reason) if published.get(id).is_some() => {
                    tracing::error!(%reason, "the keys of the tokens' issuer could not be asked for");
                }
                Err(reason) => {
                    published.asked_at = None;
                    return Err(TokenError::Failed(reason));
                }
            }
        }
        published.get(id).ok_or_else(unknown)
    }
}

impl Published {
    fn get(&self, id: Option<&str>) -> Option<Arc<DecodingKey>> {
        match id {
            Some(id) => self.keys.get(id).cloned(),
            None => self.only.clone(),
        }
    }

    fn replace(&mut self, set: &JwkSet) {
        self.keys.clear();
        let mut all = Vec::new();
        for jwk in &set.keys {
            // A key of a kind that is not known here may be for somebody else.
            let Ok(key) = DecodingKey::from_jwk(jwk) else { continue };
            let key = Arc::new(key);
            all.push(key.clone());
            if let Some(id) = &jwk.common.key_id {
                self.keys.insert(id.clone(), key);
            }
        }
        self.only = if let [only] = &all[..] { Some(only.clone()) } else { None };
    }
}

async fn fetch(url: &HttpUrl, timeout: Duration) -> Result<JwkSet, String> {
    let path = url.path().to_owned();
    let mut client = Client::new(url.clone().with_path(""), timeout);
    let answer = client.ask(&Request::new(Method::GET).below(path)).await;
    let answer = answer.map_err(|error| format!("cannot get the keys from {url}: {error}"))?;
    if !answer.status.is_success() {
        return Err(format!("cannot get the keys from {url}: status {}", answer.status.as_u16()));
    }
    serde_json::from_slice(&answer.body).map_err(|error| format!("what {url} has is no set of keys: {error}"))
}
