//! Logging in by OAuth 2: the broker is the client of the provider, so that the console's page asks no foreign host.
//!
//! ```text
//!  page ─► /api/oauth/login ─► 302: the provider, with state, nonce and the hash of a secret (PKCE)
//!  provider ─► 302: /api/oauth/callback ─► code for token, at the provider ─► a session ─► 302: the page
//! ```
//!
//! What belongs to a login that has begun is kept here for ten minutes, and a cookie of its own says which browser has begun it: a code
//! that another browser brings is of no use. Tokens stay in memory. `pending` keeps logins, `provider` asks the provider.

mod pending;
mod provider;

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http_client::HttpUrl;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use sha2::{Digest as _, Sha256};

pub(crate) use pending::PendingLogin;
use pending::PendingLogins;
use provider::Provider;
pub(crate) use provider::Tokens;

/// How the console logs in by OAuth 2 for a resource server.
#[derive(Clone)]
pub struct OAuthOptions {
    /// The resource server that tokens are to be for.
    pub id: String,
    /// What users choose it by.
    pub label: String,
    /// The broker's id at the provider; empty where users only begin there.
    pub client_id: String,
    /// Its secret; a public client has none.
    pub client_secret: Option<String>,
    /// The provider's URL, as pages show it.
    pub provider_url: String,
    /// Where the provider describes itself.
    pub metadata: HttpUrl,
    /// The scopes that are asked for, with a space between.
    pub scopes: String,
    /// Further parameters of the request for a login.
    pub authorization_params: Vec<(String, String)>,
    /// Further parameters of the request for a token.
    pub token_params: Vec<(String, String)>,
    /// Whether users begin at the provider: the page only leads there.
    pub is_idp_initiated: bool,
}

impl fmt::Debug for OAuthOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not the secret, nor parameters, which may be some.
        f.debug_struct("OAuthOptions").field("client_id", &self.client_id).finish_non_exhaustive()
    }
}

/// Logins by OAuth 2 for a resource server.
#[derive(Debug)]
pub(crate) struct OAuth {
    pub(crate) options: Arc<OAuthOptions>,
    provider: Provider,
    pending: PendingLogins,
}

/// Where a browser is sent, and the cookie by which it is known again.
pub(crate) struct BegunLogin {
    pub(crate) location: String,
    pub(crate) cookie: String,
}

/// Why a login failed, in one sentence for the page.
pub(crate) type Failure = String;

impl OAuth {
    pub(crate) fn new(options: Arc<OAuthOptions>) -> OAuth {
        OAuth { provider: Provider::new(options.clone()), options, pending: PendingLogins::default() }
    }

    /// Begins a login that is to lead back to a place of the page.
    pub(crate) async fn begin(
        &self,
        return_to: &str,
        redirect_uri: String,
        now: Instant,
    ) -> Result<BegunLogin, Failure> {
        let endpoint = self.provider.authorization_endpoint(now).await?;
        let [state, nonce, verifier, cookie] = [secret()?, secret()?, secret()?, secret()?];
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()));
        let own = [
            ("response_type", "code"),
            ("client_id", &self.options.client_id),
            ("redirect_uri", &redirect_uri),
            ("scope", &self.options.scopes),
            ("state", &state),
            ("nonce", &nonce),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
        ];
        let further = self.options.authorization_params.iter().map(|(name, value)| (&**name, &**value));
        let separator = if endpoint.contains('?') { '&' } else { '?' };
        let location = format!("{endpoint}{separator}{}", form(own.into_iter().chain(further)));
        let return_to = own_place(return_to);
        let login = PendingLogin { verifier, nonce, redirect_uri, return_to, cookie: cookie.clone(), begun_at: now };
        self.pending.insert(state, login);
        Ok(BegunLogin { location, cookie })
    }

    /// Takes the login that the provider has sent a browser back from. None: there is none, or it is another browser's.
    pub(crate) fn take(&self, state: &str, cookie: Option<&str>, now: Instant) -> Option<PendingLogin> {
        self.pending.take(state, now).filter(|login| cookie == Some(&*login.cookie))
    }

    /// Ends a login, for the provider's code: gives the tokens.
    pub(crate) async fn finish(&self, login: &PendingLogin, code: &str, now: Instant) -> Result<Tokens, Failure> {
        let tokens = self.provider.exchange(code, &login.redirect_uri, &login.verifier, now).await?;
        match &tokens.nonce {
            Some(nonce) if *nonce != login.nonce => Err("the provider's answer belongs to another login".to_owned()),
            _ => Ok(tokens),
        }
    }

    /// New tokens for a refresh token.
    pub(crate) async fn refresh(&self, refresh_token: &str, now: Instant) -> Result<Tokens, Failure> {
        self.provider.refresh(refresh_token, now).await
    }
}

/// 256 random bits in base64url.
fn secret() -> Result<String, Failure> {
    let mut bytes = [0; 32];
    broker::fill_random(&mut bytes).map_err(|error| error.to_string())?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// Parameters as a form has them.
fn form<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let pair = |(name, value): (&str, &str)| {
        format!("{}={}", utf8_percent_encode(name, NON_ALPHANUMERIC), utf8_percent_encode(value, NON_ALPHANUMERIC))
    };
    pairs.map(pair).collect::<Vec<_>>().join("&")
}

/// The parameter of a place that says why a login has failed.
const ERROR: &str = "login_error=";

/// A place of our own page, which is a fragment; anything else is its beginning. Why an earlier login has failed is no part of it.
pub(crate) fn own_place(return_to: &str) -> String {
    let is_plain = |char: char| char.is_ascii_graphic() && !"\"<>\\^`{|}".contains(char);
    if !return_to.starts_with("#/") || !return_to.chars().all(is_plain) {
        return "#/".to_owned();
    }
    let Some((path, query)) = return_to.split_once('?') else { return return_to.to_owned() };
    let kept: Vec<&str> = query.split('&').filter(|part| !part.starts_with(ERROR)).collect();
    if kept.is_empty() { path.to_owned() } else { format!("{path}?{}", kept.join("&")) }
}

/// A place of our own page, with the reason why a login that was to lead there has failed.
pub(crate) fn with_error(place: &str, reason: &str) -> String {
    let separator = if place.contains('?') { '&' } else { '?' };
    format!("{place}{separator}{ERROR}{}", utf8_percent_encode(reason, NON_ALPHANUMERIC))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_leads_back_to_a_place_of_the_page_and_nowhere_else() {
        for own in ["#/", "#/queues/%2F/orders?sort=name", "#/a/b#c"] {
            assert_eq!(own_place(own), own);
        }
        for other in
            ["", "/", "//evil.example", "https://evil.example", "#", "#//\r\nx", "#/ä", "#/<x>", "javascript:x"]
        {
            assert_eq!(own_place(other), "#/", "{other}");
        }
        let failed = with_error(&with_error("#/queues?name=a", "it broke"), "again");
        assert_eq!(failed, "#/queues?name=a&login_error=it%20broke&login_error=again");
        assert_eq!(own_place(&failed), "#/queues?name=a");
        assert_eq!(own_place(&with_error("#/", "it broke")), "#/");
    }

    #[test]
    fn parameters_are_escaped() {
        assert_eq!(form([("a b", "c&d"), ("e", "/")].into_iter()), "a%20b=c%26d&e=%2F");
    }

    #[test]
    fn options_do_not_print_secrets() {
        let options = OAuthOptions {
            id: String::new(),
            label: String::new(),
            client_id: "console".to_owned(),
            client_secret: Some("s3cret".to_owned()),
            provider_url: "https://id.example".to_owned(),
            metadata: HttpUrl::parse("https://id.example/x").unwrap(),
            scopes: "openid".to_owned(),
            authorization_params: Vec::new(),
            token_params: vec![("p".to_owned(), "s3cret".to_owned())],
            is_idp_initiated: false,
        };
        assert!(!format!("{options:?}").contains("s3cret"));
    }
}
