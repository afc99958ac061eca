//! The console's login by OAuth 2, with an invented provider.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use broker::{
    Answer, AuthStep, Authority, Backend, BackendUser, Decision, Interface, LoginAnswer, LoginAttempt, Origin, Question,
};
use http_client::HttpUrl;
use model::user::Tags;
use parking_lot::Mutex;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::house::{House, Reply};
use crate::listing::Query;
use crate::oauth::OAuthOptions;
use crate::options::Options;
use crate::session_renewal::RenewedSession;

/// Takes tokens such as `token of ann until 60`: so many seconds from now on.
#[derive(Debug)]
struct Tokens;

impl Backend for Tokens {
    fn name(&self) -> &str {
        "tokens"
    }

    fn log_in(&self, attempt: LoginAttempt) -> Answer<LoginAnswer> {
        let text = String::from_utf8(attempt.password.unwrap_or_default()).unwrap();
        let parts: Vec<&str> = text.split(' ').collect();
        let answer = match parts[..] {
            ["token", "of", name, "until", seconds] => LoginAnswer::Accepted(BackendUser {
                name: name.to_owned(),
                tags: Tags::parse("management"),
                grants: Arc::new(()),
                expires_at: Some(SystemTime::now() + Duration::from_secs(seconds.parse().unwrap())),
            }),
            _ => LoginAnswer::Refused("no token of ours".to_owned()),
        };
        Box::pin(std::future::ready(answer))
    }

    fn recognize(&self, attempt: LoginAttempt) -> Answer<LoginAnswer> {
        self.log_in(attempt)
    }

    fn decide(&self, _: &BackendUser, _: &Origin, _: &Question) -> Decision {
        Decision::Allowed
    }
}

/// What the provider answers when a token is asked for, and what it was asked.
#[derive(Default)]
struct Provider {
    given: Mutex<Value>,
    asked: Mutex<Vec<HashMap<String, String>>>,
}

/// Reads one request; gives its path and its body.
async fn read(stream: &mut TcpStream) -> (String, String) {
    let mut text = String::new();
    loop {
        let mut bytes = [0; 4096];
        let len = stream.read(&mut bytes).await.unwrap();
        text.push_str(std::str::from_utf8(&bytes[..len]).unwrap());
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let len = head.to_lowercase().lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
        if body.len() >= len.unwrap_or(0usize) {
            return (head.split(' ').nth(1).unwrap().to_owned(), body.to_owned());
        }
    }
}

async fn serve(provider: Arc<Provider>, listener: TcpListener) {
    let port = listener.local_addr().unwrap().port();
    loop {
        let (mut stream, _) = listener.accept().await.unwrap();
        let (path, body) = read(&mut stream).await;
        let answer = match &*path {
            "/.well-known/openid-configuration" => json!({
                "authorization_endpoint": format!("http://127.0.0.1:{port}/authorize"),
                "token_endpoint": format!("http://127.0.0.1:{port}/token"),
            }),
            "/token" => {
                let form = Query::parse(&body);
                provider
                    .asked
                    .lock()
                    .push(form.pairs().map(|(name, value)| (name.to_owned(), value.to_owned())).collect());
                provider.given.lock().clone()
            }
            other => panic!("{other}"),
        };
        let (status, text) = (if answer.get("error").is_some() { "400 Bad" } else { "200 OK" }, answer.to_string());
        let answer = format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{text}", text.len());
        stream.write_all(answer.as_bytes()).await.unwrap();
    }
}

fn in_oauth_house(test: impl AsyncFnOnce(&House, &Provider)) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://127.0.0.1:{}", listener.local_addr().unwrap().port());
        let provider = Arc::new(Provider::default());
        let serving = tokio::spawn(serve(provider.clone(), listener));
        let oauth = OAuthOptions {
            id: "warren".to_owned(),
            label: "Warren".to_owned(),
            client_id: "console".to_owned(),
            client_secret: Some("s3cret".to_owned()),
            metadata: HttpUrl::parse(&format!("{url}/.well-known/openid-configuration")).unwrap(),
            provider_url: url,
            scopes: "openid profile".to_owned(),
            authorization_params: vec![("resource".to_owned(), "warren".to_owned())],
            token_params: vec![("audience".to_owned(), "warren".to_owned())],
            is_idp_initiated: false,
        };
        let authority = Authority::Backend(Arc::new(Tokens));
        let step = AuthStep { authentication: authority.clone(), authorization: vec![authority] };
        let of_broker = broker::Options { auth_steps: vec![AuthStep::internal(), step], ..broker::Options::default() };
        let other = OAuthOptions { id: "other".to_owned(), client_id: "second".to_owned(), ..oauth.clone() };
        let options =
            Options { oauth: vec![Arc::new(oauth), Arc::new(other)], refuses_basic: true, ..Options::default() };
        let house = House::over(of_broker, options);
        test(&house, &provider).await;
        house.close().await;
        serving.abort();
    });
}

const HOST: (&str, &str) = ("host", "broker.example:15672");

async fn get(house: &House, path: &str, cookie: &str) -> Reply {
    house.ask_with("GET", path, &[HOST, ("cookie", cookie)], b"").await
}

fn cookie_of(reply: &Reply) -> String {
    reply.header("set-cookie").unwrap().split(';').next().unwrap().to_owned()
}

/// Begins a login: the parameters that the provider gets, and the browser's cookie.
async fn begin(house: &House, return_to: &str) -> (Query, String) {
    let reply = get(house, &format!("/api/oauth/login?return_to={return_to}"), "").await;
    let location = reply.header("location").unwrap().to_owned();
    let (endpoint, query) = location.split_once('?').unwrap();
    assert!(reply.status == 302 && endpoint.ends_with("/authorize"), "{reply:?}");
    let cookie = reply.header("set-cookie").unwrap();
    assert!(cookie.ends_with("; HttpOnly; SameSite=Lax; Path=/api/oauth; Max-Age=600"), "{cookie}");
    (Query::parse(query), cookie_of(&reply))
}

/// The provider is to give this token for the login.
fn give(provider: &Provider, token: &str, nonce: &str) {
    let claims = URL_SAFE_NO_PAD.encode(json!({"nonce": nonce}).to_string());
    *provider.given.lock() =
        json!({"access_token": token, "refresh_token": "again", "id_token": format!("x.{claims}.y")});
}

async fn check_failure(reply: Reply, reason: &str) {
    check_failure_at("/#/?", reply, reason).await;
}

/// `place` is the one that was asked for, as the rest of its query begins.
async fn check_failure_at(place: &str, reply: Reply, reason: &str) {
    let location = reply.header("location").unwrap();
    let error = location.strip_prefix(&format!("{place}login_error=")).expect(location);
    assert_eq!(Query::parse(&format!("error={error}")).get("error"), Some(reason));
    assert!(reply.header("set-cookie").is_none(), "{reply:?}");
}

#[test]
fn a_user_chooses_one_of_several_resource_servers() {
    in_oauth_house(async |house, provider| {
        let ways = get(house, "/api/auth", "").await.json();
        let seen = |member: &str| -> Vec<Value> {
            ways["oauth_resource_servers"].as_array().unwrap().iter().map(|server| server[member].clone()).collect()
        };
        assert_eq!(seen("id"), ["warren", "other"]);
        assert_eq!(seen("oauth_client_id"), ["console", "second"]);
        let (asked, cookie) = begin(house, "%23/queues&resource=other").await;
        assert_eq!(asked.get("client_id"), Some("second"));
        give(provider, "token of ann until 300", asked.get("nonce").unwrap());
        let callback = format!("/api/oauth/callback?code=c0de&state={}", asked.get("state").unwrap());
        let reply = get(house, &callback, &cookie).await;
        assert_eq!((reply.status, reply.header("location")), (302, Some("/#/queues")), "{reply:?}");
        assert_eq!(&*provider.asked.lock().pop().unwrap()["client_id"], "second");
        let unknown = get(house, "/api/oauth/login?resource=nosuch", "").await;
        check_failure(unknown, "unknown resource server").await;
    });
}

#[test]
fn a_code_becomes_a_session() {
    in_oauth_house(async |house, provider| {
        let (asked, cookie) = begin(house, "%23/queues/%252F/orders").await;
        let part = |name| asked.get(name).unwrap();
        assert_eq!((part("response_type"), part("client_id"), part("scope")), ("code", "console", "openid profile"));
        assert_eq!(part("redirect_uri"), "http://broker.example:15672/api/oauth/callback");
        assert_eq!((part("code_challenge_method"), part("resource")), ("S256", "warren"));
        give(provider, "token of ann until 300", part("nonce"));
        let reply = get(house, &format!("/api/oauth/callback?code=c0de&state={}", part("state")), &cookie).await;
        assert_eq!((reply.status, reply.header("location")), (302, Some("/#/queues/%2F/orders")), "{reply:?}");
        let form = provider.asked.lock().pop().unwrap();
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(form["code_verifier"].as_bytes()));
        assert_eq!((&*form["code"], &*form["client_secret"], &*form["audience"]), ("c0de", "s3cret", "warren"));
        assert_eq!((&*challenge, &*form["redirect_uri"]), (part("code_challenge"), part("redirect_uri")));
        let session = get(house, "/api/session", &cookie_of(&reply)).await.json();
        assert_eq!((&session["name"], &session["tags"]), (&json!("ann"), &json!(["management"])));
        // The state is good once.
        let again = get(house, &format!("/api/oauth/callback?code=c0de&state={}", part("state")), &cookie).await;
        check_failure(again, "the login took too long, or was started in another browser: try again").await;
    });
}

#[test]
fn what_fails_ends_at_the_login_with_a_sentence() {
    in_oauth_house(async |house, provider| {
        let finish =
            async |query: &str, cookie: &str| get(house, &format!("/api/oauth/callback?{query}"), cookie).await;
        let foreign = "the login took too long, or was started in another browser: try again";
        let (asked, _) = begin(house, "").await;
        give(provider, "token of ann until 300", asked.get("nonce").unwrap());
        check_failure(
            finish(&format!("code=c&state={}", asked.get("state").unwrap()), "warren_oauth=x").await,
            foreign,
        )
        .await;
        check_failure(finish("code=c&state=nosuch", "").await, foreign).await;
        check_failure(finish("state=nosuch", "").await, "the provider sent no code").await;
        let refused = finish("error=access_denied&state=nosuch", "").await;
        check_failure(refused, "the provider refused the login (access_denied)").await;
        for (given, reason) in [
            (
                json!({"access_token": "token of ann until 300", "id_token": "x.eyJub25jZSI6Im90aGVyIn0.y"}),
                "the provider's answer belongs to another login",
            ),
            (
                json!({"access_token": "nonsense"}),
                "the broker does not accept the provider's token: its log contains the reason",
            ),
            (json!({"error": "invalid_grant"}), "the provider returned no token"),
        ] {
            let (asked, cookie) = begin(house, "https://evil.example/").await;
            *provider.given.lock() = given;
            let reply = finish(&format!("code=c&state={}", asked.get("state").unwrap()), &cookie).await;
            check_failure(reply, reason).await;
        }
    });
}

#[test]
fn the_place_that_was_asked_for_outlives_a_login_that_fails() {
    in_oauth_house(async |house, provider| {
        for (asked_for, place) in [
            ("%23/queues", "/#/queues?"),
            ("%23/queues?name=a", "/#/queues?name=a&"),
            // What an earlier login failed for is said no more.
            ("%23/queues?login_error=x%26name=a%26login_error=y", "/#/queues?name=a&"),
            ("%23/queues?login_error=x", "/#/queues?"),
            ("https://evil.example/", "/#/?"),
        ] {
            *provider.given.lock() = json!({"error": "invalid_grant"});
            for (query, reason) in [
                ("code=c", "the provider returned no token"),
                ("error=access_denied", "the provider refused the login (access_denied)"),
                ("", "the provider sent no code"),
            ] {
                let (asked, cookie) = begin(house, asked_for).await;
                let path = format!("/api/oauth/callback?{query}&state={}", asked.get("state").unwrap());
                check_failure_at(place, get(house, &path, &cookie).await, reason).await;
                // Only the browser that began the login learns what it asked for.
                let (asked, _) = begin(house, asked_for).await;
                let path = format!("/api/oauth/callback?error=x&state={}", asked.get("state").unwrap());
                let reply = get(house, &path, "warren_oauth=other").await;
                check_failure(reply, "the provider refused the login (x)").await;
            }
            let (asked, cookie) = begin(house, asked_for).await;
            give(provider, "token of ann until 300", asked.get("nonce").unwrap());
            let path = format!("/api/oauth/callback?code=c&state={}", asked.get("state").unwrap());
            let reply = get(house, &path, &cookie).await;
            assert_eq!(reply.header("location"), Some(place.trim_end_matches(['?', '&'])), "{asked_for}");
        }
        // The provider is not asked for a request that does not say its host.
        let reply = house.ask_with("GET", "/api/oauth/login?return_to=%23/channels", &[], b"").await;
        check_failure_at("/#/channels?", reply, "the request has no host").await;
    });
}

#[test]
fn a_place_elsewhere_is_not_gone_to() {
    in_oauth_house(async |house, provider| {
        let (asked, cookie) = begin(house, "https://evil.example/").await;
        give(provider, "token of ann until 300", asked.get("nonce").unwrap());
        let reply =
            get(house, &format!("/api/oauth/callback?code=c&state={}", asked.get("state").unwrap()), &cookie).await;
        assert_eq!(reply.header("location"), Some("/#/"));
    });
}

#[test]
fn a_token_is_renewed() {
    in_oauth_house(async |house, provider| {
        let (asked, cookie) = begin(house, "").await;
        give(provider, "token of ann until 300", asked.get("nonce").unwrap());
        let reply =
            get(house, &format!("/api/oauth/callback?code=c&state={}", asked.get("state").unwrap()), &cookie).await;
        let cookie = cookie_of(&reply);
        let expires = async || get(house, "/api/session", &cookie).await.json()["expires"].as_str().unwrap().to_owned();
        let before = expires().await;
        let mut session = RenewedSession {
            token: cookie.split_once('=').unwrap().1.to_owned(),
            refresh_token: "again".to_owned(),
            origin: Origin { peer: Some(([127, 0, 0, 1], 40000).into()), interface: Interface::Http },
            expires_at_ms: 0,
            until_ms: u64::MAX,
        };
        let (service, oauth) = (Arc::downgrade(&house.service), house.service.oauth()[0].clone());
        *provider.given.lock() = json!({"access_token": "token of ann until 900", "refresh_token": "next"});
        assert!(session.renew(&service, &oauth).await);
        assert_eq!(provider.asked.lock().pop().unwrap()["refresh_token"], "again");
        assert!(expires().await > before && session.refresh_token == "next");
        // Another user's token renews nothing.
        *provider.given.lock() = json!({"access_token": "token of bob until 900"});
        assert!(!session.renew(&service, &oauth).await);
        assert_eq!(get(house, "/api/session", &cookie).await.json()["name"], "ann");
        house.service.broker.close_login_session(&session.token);
        assert!(!session.renew(&service, &oauth).await);
    });
}

#[test]
fn a_page_is_told_how_users_log_in() {
    in_oauth_house(async |house, _| {
        let told = get(house, "/api/auth", "").await.json();
        assert_eq!((&told["oauth_enabled"], &told["oauth_disable_basic_auth"]), (&json!(true), &json!(true)));
        assert_eq!(
            (&told["oauth_client_id"], &told["oauth_initiated_logon_type"]),
            (&json!("console"), &json!("sp_initiated"))
        );
        assert!(!told.to_string().contains("s3cret"));
        let house = House::bare(Options::default());
        let told = get(&house, "/api/auth", "").await.json();
        assert_eq!(told, json!({"oauth_enabled": false, "oauth_disable_basic_auth": false}));
        for path in ["/api/oauth/login", "/api/oauth/callback"] {
            assert_eq!(get(&house, path, "").await.status, 404);
        }
        house.close().await;
    });
}
