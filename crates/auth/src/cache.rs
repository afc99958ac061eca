//! Remembers for a while what another back end answered (RabbitMQ's `rabbitmq_auth_backend_cache`). Only yes is
//! remembered: a no may be a mistake that is being mended.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime};

use broker::{Answer, Backend, BackendUser, Decision, LoginAnswer, LoginAttempt, Origin, Question};
use parking_lot::Mutex;

/// Answers that are remembered; more than this, and all are forgotten.
const REMEMBERED_COUNT: usize = 100_000;

/// A back end whose answers are remembered.
#[derive(Debug)]
pub struct Cache {
    backend: Arc<dyn Backend>,
    /// For how long.
    duration: Duration,
    remembered: Arc<Mutex<CachedAnswer>>,
}

#[derive(Debug, Default)]
struct CachedAnswer {
    /// By name and a hash of the password, which is not kept.
    logins: HashMap<(String, Option<u64>), (BackendUser, Instant)>,
    allowed: HashMap<CacheKey, Instant>,
}

/// A question with all that its answer depends on.
#[derive(Debug, PartialEq, Eq, Hash)]
struct CacheKey {
    user: String,
    /// For a question about a vhost: the back end gets the address.
    address: Option<IpAddr>,
    question: Question,
}

impl CacheKey {
    fn new(user: &BackendUser, origin: &Origin, question: &Question) -> Self {
        let address = match question {
            Question::Vhost { .. } => origin.peer.map(|peer| peer.ip().to_canonical()),
            Question::Resource { .. } | Question::Topic { .. } => None,
        };
        Self { user: user.name.clone(), address, question: question.clone() }
    }
}

impl Cache {
    /// Remembers what `backend` answers for so long.
    #[must_use]
    pub fn new(backend: Arc<dyn Backend>, duration: Duration) -> Self {
        Self { backend, duration, remembered: Arc::default() }
    }

    fn remembering(
        &self,
        attempt: LoginAttempt,
        ask: impl FnOnce(LoginAttempt) -> Answer<LoginAnswer>,
    ) -> Answer<LoginAnswer> {
        let key = (attempt.name.clone(), attempt.password.as_deref().map(hash));
        let now = Instant::now();
        let known = self.remembered.lock().logins.get(&key).filter(|(_, until)| now < *until).cloned();
        if let Some((user, _)) = known {
            return Box::pin(async move { LoginAnswer::Accepted(user) });
        }
        let (answer, remembered, duration) = (ask(attempt), self.remembered.clone(), self.duration);
        Box::pin(async move {
            let answer = answer.await;
            if let LoginAnswer::Accepted(user) = &answer {
                let mut remembered = remembered.lock();
                make_room(&mut remembered.logins);
                remembered.logins.insert(key, (user.clone(), until(user, duration)));
            }
            answer
        })
    }
}

/// As long as is wanted, but no longer than the user's login holds.
fn until(user: &BackendUser, duration: Duration) -> Instant {
    let left = user.expires_at.map(|at| at.duration_since(SystemTime::now()).unwrap_or_default());
    Instant::now() + left.map_or(duration, |left| left.min(duration))
}

/// Of a secret, with a key that only this process knows.
fn hash(secret: &[u8]) -> u64 {
    static KEY: OnceLock<RandomState> = OnceLock::new();
    KEY.get_or_init(RandomState::new).hash_one(secret)
}

fn make_room<K, V>(map: &mut HashMap<K, V>) {
    if map.len() >= REMEMBERED_COUNT {
        map.clear();
    }
}

impl Backend for Cache {
    fn name(&self) -> &str {
        self.backend.name()
    }

    fn log_in(&self, attempt: LoginAttempt) -> Answer<LoginAnswer> {
        self.remembering(attempt, |attempt| self.backend.log_in(attempt))
    }

    fn recognize(&self, attempt: LoginAttempt) -> Answer<LoginAnswer> {
        let attempt = LoginAttempt { password: None, ..attempt };
        self.remembering(attempt, |attempt| self.backend.recognize(attempt))
    }

    fn decide(&self, user: &BackendUser, origin: &Origin, question: &Question) -> Decision {
        let key = CacheKey::new(user, origin, question);
        if self.remembered.lock().allowed.get(&key).is_some_and(|until| Instant::now() < *until) {
            return Decision::Allowed;
        }
        let answer = match self.backend.decide(user, origin, question) {
            Decision::Ask(answer) => answer,
            at_once => return at_once,
        };
        let (remembered, duration) = (self.remembered.clone(), self.duration);
        Decision::Ask(Box::pin(async move {
            let is_allowed = answer.await;
            if is_allowed {
                let mut remembered = remembered.lock();
                make_room(&mut remembered.allowed);
                remembered.allowed.insert(key, Instant::now() + duration);
            }
            is_allowed
        }))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use broker::{Interface, Resource};
    use model::user::{Access, Tags};

    use super::*;

    /// Lets in users with the password `yes`, and counts how often it was asked.
    #[derive(Debug, Default)]
    struct Counting {
        count: Arc<AtomicUsize>,
        /// Until when it lets in.
        expires_at: Option<SystemTime>,
    }

    impl Backend for Counting {
        fn name(&self) -> &str {
            "counting"
        }

        fn log_in(&self, attempt: LoginAttempt) -> Answer<LoginAnswer> {
            self.count.fetch_add(1, Ordering::SeqCst);
            let is_right = attempt.password.as_deref() == Some(b"yes");
            let expires_at = self.expires_at;
            let user = BackendUser { name: attempt.name, tags: Tags::default(), grants: Arc::new(()), expires_at };
            let refused = LoginAnswer::Refused(String::new());
            Box::pin(async move { if is_right { LoginAnswer::Accepted(user) } else { refused } })
        }

        fn recognize(&self, attempt: LoginAttempt) -> Answer<LoginAnswer> {
            self.log_in(attempt)
        }

        fn decide(&self, _: &BackendUser, _: &Origin, question: &Question) -> Decision {
            self.count.fetch_add(1, Ordering::SeqCst);
            let is_allowed = !matches!(question, Question::Vhost { vhost } if vhost != "/");
            Decision::Ask(Box::pin(async move { is_allowed }))
        }
    }

    fn counting(count: &Arc<AtomicUsize>, expires_at: Option<SystemTime>) -> Arc<Counting> {
        Arc::new(Counting { count: count.clone(), expires_at })
    }

    const ORIGIN: Origin = Origin { peer: None, interface: Interface::Amqp };

    async fn log_in(cache: &Cache, password: &str) -> bool {
        let attempt =
            LoginAttempt { name: "ann".to_owned(), password: Some(password.as_bytes().to_vec()), origin: ORIGIN };
        matches!(cache.log_in(attempt).await, LoginAnswer::Accepted(_))
    }

    async fn enter(cache: &Cache, vhost: &str) -> bool {
        ask_from(cache, ORIGIN, Question::Vhost { vhost: vhost.to_owned() }).await
    }

    async fn ask_from(cache: &Cache, origin: Origin, question: Question) -> bool {
        let user =
            BackendUser { name: "ann".to_owned(), tags: Tags::default(), grants: Arc::new(()), expires_at: None };
        match cache.decide(&user, &origin, &question) {
            Decision::Allowed => true,
            Decision::Refused => false,
            Decision::Ask(answer) => answer.await,
        }
    }

    #[tokio::test]
    async fn yes_is_remembered_and_no_is_not() {
        let count = Arc::new(AtomicUsize::new(0));
        let cache = Cache::new(counting(&count, None), Duration::from_secs(60));
        assert!(log_in(&cache, "yes").await && log_in(&cache, "yes").await);
        assert_eq!(count.load(Ordering::SeqCst), 1);
        assert!(!log_in(&cache, "no").await && !log_in(&cache, "no").await);
        assert_eq!(count.load(Ordering::SeqCst), 3);
        assert!(enter(&cache, "/").await && enter(&cache, "/").await);
        assert_eq!(count.load(Ordering::SeqCst), 4);
        assert!(!enter(&cache, "other").await && !enter(&cache, "other").await);
        assert_eq!(count.load(Ordering::SeqCst), 6);
    }

    #[tokio::test]
    async fn nothing_is_remembered_for_longer_than_it_was_to_be() {
        let count = Arc::new(AtomicUsize::new(0));
        let cache = Cache::new(counting(&count, None), Duration::ZERO);
        assert!(log_in(&cache, "yes").await && log_in(&cache, "yes").await);
        assert!(enter(&cache, "/").await && enter(&cache, "/").await);
        assert_eq!(count.load(Ordering::SeqCst), 4);
    }

    #[tokio::test]
    async fn entering_a_vhost_is_remembered_for_one_address() {
        let count = Arc::new(AtomicUsize::new(0));
        let cache = Cache::new(counting(&count, None), Duration::from_secs(60));
        let from = |peer: &str| Origin { peer: Some(peer.parse().unwrap()), ..ORIGIN };
        let vhost = || Question::Vhost { vhost: "/".to_owned() };
        // Every connection has a port of its own.
        for peer in ["192.0.2.1:1", "192.0.2.1:2"] {
            assert!(ask_from(&cache, from(peer), vhost()).await);
        }
        assert_eq!(count.load(Ordering::SeqCst), 1);
        for peer in ["192.0.2.2:1", "[2001:db8::1]:1"] {
            assert!(ask_from(&cache, from(peer), vhost()).await);
        }
        assert!(enter(&cache, "/").await);
        assert_eq!(count.load(Ordering::SeqCst), 4);
        // Other questions do not depend on the address.
        let (name, access) = ("q".to_owned(), Access::Read);
        let queue = Question::Resource { vhost: "/".to_owned(), resource: Resource::Queue, name, access };
        for peer in ["192.0.2.1:1", "192.0.2.2:1"] {
            assert!(ask_from(&cache, from(peer), queue.clone()).await);
        }
        assert_eq!(count.load(Ordering::SeqCst), 5);
    }

    #[tokio::test]
    async fn a_login_is_not_remembered_for_longer_than_it_holds() {
        for (held_for, asked_count) in [(Duration::ZERO, 2), (Duration::from_secs(3600), 1)] {
            let count = Arc::new(AtomicUsize::new(0));
            let backend = counting(&count, Some(SystemTime::now() + held_for));
            let cache = Cache::new(backend, Duration::from_secs(60));
            assert!(log_in(&cache, "yes").await && log_in(&cache, "yes").await);
            assert_eq!(count.load(Ordering::SeqCst), asked_count);
        }
    }
}
