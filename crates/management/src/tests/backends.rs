//! Users whom others know: by a token or by a password, and what they may do when that has to be asked for over a network.

use std::collections::HashSet;
use std::sync::Arc;
use std::task::Poll;

use broker::{
    Answer, AuthStep, Authority, Backend, BackendUser, Decision, LoginAnswer, LoginAttempt, Origin, Question,
};
use model::user::{Access, Tags};
use parking_lot::Mutex;
use serde_json::json;

use super::house::{House, Reply, in_house_of};
use crate::options::Options;

/// A back end whose users' passwords are `token of NAME`, whatever name they give. Its answers never come at once.
#[derive(Debug, Default)]
struct Oracle {
    /// What users are not allowed.
    refused: Mutex<HashSet<Question>>,
    asked: Mutex<Vec<Question>>,
    tags: Mutex<&'static str>,
}

/// Ready at the second look.
fn later<T: Clone + Send + 'static>(answer: T) -> Answer<T> {
    let mut has_been_asked = false;
    Box::pin(std::future::poll_fn(move |context| {
        if std::mem::replace(&mut has_been_asked, true) {
            return Poll::Ready(answer.clone());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }))
}

#[derive(Debug, Clone)]
struct Handle(Arc<Oracle>);

impl Backend for Handle {
    fn name(&self) -> &str {
        "oracle"
    }

    fn log_in(&self, attempt: LoginAttempt) -> Answer<LoginAnswer> {
        let word = String::from_utf8(attempt.password.unwrap_or_default()).unwrap();
        let Some(name) = word.strip_prefix("token of ") else {
            return later(LoginAnswer::Refused("no token".to_owned()));
        };
        let tags = Tags::parse(*self.0.tags.lock());
        later(LoginAnswer::Accepted(BackendUser {
            name: name.to_owned(),
            tags,
            grants: Arc::new(()),
            expires_at: None,
        }))
    }

    fn recognize(&self, attempt: LoginAttempt) -> Answer<LoginAnswer> {
        self.log_in(attempt)
    }

    fn decide(&self, _: &BackendUser, _: &Origin, question: &Question) -> Decision {
        self.0.asked.lock().push(question.clone());
        Decision::Ask(later(!self.0.refused.lock().contains(question)))
    }
}

impl Oracle {
    fn refuse(&self, question: Question) {
        self.refused.lock().insert(question);
    }
}

fn vhost(name: &str) -> Question {
    Question::Vhost { vhost: name.to_owned() }
}

fn queue(name: &str, access: Access) -> Question {
    let resource = broker::Resource::Queue;
    Question::Resource { vhost: "shop".to_owned(), resource, name: name.to_owned(), access }
}

/// The broker's own users are asked for first, then the oracle's, who have these tags.
fn in_oracles_house(tags: &'static str, options: Options, test: impl AsyncFnOnce(&House, &Oracle)) {
    let oracle = Arc::new(Oracle { tags: Mutex::new(tags), ..Oracle::default() });
    let authority = Authority::Backend(Arc::new(Handle(oracle.clone())));
    let step = AuthStep { authentication: authority.clone(), authorization: vec![authority] };
    let of_broker = broker::Options { auth_steps: vec![AuthStep::internal(), step], ..broker::Options::default() };
    in_house_of(of_broker, options, async |house| test(house, &oracle).await);
}

async fn ask_by_token(house: &House, method: &str, path: &str, token: &str, body: &str) -> Reply {
    house.ask_with(method, path, &[("authorization", &format!("Bearer {token}"))], body.as_bytes()).await
}

async fn ask_as_ann(house: &House, method: &str, path: &str, body: &str) -> Reply {
    ask_by_token(house, method, path, "token of ann", body).await
}

async fn ask_by_name(house: &House, name: &str, password: &str) -> Reply {
    use base64::Engine as _;
    let value = base64::engine::general_purpose::STANDARD.encode(format!("{name}:{password}"));
    house.ask_with("GET", "/api/whoami", &[("authorization", &format!("Basic {value}"))], b"").await
}

#[test]
fn a_token_says_who_somebody_is_and_which_roles_it_has() {
    in_oracles_house("monitoring", Options::default(), async |house, _| {
        let ann = json!({"name": "ann", "tags": ["monitoring"], "is_internal_user": false});
        assert_eq!(ask_as_ann(house, "GET", "/api/whoami", "").await.json(), ann);
        assert_eq!(ask_by_name(house, "any-name", "token of ann").await.json(), ann);
        let guest = json!({"name": "guest", "tags": ["administrator"], "is_internal_user": true});
        assert_eq!(ask_by_name(house, "guest", "guest").await.json(), guest);
        assert_eq!(ask_as_ann(house, "GET", "/api/nodes", "").await.status, 200);
        let refused = json!({"error": "not_authorised", "reason": "Not administrator user"});
        let reply = ask_as_ann(house, "GET", "/api/users", "").await;
        assert_eq!((reply.status, reply.json()), (401, refused));
    });
}

#[test]
fn a_token_that_nobody_believes_is_refused() {
    in_oracles_house("administrator", Options::default(), async |house, _| {
        let refused = json!({"error": "not_authorized", "reason": "Not_Authorized"});
        for token in ["nonsense", "guest", "x.y.z"] {
            let reply = ask_by_token(house, "GET", "/api/whoami", token, "").await;
            assert_eq!((reply.status, reply.json()), (401, refused.clone()), "{token}");
        }
        assert_eq!(ask_by_name(house, "guest", "nonsense").await.status, 401);
    });
}

#[test]
fn strangers_with_bad_tokens_lock_nobody_out() {
    in_oracles_house("management", Options::default(), async |house, _| {
        for _ in 0..50 {
            assert_eq!(ask_by_token(house, "GET", "/api/whoami", "nonsense", "").await.status, 401);
        }
        assert_eq!(ask_as_ann(house, "GET", "/api/whoami", "").await.status, 200);
    });
}

#[test]
fn tokens_are_taken_where_passwords_are_not() {
    let options = Options { refuses_basic: true, ..Options::default() };
    let oracle = Arc::new(Oracle { tags: Mutex::new("management"), ..Oracle::default() });
    let authority = Authority::Backend(Arc::new(Handle(oracle)));
    let auth_steps = vec![AuthStep { authentication: authority.clone(), authorization: vec![authority] }];
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let house = House::over(broker::Options { auth_steps, ..broker::Options::default() }, options);
        assert_eq!(ask_by_name(&house, "any-name", "token of ann").await.status, 401);
        assert_eq!(ask_as_ann(&house, "GET", "/api/whoami", "").await.status, 200);
        house.close().await;
    });
}

#[test]
fn listings_have_what_is_in_vhosts_that_the_back_end_lets_it_into() {
    in_oracles_house("management", Options::default(), async |house, oracle| {
        for vhost in ["%2F", "shop", "empty"] {
            house
                .check(
                    &format!("PUT /api/permissions/{vhost}/guest"),
                    ALL,
                    if vhost == "empty" { 201 } else { 204 },
                    "",
                )
                .await;
            house.check(&format!("PUT /api/queues/{vhost}/q"), "", 201, "").await;
        }
        oracle.refuse(vhost("empty"));
        let listed = async |path: &str| -> Vec<String> {
            let reply = ask_as_ann(house, "GET", path, "").await;
            assert_eq!(reply.status, 200, "{path}");
            let list = reply.json();
            let member = if path.starts_with("/api/vhosts") { "name" } else { "vhost" };
            list.as_array().unwrap().iter().map(|row| row[member].as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(listed("/api/queues").await, ["/", "shop"]);
        assert_eq!(listed("/api/queues?disable_stats=true").await, ["/", "shop"]);
        assert_eq!(listed("/api/vhosts").await, ["/", "shop"]);
        assert_eq!(listed("/api/queues/shop").await, ["shop"]);
        assert_eq!(ask_as_ann(house, "GET", "/api/queues/empty", "").await.status, 404);
        assert_eq!(ask_as_ann(house, "GET", "/api/queues/empty/q", "").await.status, 404);
        // What is taken away is taken away from the next request on.
        oracle.refuse(vhost("shop"));
        assert_eq!(listed("/api/queues").await, ["/"]);
    });
}

const ALL: &str = r#"{"configure":".*","write":".*","read":".*"}"#;

#[test]
fn what_the_back_end_allows_is_done_once() {
    what_is_allowed_is_done_once_for("management");
}

#[test]
fn what_the_back_end_allows_an_administrator_is_done_once() {
    what_is_allowed_is_done_once_for("administrator");
}

fn what_is_allowed_is_done_once_for(tags: &'static str) {
    in_oracles_house(tags, Options::default(), async |house, oracle| {
        let ask = async |method: &str, path: &str, body: &str| ask_as_ann(house, method, path, body).await;
        assert_eq!(ask("PUT", "/api/queues/shop/q", r#"{"durable":true}"#).await.status, 201);
        assert!(oracle.asked.lock().contains(&queue("q", Access::Configure)));
        assert_eq!(ask("PUT", "/api/exchanges/shop/x", r#"{"type":"topic"}"#).await.status, 201);
        let bound = ask("POST", "/api/bindings/shop/e/x/q/q", r#"{"routing_key":"a.#"}"#).await;
        assert_eq!((bound.status, bound.header("location")), (201, Some("q/a.%2523")));
        let message = r#"{"routing_key":"a.b","properties":{},"payload":"one","payload_encoding":"string"}"#;
        assert_eq!(ask("POST", "/api/exchanges/shop/x/publish", message).await.json(), json!({"routed": true}));
        let key = Question::Topic {
            vhost: "shop".to_owned(),
            exchange: "x".to_owned(),
            routing_key: "a.b".to_owned(),
            access: model::user::TopicAccess::Write,
        };
        assert!(oracle.asked.lock().contains(&key));
        let get = r#"{"ackmode":"ack_requeue_false","count":10,"encoding":"auto"}"#;
        let got = ask("POST", "/api/queues/shop/q/get", get).await.json();
        assert_eq!(got.as_array().unwrap().len(), 1, "{got}");
        assert_eq!((&got[0]["payload"], &got[0]["message_count"]), (&json!("one"), &json!(0)));
        assert_eq!(ask("POST", "/api/queues/shop/q/get", get).await.json(), json!([]));
        assert_eq!(ask("DELETE", "/api/queues/shop/q/contents", "").await.status, 204);
        assert_eq!(ask("DELETE", "/api/queues/shop/q", "").await.status, 204);
        assert_eq!(ask("DELETE", "/api/queues/shop/q", "").await.status, 404);
    });
}

#[test]
fn what_the_back_end_refuses_is_not_done() {
    in_oracles_house("management", Options::default(), async |house, oracle| {
        house.check("PUT /api/queues/shop/q", "", 201, "").await;
        let message = r#"{"routing_key":"q","properties":{},"payload":"one","payload_encoding":"string"}"#;
        house.check("POST /api/exchanges/shop/amq.default/publish", message, 200, r#"{"routed":true}"#).await;
        for access in [Access::Configure, Access::Write, Access::Read] {
            oracle.refuse(queue("q", access));
            oracle.refuse(queue("new", access));
        }
        let refused = json!({"error": "not_authorised", "reason": "Access refused."});
        for (method, path) in [
            ("PUT", "/api/queues/shop/new"),
            ("DELETE", "/api/queues/shop/q"),
            ("DELETE", "/api/queues/shop/q/contents"),
            ("POST", "/api/bindings/shop/e/amq.topic/q/q"),
        ] {
            let reply = ask_as_ann(house, method, path, "{}").await;
            assert_eq!((reply.status, reply.json()), (401, refused.clone()), "{method} {path}");
        }
        let get = r#"{"ackmode":"ack_requeue_false","count":10,"encoding":"auto"}"#;
        let reply = ask_as_ann(house, "POST", "/api/queues/shop/q/get", get).await;
        assert_eq!(reply.status, 400);
        let text = "403 ACCESS_REFUSED - read access to queue 'q' in vhost 'shop' refused for user 'ann'";
        assert_eq!(reply.json()["reason"], text);
        let left = house.get("/api/queues/shop/q").await.json();
        assert_eq!(left["messages"], 1, "{left}");
        house.check_refused("GET /api/queues/shop/new", "", 404, "Object Not Found", "Not Found").await;
    });
}

#[test]
fn attempts_to_log_in_are_counted_and_may_be_counted_anew() {
    in_oracles_house("monitoring", Options::default(), async |house, _| {
        let node = house.service.node().to_owned();
        let attempts = format!("/api/auth/attempts/{node}");
        let counted = async || house.get(&attempts).await.json();
        let before = counted().await;
        assert_eq!(ask_by_token(house, "GET", "/api/whoami", "nonsense", "").await.status, 401);
        let after = counted().await;
        let failed = |rows: &serde_json::Value| rows[0]["auth_attempts_failed"].as_u64().unwrap();
        assert_eq!(failed(&after), failed(&before) + 1);
        assert_eq!(ask_as_ann(house, "DELETE", &attempts, "").await.status, 401);
        for path in [attempts.clone(), format!("{attempts}/source")] {
            assert_eq!(house.ask("DELETE", &path, "guest", "").await.status, 204);
            // Asking is a login, and there was no other.
            let row = json!({
                "protocol": "http", "auth_attempts": 1, "auth_attempts_failed": 0, "auth_attempts_succeeded": 1,
            });
            assert_eq!(counted().await, json!([row]), "{path}");
        }
        assert_eq!(house.get("/api/auth/attempts/nosuch").await.status, 404);
    });
}
