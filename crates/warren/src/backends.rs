//! From the configuration to the back ends that know users.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use auth::{Algorithm, Cache, DecodingKey, HttpBackend, HttpMethod, HttpOptions, KeySource, OAuth2, OAuth2Options};
use broker::{AuthStep, Authority, Backend};
use http_client::HttpUrl;
use model::config::{BackendKind, Backends, OAuth2ResourceServer, SigningKey};
use net::{ClientTls, ClientTlsOptions, Trust};

/// How long a tokens' issuer may take to say its keys.
const JWKS_TIMEOUT: Duration = Duration::from_secs(10);

/// The chain that the configuration describes.
pub(crate) fn auth_steps(backends: &Backends) -> Result<Vec<AuthStep>> {
    let mut made = BackendsByName { backends, known: Vec::new() };
    let mut steps = Vec::new();
    for step in &backends.steps {
        let authentication = made.authority(step.authentication)?;
        let authorization = vec![made.authority(step.authorization)?];
        steps.push(AuthStep { authentication, authorization });
    }
    Ok(steps)
}

/// What has been made: a back end that is named twice is one.
struct BackendsByName<'a> {
    backends: &'a Backends,
    known: Vec<(BackendKind, Arc<dyn Backend>)>,
}

impl BackendsByName<'_> {
    fn authority(&mut self, kind: BackendKind) -> Result<Authority> {
        Ok(match kind {
            BackendKind::Internal => Authority::Internal,
            other => Authority::Backend(self.backend(other)?),
        })
    }

    fn backend(&mut self, kind: BackendKind) -> Result<Arc<dyn Backend>> {
        if let Some((_, backend)) = self.known.iter().find(|(known, _)| *known == kind) {
            return Ok(backend.clone());
        }
        let backend: Arc<dyn Backend> = match kind {
            BackendKind::Http => Arc::new(self.http()?),
            BackendKind::OAuth2 => {
                let servers = self.backends.oauth2.iter().map(oauth2).collect::<Result<_>>()?;
                Arc::new(OAuth2::of_servers(servers))
            }
            BackendKind::Cache => {
                let cache = self.backends.cache;
                match cache.cached_backend {
                    BackendKind::Http | BackendKind::OAuth2 => {
                        Arc::new(Cache::new(self.backend(cache.cached_backend)?, cache.cache_ttl))
                    }
                    BackendKind::Internal | BackendKind::Cache => bail!("the cache needs another back end"),
                }
            }
            BackendKind::Internal => bail!("the back end internal cannot be cached"),
        };
        self.known.push((kind, backend.clone()));
        Ok(backend)
    }

    fn http(&self) -> Result<HttpBackend> {
        let http = &self.backends.http;
        let tls = client_tls(http.cacertfile.as_deref(), http.verifies_peer);
        let url = |key: &str, text: &str| url(&format!("auth_http.{key}"), text, &tls);
        Ok(HttpBackend::new(HttpOptions {
            method: if http.is_post { HttpMethod::Post } else { HttpMethod::Get },
            user: url("user_path", &http.user_path)?,
            vhost: url("vhost_path", &http.vhost_path)?,
            resource: url("resource_path", &http.resource_path)?,
            topic: url("topic_path", &http.topic_path)?,
            timeout: http.request_timeout,
        }))
    }
}

fn oauth2(server: &OAuth2ResourceServer) -> Result<OAuth2Options> {
    let provider = &server.provider;
    let prefix = &provider.prefix;
    let tls = client_tls(provider.cacertfile.as_deref(), provider.verifies_peer);
    let place = |key: &str, text: &Option<String>| {
        text.as_deref().map(|text| url(&format!("{prefix}.{key}"), text, &tls)).transpose()
    };
    let mut configured = std::collections::HashMap::new();
    for (id, key) in &provider.signing_keys {
        let key = signing_key(key).with_context(|| format!("cannot use the key {prefix}.signing_keys.{id}"))?;
        configured.insert(id.clone(), key);
    }
    let algorithm = |name: &String| name.parse::<Algorithm>().with_context(|| format!("unknown algorithm {name}"));
    Ok(OAuth2Options {
        resource_server_id: server.id.clone(),
        scope_prefix: server.scope_prefix.clone(),
        verifies_audience: server.verify_aud,
        issuer: provider.issuer.clone(),
        preferred_username_claims: server.preferred_username_claims.clone(),
        additional_scopes_keys: server.additional_scopes_keys.clone(),
        scope_aliases: server.scope_aliases.clone(),
        algorithms: provider.algorithms.iter().map(algorithm).collect::<Result<_>>()?,
        default_key: provider.default_key.clone(),
        keys: KeySource {
            configured,
            jwks: place("jwks_uri", &provider.jwks_uri)?,
            discovery: place("issuer", &provider.discovery_url)?,
            timeout: JWKS_TIMEOUT,
        },
    })
}

/// A public key in PEM, RSA or on an elliptic curve, or a JSON Web Key.
fn signing_key(key: &SigningKey) -> Result<DecodingKey> {
    let (pem, what) = match key {
        SigningKey::WebKey(text) => return auth::web_key(text).map_err(anyhow::Error::msg),
        SigningKey::Pem(text) => (text.clone().into_bytes(), "the value"),
        SigningKey::File(file) => (std::fs::read(file).with_context(|| format!("cannot read {file}"))?, file.as_str()),
    };
    let kinds = [DecodingKey::from_rsa_pem, DecodingKey::from_ec_pem, DecodingKey::from_ed_pem];
    let key = kinds.iter().find_map(|read| read(&pem).ok());
    key.with_context(|| format!("{what} has no public key in PEM"))
}

pub(crate) fn url(key: &str, text: &str, tls: &ClientTlsOptions) -> Result<HttpUrl> {
    let url = HttpUrl::parse(text).with_context(|| format!("cannot use '{key}'"))?;
    if !url.is_tls() {
        return Ok(url);
    }
    let tls = ClientTls::new(tls).with_context(|| format!("cannot do TLS for '{key}'"))?;
    Ok(url.trusting(tls))
}

pub(crate) fn client_tls(cacertfile: Option<&str>, verifies_peer: bool) -> ClientTlsOptions {
    let trust = match cacertfile {
        _ if !verifies_peer => Trust::AnyServer,
        Some(file) => Trust::File(PathBuf::from(file)),
        None => Trust::System,
    };
    ClientTlsOptions::trusting(trust)
}
