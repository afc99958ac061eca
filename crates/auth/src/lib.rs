//! Back ends that know users: an HTTP service, OAuth 2 tokens, and a cache in front of either. RabbitMQ's
//! `rabbitmq_auth_backend_http`, `_oauth2` and `_cache`, by their rules.
//!
//! Deliberately absent: LDAP, and the broker's own users, whom it knows itself.

mod cache;
mod http;
mod oauth2;

pub use cache::Cache;
pub use http::{HttpBackend, HttpMethod, HttpOptions};
pub use oauth2::{KeySource, OAuth2, OAuth2Options, Scope, ScopeError, web_key};

/// Keys and signatures of tokens, as the library for them has them.
pub use jsonwebtoken::{Algorithm, DecodingKey};
