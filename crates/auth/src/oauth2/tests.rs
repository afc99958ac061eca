//! Tokens, signed with a key that is shared with the back end, or published by an issuer.

use std::collections::HashMap;
use std::time::SystemTime;

use broker::{Interface, Resource};
use http_client::HttpUrl;
use jsonwebtoken::{DecodingKey, EncodingKey, Header};
use model::user::{Access, TopicAccess};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::*;

const SECRET: &[u8] = b"a secret of more than thirty two bytes";
const ORIGIN: Origin = Origin { peer: None, interface: Interface::Amqp };

fn source() -> KeySource {
    let configured = HashMap::from([("k1".to_owned(), DecodingKey::from_secret(SECRET))]);
    KeySource { configured, jwks: None, discovery: None, timeout: Duration::from_secs(10) }
}

fn options() -> OAuth2Options {
    OAuth2Options {
        resource_server_id: "warren".to_owned(),
        scope_prefix: None,
        verifies_audience: true,
        issuer: None,
        preferred_username_claims: vec!["user_name".to_owned()],
        additional_scopes_keys: vec!["roles".to_owned()],
        scope_aliases: BTreeMap::from([("boss".to_owned(), vec!["warren.tag:administrator".to_owned()])]),
        algorithms: vec![Algorithm::HS256],
        default_key: None,
        keys: source(),
    }
}

fn in_seconds(seconds: i64) -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    now.checked_add_signed(seconds).unwrap()
}

fn claims() -> Value {
    json!({
        "sub": "id-1",
        "user_name": "ann",
        "aud": ["warren", "other"],
        "exp": in_seconds(3600),
        "scope": "warren.read:*/* warren.write:%2F/amq.topic/a.* other.configure:*/* openid warren.tag:monitoring",
        "roles": ["boss"],
    })
}

fn signed(claims: &Value, kid: Option<&str>) -> String {
    let header = Header { kid: kid.map(str::to_owned), ..Header::new(Algorithm::HS256) };
    jsonwebtoken::encode(&header, claims, &EncodingKey::from_secret(SECRET)).unwrap()
}

async fn log_in(backend: &OAuth2, token: &str) -> LoginAnswer {
    let attempt = LoginAttempt {
        name: "whatever the client says".to_owned(),
        password: Some(token.as_bytes().to_vec()),
        origin: ORIGIN,
    };
    backend.log_in(attempt).await
}

async fn accepted(backend: &OAuth2, token: &str) -> BackendUser {
    match log_in(backend, token).await {
        LoginAnswer::Accepted(user) => user,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn check_refused(answer: &LoginAnswer, reason: &str) {
    let LoginAnswer::Refused(given) = answer else { panic!("{answer:?}") };
    assert!(given.contains(reason), "{given}");
}

fn is_allowed(backend: &OAuth2, user: &BackendUser, question: &Question) -> bool {
    matches!(backend.decide(user, &ORIGIN, question), Decision::Allowed)
}

#[tokio::test]
async fn a_token_says_who_it_is_and_what_it_may_do() {
    let backend = OAuth2::new(options());
    let user = accepted(&backend, &signed(&claims(), Some("k1"))).await;
    assert_eq!(user.name, "ann");
    assert_eq!(user.tags.iter().collect::<Vec<_>>(), ["monitoring", "administrator"]);
    assert!(user.expires_at.unwrap() > SystemTime::now() + Duration::from_secs(3500));
    let vhost = || "/".to_owned();
    assert!(is_allowed(&backend, &user, &Question::Vhost { vhost: vhost() }));
    let resource = |name: &str, access| Question::Resource {
        vhost: vhost(),
        resource: Resource::Exchange,
        name: name.to_owned(),
        access,
    };
    assert!(is_allowed(&backend, &user, &resource("any", Access::Read)));
    assert!(is_allowed(&backend, &user, &resource("amq.topic", Access::Write)));
    assert!(!is_allowed(&backend, &user, &resource("amq.direct", Access::Write)));
    assert!(!is_allowed(&backend, &user, &resource("any", Access::Configure)), "another's scope");
    let topic = |key: &str| Question::Topic {
        vhost: vhost(),
        exchange: "amq.topic".to_owned(),
        routing_key: key.to_owned(),
        access: TopicAccess::Write,
    };
    assert!(is_allowed(&backend, &user, &topic("a.b")));
    assert!(!is_allowed(&backend, &user, &topic("b.a")));
    let binding = Question::Topic {
        vhost: vhost(),
        exchange: "amq.topic".to_owned(),
        routing_key: "a.b".to_owned(),
        access: TopicAccess::Read,
    };
    assert!(!is_allowed(&backend, &user, &binding), "its scope to read has no routing key");
}

#[tokio::test]
async fn a_token_may_hold_for_longer_than_clocks_can_tell() {
    let backend = OAuth2::new(options());
    for forever in [json!(u64::MAX), json!(i64::MAX)] {
        let mut claims = claims();
        claims["exp"] = forever;
        let user = accepted(&backend, &signed(&claims, Some("k1"))).await;
        assert!(user.expires_at.is_none_or(|at| at > SystemTime::now()), "{claims}");
    }
}

#[tokio::test]
async fn a_token_that_cannot_be_believed_is_refused() {
    let backend = OAuth2::new(options());
    let with = |name: &str, value: Value| {
        let mut claims = claims();
        claims[name] = value;
        signed(&claims, Some("k1"))
    };
    check_refused(&log_in(&backend, "").await, "token is missing");
    check_refused(&log_in(&backend, "a.b.c").await, "not valid");
    check_refused(&log_in(&backend, &with("exp", json!(in_seconds(-5)))).await, "ExpiredSignature");
    check_refused(&log_in(&backend, &with("nbf", json!(in_seconds(50)))).await, "ImmatureSignature");
    check_refused(&log_in(&backend, &with("aud", json!("other"))).await, "InvalidAudience");
    check_refused(&log_in(&backend, &signed(&claims(), Some("k2"))).await, "unknown key 'k2' of the token");
    let mut cut = signed(&claims(), Some("k1"));
    cut.pop();
    check_refused(&log_in(&backend, &cut).await, "not valid");
    let mut anonymous = claims();
    for claim in ["sub", "user_name"] {
        anonymous[claim] = Value::Null;
    }
    check_refused(&log_in(&backend, &signed(&anonymous, Some("k1"))).await, "names no user");
}

#[tokio::test]
async fn only_signatures_that_are_wanted_are_accepted() {
    let usual = OAuth2::new(OAuth2Options { algorithms: Vec::new(), ..options() });
    check_refused(&log_in(&usual, &signed(&claims(), Some("k1"))).await, "HS256 is not accepted");
    // A token that says itself that it is not signed.
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let unsigned = format!("{}.{}.", part(&json!({"alg": "none"})), part(&claims()));
    check_refused(&log_in(&OAuth2::new(options()), &unsigned).await, "not valid");
}

#[tokio::test]
async fn issuer_and_audience_are_looked_at_where_that_is_wanted() {
    let mut of_other = claims();
    of_other["aud"] = json!("other");
    let lenient = OAuth2::new(OAuth2Options { verifies_audience: false, ..options() });
    accepted(&lenient, &signed(&of_other, Some("k1"))).await;
    let strict = OAuth2::new(OAuth2Options { issuer: Some("https://issuer".to_owned()), ..options() });
    check_refused(&log_in(&strict, &signed(&claims(), Some("k1"))).await, "iss");
    let mut issued = claims();
    issued["iss"] = json!("https://issuer");
    accepted(&strict, &signed(&issued, Some("k1"))).await;
}

#[tokio::test]
async fn a_token_without_a_key_id_needs_no_id_where_there_is_one_key() {
    accepted(&OAuth2::new(options()), &signed(&claims(), None)).await;
}

#[tokio::test]
async fn an_issuers_keys_are_asked_for_when_they_are_needed() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = HttpUrl::parse(&format!("http://{}/jwks", listener.local_addr().unwrap())).unwrap();
    let key = json!({"kty": "oct", "kid": "k9", "alg": "HS256", "k": URL_SAFE_NO_PAD.encode(SECRET)});
    let set = json!({ "keys": [key] }).to_string();
    let asked = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let count = asked.clone();
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let mut buffer = [0; 4096];
            let _ = socket.read(&mut buffer).await;
            count.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{set}", set.len());
            let _ = socket.write_all(answer.as_bytes()).await;
        }
    });
    let keys =
        KeySource { configured: HashMap::new(), jwks: Some(url), discovery: None, timeout: Duration::from_secs(10) };
    let backend = OAuth2::new(OAuth2Options { keys, ..options() });
    for _ in 0..3 {
        accepted(&backend, &signed(&claims(), Some("k9"))).await;
    }
    accepted(&backend, &signed(&claims(), None)).await;
    for _ in 0..3 {
        check_refused(&log_in(&backend, &signed(&claims(), Some("made up"))).await, "unknown key");
    }
    assert_eq!(asked.load(std::sync::atomic::Ordering::SeqCst), 1);
}

#[tokio::test]
async fn an_issuer_that_does_not_answer_is_a_failure_of_its_own() {
    let url = HttpUrl::parse("http://127.0.0.1:1/jwks").unwrap();
    let keys =
        KeySource { configured: HashMap::new(), jwks: Some(url), discovery: None, timeout: Duration::from_secs(10) };
    let backend = OAuth2::new(OAuth2Options { keys, ..options() });
    let answer = log_in(&backend, &signed(&claims(), Some("k9"))).await;
    assert!(matches!(answer, LoginAnswer::Failed(_)), "{answer:?}");
}

#[tokio::test]
async fn an_issuer_is_asked_where_its_keys_are() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let key = json!({"kty": "oct", "kid": "k9", "alg": "HS256", "k": URL_SAFE_NO_PAD.encode(SECRET)});
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let mut buffer = [0; 4096];
            let len = socket.read(&mut buffer).await.unwrap_or(0);
            let asked = String::from_utf8_lossy(&buffer[..len]).into_owned();
            let body = match asked.split_whitespace().nth(1) {
                Some("/realm/.well-known/openid-configuration?v=2") => {
                    json!({"jwks_uri": format!("http://{address}/certs")})
                }
                Some("/certs") => json!({ "keys": [key] }),
                _ => json!({}),
            };
            let body = body.to_string();
            let answer =
                format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len());
            let _ = socket.write_all(answer.as_bytes()).await;
        }
    });
    let discovered = |path: &str| {
        let discovery = Some(HttpUrl::parse(&format!("http://{address}{path}")).unwrap());
        let keys = KeySource { configured: HashMap::new(), jwks: None, discovery, timeout: Duration::from_secs(10) };
        OAuth2::new(OAuth2Options { keys, ..options() })
    };
    let backend = discovered("/realm/.well-known/openid-configuration?v=2");
    accepted(&backend, &signed(&claims(), Some("k9"))).await;
    check_refused(&log_in(&backend, &signed(&claims(), Some("made up"))).await, "unknown key");
    let answer = log_in(&discovered("/elsewhere"), &signed(&claims(), Some("k9"))).await;
    let LoginAnswer::Failed(reason) = answer else { panic!("{answer:?}") };
    assert!(reason.ends_with("has no 'jwks_uri'"), "{reason}");
}

#[tokio::test]
async fn the_resource_server_that_a_token_is_for_counts() {
    let server = |id: &str, secret: &[u8], verifies_audience: bool| {
        let configured = HashMap::from([("k1".to_owned(), DecodingKey::from_secret(secret))]);
        let keys = KeySource { configured, jwks: None, discovery: None, timeout: Duration::from_secs(10) };
        OAuth2Options { resource_server_id: id.to_owned(), verifies_audience, keys, ..options() }
    };
    let for_audience = |audience: Value| {
        let mut claims = claims();
        claims["aud"] = audience;
        signed(&claims, Some("k1"))
    };
    let other = b"the secret of the other resource server";
    let backend = OAuth2::of_servers(vec![server("warren", SECRET, true), server("dev", other, true)]);
    let user = accepted(&backend, &for_audience(json!(["warren", "x"]))).await;
    assert!(user.tags.has("monitoring"));
    check_refused(&log_in(&backend, &for_audience(json!("dev"))).await, "InvalidSignature");
    check_refused(&log_in(&backend, &for_audience(json!("none"))).await, "for none of the resource servers");
    check_refused(
        &log_in(&backend, &for_audience(json!(["warren", "dev"]))).await,
        "for several of the resource servers",
    );
    check_refused(&log_in(&backend, "a.b.c").await, "for none of the resource servers");
    let backend = OAuth2::of_servers(vec![server("warren", SECRET, false), server("dev", other, true)]);
    accepted(&backend, &for_audience(json!("none"))).await;
}

/// Shared keys and public ones may be configured together, and a public one is known to all: a token that is signed with it as if it were
/// shared is refused.
#[tokio::test]
async fn a_public_key_is_no_shared_one() {
    const PUBLIC: &[u8] = b"-----BEGIN PUBLIC KEY-----\n\
        MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEztav/xgh9QYDl/qyoWLkNI0u+m+n\n\
        O7Pva3z7sNfu3q/U4b+cxphfpKalFAvRCgeTjqU2ZS/Eb6nqBAd03z8vmg==\n\
        -----END PUBLIC KEY-----\n";
    let mut own = options();
    own.algorithms.push(Algorithm::ES256);
    own.keys.configured.insert("k2".to_owned(), DecodingKey::from_ec_pem(PUBLIC).unwrap());
    let backend = OAuth2::new(own);
    let header = Header { kid: Some("k2".to_owned()), ..Header::new(Algorithm::HS256) };
    let forged = jsonwebtoken::encode(&header, &claims(), &EncodingKey::from_secret(PUBLIC)).unwrap();
    let answer = log_in(&backend, &forged).await;
    assert!(matches!(answer, LoginAnswer::Refused(_)), "{answer:?}");
    assert_eq!(accepted(&backend, &signed(&claims(), Some("k1"))).await.name, "ann");
}

/// RFC 7515, 4.1.11: "crit" has to be understood, and there is nothing here that could be.
#[tokio::test]
async fn a_token_with_extensions_that_must_be_understood_is_refused() {
    let backend = OAuth2::new(options());
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let signed = |header: &Value| {
        let message = format!("{}.{}", part(header), part(&claims()));
        let key = EncodingKey::from_secret(SECRET);
        let signature = jsonwebtoken::crypto::sign(message.as_bytes(), &key, Algorithm::HS256).unwrap();
        format!("{message}.{signature}")
    };
    let plain = json!({"alg": "HS256", "kid": "k1", "typ": "JWT", "exp": 1});
    assert_eq!(accepted(&backend, &signed(&plain)).await.name, "ann");
    for crit in [json!(["exp"]), json!(["b64"]), json!([]), Value::Null] {
        let mut header = plain.clone();
        header["crit"] = crit;
        check_refused(&log_in(&backend, &signed(&header)).await, "critical extensions that are not supported");
    }
}
