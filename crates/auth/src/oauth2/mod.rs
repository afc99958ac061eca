//! OAuth 2: a JSON Web Token in the place of the password identifies the user, says until when, and by its scopes what the user may do
//! (RabbitMQ's `rabbitmq_auth_backend_oauth2`).

mod claims;
mod key_set;
mod keys;
mod scope;

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use broker::{Answer, Backend, BackendUser, Decision, Grants, LoginAnswer, LoginAttempt, Origin, Question};
use jsonwebtoken::{Algorithm, Validation};
use model::user::Tags;

use claims::Claims;
pub use key_set::web_key;
pub use keys::KeySource;
use keys::Keys;
pub use scope::{Scope, ScopeError};

/// What tokens must be like, and what is read from them.
#[derive(Debug, Clone)]
pub struct OAuth2Options {
    /// What tokens have to be for (`aud`), and what scopes begin with.
    pub resource_server_id: String,
    /// What scopes begin with, where that is something else.
    pub scope_prefix: Option<String>,
    /// Whether `aud` has to have the resource server's id.
    pub verifies_audience: bool,
    /// The issuer that tokens must have (`iss`), if that is to be checked.
    pub issuer: Option<String>,
    /// Claims that may have the user's name, before `sub` and `client_id`.
    pub preferred_username_claims: Vec<String>,
    /// Claims that have scopes besides `scope`, as dotted paths.
    pub additional_scopes_keys: Vec<String>,
    /// What scopes of other names stand for.
    pub scope_aliases: BTreeMap<String, Vec<String>>,
    /// Signatures that are accepted; empty: all that keys cannot be shared for.
    pub algorithms: Vec<Algorithm>,
    /// The key's id where a token names none.
    pub default_key: Option<String>,
    /// Where keys come from.
    pub keys: KeySource,
}

/// The back end: for each resource server what its tokens must be like.
#[derive(Debug, Clone)]
pub struct OAuth2(Arc<[ResourceServer]>);

#[derive(Debug)]
struct ResourceServer {
    options: OAuth2Options,
    keys: Keys,
}

/// What a token allows.
#[derive(Debug)]
struct TokenGrant(Vec<Scope>);

impl Grants for TokenGrant {
    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Why a token is not accepted. The texts are for the log.
#[derive(Debug)]
enum TokenError {
    /// It says nothing that can be believed.
    Refused(String),
    /// It cannot be checked now.
    Failed(String),
}

impl fmt::Display for TokenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TokenError::Refused(reason) | TokenError::Failed(reason) => f.write_str(reason),
        }
    }
}

/// All signatures whose keys need not be kept secret here.
const ASYMMETRIC: [Algorithm; 9] = [
    Algorithm::RS256,
    Algorithm::RS384,
    Algorithm::RS512,
    Algorithm::PS256,
    Algorithm::PS384,
    Algorithm::PS512,
    Algorithm::ES256,
    Algorithm::ES384,
    Algorithm::EdDSA,
];

/// How far clocks may be apart.
const LEEWAY: Duration = Duration::from_secs(0);

impl OAuth2 {
    /// A back end that takes tokens like these.
    #[must_use]
    pub fn new(options: OAuth2Options) -> Self {
        Self::of_servers(vec![options])
    }

    /// A back end that takes tokens for any of several resource servers.
    #[must_use]
    pub fn of_servers(servers: Vec<OAuth2Options>) -> Self {
        let server = |options: OAuth2Options| ResourceServer { keys: Keys::new(options.keys.clone()), options };
        Self(servers.into_iter().map(server).collect())
    }

    /// The resource server that a token says it is for. That is not believed yet: the server's own keys decide whether it is true.
    fn server_of(&self, token: &str) -> Result<&ResourceServer, TokenError> {
        if let [only] = &*self.0 {
            return Ok(only);
        }
        let audience = claims::unverified_audience(token);
        let is_meant = |server: &&ResourceServer| audience.contains(&server.options.resource_server_id);
        let is_lenient = |server: &&ResourceServer| !server.options.verifies_audience;
        let meant: Vec<&ResourceServer> = self.0.iter().filter(is_meant).collect();
        let lenient: Vec<&ResourceServer> = self.0.iter().filter(is_lenient).collect();
        match (&meant[..], &lenient[..]) {
            ([server], _) | ([], [server]) => Ok(server),
            ([], _) => Err(TokenError::Refused("the token is for none of the resource servers".to_owned())),
            _ => Err(TokenError::Refused("the token is for several of the resource servers".to_owned())),
        }
    }

    async fn accept(&self, attempt: LoginAttempt) -> Result<BackendUser, TokenError> {
        let token = attempt.password.and_then(|bytes| String::from_utf8(bytes).ok());
        let token = token.filter(|token| !token.is_empty());
        let token = token.ok_or_else(|| TokenError::Refused("the token is missing".to_owned()))?;
        self.server_of(&token)?.log_in(&token).await
    }
}

impl ResourceServer {
    async fn verify(&self, token: &str) -> Result<Claims, TokenError> {
        let refuse =
            |error: jsonwebtoken::errors::Error| TokenError::Refused(format!("the token is not valid: {error}"));
        let header = jsonwebtoken::decode_header(token).map_err(refuse)?;
        if has_critical_extensions(token) {
            return Err(TokenError::Refused("the token has critical extensions that are not supported".to_owned()));
        }
        let algorithms = match &self.options.algorithms[..] {
            [] => &ASYMMETRIC[..],
            some => some,
        };
        if !algorithms.contains(&header.alg) {
            return Err(TokenError::Refused(format!("the token's algorithm {:?} is not accepted", header.alg)));
        }
        let key_id = header.kid.as_deref().or(self.options.default_key.as_deref());
        let key = self.keys.find(key_id).await?;
        let mut validation = Validation::new(header.alg);
        validation.leeway = LEEWAY.as_secs();
        validation.validate_nbf = true;
        validation.validate_aud = self.options.verifies_audience;
        if self.options.verifies_audience {
            validation.set_audience(&[&self.options.resource_server_id]);
            validation.required_spec_claims.insert("aud".to_owned());
        }
        if let Some(issuer) = &self.options.issuer {
            validation.set_issuer(&[issuer]);
            validation.required_spec_claims.insert("iss".to_owned());
        }
        let decoded = jsonwebtoken::decode::<serde_json::Map<String, serde_json::Value>>(token, &key, &validation);
        decoded.map(|decoded| Claims(decoded.claims)).map_err(refuse)
    }

    async fn log_in(&self, token: &str) -> Result<BackendUser, TokenError> {
        let claims = self.verify(token).await?;
        let name = claims.username(&self.options.preferred_username_claims);
        let name = name.ok_or_else(|| TokenError::Refused("the token names no user".to_owned()))?;
        let (scopes, tags) = self.understand(&claims);
        // What no clock here gets to is never.
        let expires_at = claims.expires_at_s().and_then(|s| UNIX_EPOCH.checked_add(Duration::from_secs(s)));
        Ok(BackendUser { name, tags, grants: Arc::new(TokenGrant(scopes)), expires_at })
    }

    /// Permissions and roles. Scopes for others, and what cannot be understood, are passed over.
    fn understand(&self, claims: &Claims) -> (Vec<Scope>, Tags) {
        let prefix = match &self.options.scope_prefix {
            Some(prefix) => prefix.clone(),
            None => format!("{}.", self.options.resource_server_id),
        };
        let given = claims.scopes(&self.options.additional_scopes_keys, &self.options.resource_server_id);
        let resolved = given.into_iter().flat_map(|scope| match self.options.scope_aliases.get(&scope) {
            Some(aliases) => aliases.clone(),
            None => vec![scope],
        });
        let (mut scopes, mut tags) = (Vec::new(), Vec::new());
        for scope in resolved {
            let Some(own) = scope.strip_prefix(&prefix) else { continue };
            if let Some(tag) = own.strip_prefix("tag:") {
                tags.push(tag.to_owned());
            } else {
                match Scope::parse(own) {
                    Ok(scope) => scopes.push(scope),
                    Err(error) => tracing::debug!(scope, %error, "scope ignored"),
                }
            }
        }
        (scopes, tags.iter().map(String::as_str).collect())
    }
}

/// Whether the header says `crit`: a program that does not understand what that names has to refuse the token (RFC 7515, 4.1.11), and
/// nothing of it is understood here.
fn has_critical_extensions(token: &str) -> bool {
    let header = token.split('.').next().and_then(|part| URL_SAFE_NO_PAD.decode(part).ok());
    let header = header.and_then(|bytes| serde_json::from_slice::<serde_json::Map<_, _>>(&bytes).ok());
    header.is_none_or(|header| header.contains_key("crit"))
}

impl Backend for OAuth2 {
    fn name(&self) -> &str {
        "oauth2"
    }

    fn log_in(&self, attempt: LoginAttempt) -> Answer<LoginAnswer> {
        let own = self.clone();
        Box::pin(async move {
            match own.accept(attempt).await {
                Ok(user) => LoginAnswer::Accepted(user),
                Err(TokenError::Refused(reason)) => LoginAnswer::Refused(reason),
                Err(TokenError::Failed(reason)) => LoginAnswer::Failed(reason),
            }
        })
    }

    fn recognize(&self, attempt: LoginAttempt) -> Answer<LoginAnswer> {
        // Without a token nothing is known of a user.
        self.log_in(attempt)
    }

    fn decide(&self, user: &BackendUser, _: &Origin, question: &Question) -> Decision {
        let Some(TokenGrant(scopes)) = user.grants.as_any().downcast_ref::<TokenGrant>() else {
            return Decision::Refused;
        };
        let is_allowed = scopes.iter().any(|scope| match question {
            Question::Vhost { vhost } => scope.covers_vhost(vhost),
            Question::Resource { vhost, name, access, .. } => scope.covers(*access, vhost, name),
            Question::Topic { vhost, exchange, routing_key, access } => {
                scope.covers_key(*access, vhost, exchange, routing_key)
            }
        });
        if is_allowed { Decision::Allowed } else { Decision::Refused }
    }
}

#[cfg(test)]
mod tests;
