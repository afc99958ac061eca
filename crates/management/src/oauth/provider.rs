//! What is asked of the provider: where its endpoints are, tokens for a code, new tokens for old ones.

use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use http_client::HttpUrl;
use parking_lot::Mutex;
use serde_json::Value;

use super::{Failure, OAuthOptions, form};

/// How long an answer may take.
const TIMEOUT: Duration = Duration::from_secs(10);
/// How long what the provider says about itself is believed.
const METADATA_AGE_MAX: Duration = Duration::from_secs(600);
/// Bytes of a token, or of an answer's text that is shown.
const TOKEN_LEN_MAX: usize = 16 << 10;

/// The provider.
pub(super) struct Provider {
    options: Arc<OAuthOptions>,
    endpoints: Mutex<Option<(Instant, Endpoints)>>,
}

impl std::fmt::Debug for Provider {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Provider").field("options", &self.options).finish_non_exhaustive()
    }
}

#[derive(Clone)]
struct Endpoints {
    authorization: String,
    token: HttpUrl,
}

/// What the provider gives for a code.
pub(crate) struct Tokens {
    pub(crate) access_token: String,
    pub(crate) refresh_token: Option<String>,
    /// What the token about the user says of the login that it is for. It comes from the provider itself, so its signature is not
    /// looked at.
    pub(super) nonce: Option<String>,
}

impl Provider {
    pub(super) fn new(options: Arc<OAuthOptions>) -> Provider {
        Provider { options, endpoints: Mutex::default() }
    }

    pub(super) async fn authorization_endpoint(&self, now: Instant) -> Result<String, Failure> {
        Ok(self.endpoints(now).await?.authorization)
    }

    async fn endpoints(&self, now: Instant) -> Result<Endpoints, Failure> {
        if let Some((known_at, endpoints)) = &*self.endpoints.lock()
            && now.saturating_duration_since(*known_at) < METADATA_AGE_MAX
        {
            return Ok(endpoints.clone());
        }
        let metadata = &self.options.metadata;
        let unreachable = |reason: String| {
            tracing::warn!(provider = %metadata, %reason, "OAuth 2 provider unreachable");
            "the provider's metadata could not be read".to_owned()
        };
        let answer = http_client::get(metadata, TIMEOUT).await.map_err(|error| unreachable(error.to_string()))?;
        let described = serde_json::from_slice::<Value>(&answer.body).ok().filter(|_| answer.status.is_success());
        let described = described.ok_or_else(|| unreachable(format!("it answered {}", answer.status)))?;
        let endpoints = self.read(&described).map_err(unreachable)?;
        *self.endpoints.lock() = Some((now, endpoints.clone()));
        Ok(endpoints)
    }

    fn read(&self, described: &Value) -> Result<Endpoints, String> {
        let text = |name: &str| {
            let text = described.get(name).and_then(Value::as_str);
            text.ok_or_else(|| format!("its metadata has no {name}"))
        };
        let authorization = text("authorization_endpoint")?;
        // Where a browser is sent to; what is no URL of the web must not become one.
        HttpUrl::parse(authorization).map_err(|error| error.to_string())?;
        let token = HttpUrl::parse(text("token_endpoint")?).map_err(|error| error.to_string())?;
        let token = token.trusting_as(&self.options.metadata);
        Ok(Endpoints { authorization: authorization.to_owned(), token })
    }

    pub(super) async fn exchange(
        &self,
        code: &str,
        redirect_uri: &str,
        verifier: &str,
        now: Instant,
    ) -> Result<Tokens, Failure> {
        let grant = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", redirect_uri),
            ("code_verifier", verifier),
        ];
        self.ask_for_tokens(&grant, now).await
    }

    pub(super) async fn refresh(&self, refresh_token: &str, now: Instant) -> Result<Tokens, Failure> {
        self.ask_for_tokens(&[("grant_type", "refresh_token"), ("refresh_token", refresh_token)], now).await
    }

    async fn ask_for_tokens(&self, grant: &[(&str, &str)], now: Instant) -> Result<Tokens, Failure> {
        let endpoint = self.endpoints(now).await?.token;
        let own =
            [("client_id", Some(&*self.options.client_id)), ("client_secret", self.options.client_secret.as_deref())];
        let own = own.into_iter().filter_map(|(name, value)| Some((name, value?)));
        let further = self.options.token_params.iter().map(|(name, value)| (&**name, &**value));
        let body = Bytes::from(form(grant.iter().copied().chain(own).chain(further)));
        let answer = http_client::post(&endpoint, "application/x-www-form-urlencoded", body, TIMEOUT).await;
        let answer = answer.map_err(|error| {
            tracing::warn!(provider = %endpoint, %error, "OAuth 2 provider returned no token");
            "the token request to the provider failed".to_owned()
        })?;
        let given = serde_json::from_slice::<Value>(&answer.body).unwrap_or_default();
        let text = |name: &str| {
            let text = given.get(name).and_then(Value::as_str);
            text.filter(|text| text.len() <= TOKEN_LEN_MAX).map(str::to_owned)
        };
        match text("access_token").filter(|_| answer.status.is_success()) {
            Some(access_token) => Ok(Tokens {
                access_token,
                refresh_token: text("refresh_token"),
                nonce: text("id_token").and_then(|token| nonce_of(&token)),
            }),
            None => {
                let reason = text("error").unwrap_or_default();
                tracing::warn!(provider = %endpoint, status = %answer.status, %reason, "OAuth 2 provider returned no token");
                Err("the provider returned no token".to_owned())
            }
        }
    }
}

/// What a token says of the login that it is for.
fn nonce_of(token: &str) -> Option<String> {
    let claims = URL_SAFE_NO_PAD.decode(token.split('.').nth(1)?.trim_end_matches('=')).ok()?;
    let claims: Value = serde_json::from_slice(&claims).ok()?;
    Some(claims.get("nonce")?.as_str()?.to_owned())
}
