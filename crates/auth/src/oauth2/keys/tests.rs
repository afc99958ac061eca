//! An issuer that answers, fails or hangs, as each test wants.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::*;

/// Longer than any test waits for what does not wait for the issuer.
const TIMEOUT: Duration = Duration::from_secs(5);

/// What the issuer does when it is asked.
#[derive(Clone)]
enum Mood {
    Answers(Value),
    Fails,
    Hangs,
}

struct Issuer {
    keys: Arc<Keys>,
    mood: Arc<parking_lot::Mutex<Mood>>,
    asked: Arc<AtomicUsize>,
    task: tokio::task::JoinHandle<()>,
    start: Instant,
}

impl Drop for Issuer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn set(ids: &[&str]) -> Value {
    let keys: Vec<_> = ids.iter().map(|id| json!({"kty": "oct", "kid": id, "alg": "HS256", "k": "c2VjcmV0"})).collect();
    json!({ "keys": keys })
}

impl Issuer {
    async fn start(mood: Mood) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = HttpUrl::parse(&format!("http://{}/jwks", listener.local_addr().unwrap())).unwrap();
        let (mood, asked) = (Arc::new(parking_lot::Mutex::new(mood)), Arc::new(AtomicUsize::new(0)));
        let (of_server, count) = (mood.clone(), asked.clone());
        let task = tokio::spawn(async move {
            let mut hanging = Vec::new();
            while let Ok((mut socket, _)) = listener.accept().await {
                let _ = socket.read(&mut [0; 4096]).await;
                count.fetch_add(1, Ordering::SeqCst);
                let mood = of_server.lock().clone();
                let (status, body) = match mood {
                    Mood::Answers(set) => (200, set.to_string()),
                    Mood::Fails => (500, String::new()),
                    Mood::Hangs => {
                        hanging.push(socket);
                        continue;
                    }
                };
                let answer = format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\n\r\n{body}", body.len());
                let _ = socket.write_all(answer.as_bytes()).await;
            }
        });
        let source = KeySource {
            configured: HashMap::new(),
            jwks: Some(url),
            discovery: None,
            timeout: Duration::from_secs(60),
        };
        Self { keys: Arc::new(Keys::new(source)), mood, asked, task, start: Instant::now() }
    }

    fn turn(&self, mood: Mood) {
        *self.mood.lock() = mood;
    }

    /// Looks for a key so many seconds after the start.
    async fn find(&self, id: &str, seconds: u64) -> Result<(), TokenError> {
        let now = self.start + Duration::from_secs(seconds);
        let found = tokio::time::timeout(TIMEOUT, self.keys.find_at(Some(id), now)).await;
        found.expect("it waits for the issuer").map(drop)
    }

    #[track_caller]
    fn check_asked(&self, count: usize) {
        assert_eq!(self.asked.load(Ordering::SeqCst), count);
    }
}

#[track_caller]
fn check_failed(found: Result<(), TokenError>) {
    assert!(matches!(found, Err(TokenError::Failed(_))), "{found:?}");
}

#[track_caller]
fn check_refused(found: Result<(), TokenError>) {
    assert!(matches!(found, Err(TokenError::Refused(_))), "{found:?}");
}

#[tokio::test]
async fn a_known_key_waits_for_no_other() {
    let issuer = Issuer::start(Mood::Answers(set(&["a"]))).await;
    issuer.find("a", 0).await.unwrap();
    issuer.turn(Mood::Hangs);
    let (keys, later) = (issuer.keys.clone(), issuer.start + Duration::from_secs(60));
    let waiting = tokio::spawn(async move { keys.find_at(Some("made up"), later).await.map(drop) });
    while issuer.asked.load(Ordering::SeqCst) < 2 {
        tokio::task::yield_now().await;
    }
    issuer.find("a", 60).await.unwrap();
    waiting.abort();
}

#[tokio::test]
async fn old_keys_are_good_while_the_issuer_hangs() {
    let issuer = Issuer::start(Mood::Answers(set(&["a"]))).await;
    issuer.find("a", 0).await.unwrap();
    issuer.turn(Mood::Hangs);
    for seconds in [3700, 3701, 3800, 7400] {
        issuer.find("a", seconds).await.unwrap();
    }
}

#[tokio::test]
async fn old_keys_give_way_to_what_the_issuer_has_now() {
    let issuer = Issuer::start(Mood::Answers(set(&["a"]))).await;
    issuer.find("a", 0).await.unwrap();
    issuer.turn(Mood::Answers(set(&["b"])));
    issuer.find("a", 3500).await.unwrap();
    issuer.check_asked(1);
    issuer.find("a", 3700).await.unwrap();
    // Waits for what the other has begun.
    issuer.find("b", 3700).await.unwrap();
    issuer.check_asked(2);
    check_refused(issuer.find("a", 3701).await);
    issuer.find("b", 3900).await.unwrap();
    issuer.check_asked(2);
}

#[tokio::test]
async fn an_issuer_that_fails_is_not_asked_more_often() {
    let issuer = Issuer::start(Mood::Fails).await;
    for seconds in [0, 1, 9] {
        check_failed(issuer.find("a", seconds).await);
    }
    issuer.check_asked(1);
    issuer.turn(Mood::Answers(set(&["a"])));
    issuer.find("a", 30).await.unwrap();
    issuer.check_asked(2);
    issuer.turn(Mood::Fails);
    for seconds in [60, 61, 69] {
        check_failed(issuer.find("made up", seconds).await);
        issuer.find("a", seconds).await.unwrap();
    }
    issuer.check_asked(3);
    check_failed(issuer.find("made up", 90).await);
    issuer.check_asked(4);
}

#[tokio::test]
async fn keys_that_cannot_be_read_hide_no_others() {
    let coordinate = "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU";
    let mut keys = vec![
        json!({"kty": "EC", "kid": "p521", "crv": "P-521", "alg": "ES512", "x": coordinate, "y": coordinate}),
        json!({"kty": "EC", "kid": "agreed", "crv": "P-256", "alg": "ECDH-ES", "x": coordinate, "y": coordinate}),
        json!({"kty": "EC", "kid": "coin", "crv": "secp256k1", "alg": "ES256K", "x": coordinate, "y": coordinate}),
        json!({"kty": "AKP", "kid": "later", "alg": "ML-DSA-44", "pub": "AA"}),
        json!({"kid": "nothing"}),
        json!("no key"),
    ];
    keys.extend(set(&["a"])["keys"].as_array().unwrap().clone());
    let issuer = Issuer::start(Mood::Answers(json!({ "keys": keys }))).await;
    issuer.find("a", 0).await.unwrap();
    check_refused(issuer.find("p521", 0).await);
    let now = issuer.start;
    assert!(issuer.keys.find_at(None, now).await.is_ok(), "it is the only one that signs");
}

#[tokio::test]
async fn what_is_no_set_of_keys_is_a_failure() {
    for answer in [json!({}), json!({"keys": 5}), json!("keys")] {
        let issuer = Issuer::start(Mood::Answers(answer)).await;
        check_failed(issuer.find("a", 0).await);
    }
}

#[tokio::test]
async fn a_key_for_encryption_signs_nothing() {
    let mut answer = set(&["a", "b"]);
    answer["keys"][1]["use"] = json!("enc");
    let issuer = Issuer::start(Mood::Answers(answer)).await;
    check_refused(issuer.find("b", 0).await);
    assert!(issuer.keys.find_at(None, issuer.start).await.is_ok());
}
