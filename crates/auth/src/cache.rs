//! Remembers for a while what another back end answered (RabbitMQ's `rabbitmq_auth_backend_cache`). Only yes is
//! remembered: a no may be a mistake that is being mended.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

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
    remembered: Arc<Mutex<Remembered>>,
}

#[derive(Debug, Default)]
struct Remembered {
    /// By name and a hash of the password, which is not kept.
    logins: HashMap<(String, Option<u64>), (BackendUser, Instant)>,
    allowed: HashMap<(String, Question), Instant>,
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
                remembered.logins.insert(key, (user.clone(), Instant::now() + duration));
            }
            answer
        })
    }
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
        let key = (user.name.clone(), question.clone());
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

    use broker::Interface;
    use model::user::Tags;

    use super::*;

    /// Lets in who says `yes`, and counts how often it was asked.
    #[derive(Debug, Default)]
    struct Counting(Arc<AtomicUsize>);

    impl Backend for Counting {
        fn name(&self) -> &str {
            "counting"
        }

        fn log_in(&self, attempt: LoginAttempt) -> Answer<LoginAnswer> {
            self.0.fetch_add(1, Ordering::SeqCst);
            let is_right = attempt.password.as_deref() == Some(b"yes");
            let user =
                BackendUser { name: attempt.name, tags: Tags::default(), grants: Arc::new(()), expires_at: None };
            let refused = LoginAnswer::Refused(String::new());
            Box::pin(async move { if is_right { LoginAnswer::Accepted(user) } else { refused } })
        }

        fn recognize(&self, attempt: LoginAttempt) -> Answer<LoginAnswer> {
            self.log_in(attempt)
        }

        fn decide(&self, _: &BackendUser, _: &Origin, question: &Question) -> Decision {
            self.0.fetch_add(1, Ordering::SeqCst);
            let is_allowed = matches!(question, Question::Vhost { vhost } if vhost == "/");
            Decision::Ask(Box::pin(async move { is_allowed }))
        }
    }

    const ORIGIN: Origin = Origin { peer: None, interface: Interface::Amqp };

    async fn log_in(cache: &Cache, password: &str) -> bool {
        let attempt =
            LoginAttempt { name: "ann".to_owned(), password: Some(password.as_bytes().to_vec()), origin: ORIGIN };
        matches!(cache.log_in(attempt).await, LoginAnswer::Accepted(_))
    }

    async fn enter(cache: &Cache, vhost: &str) -> bool {
        let user =
            BackendUser { name: "ann".to_owned(), tags: Tags::default(), grants: Arc::new(()), expires_at: None };
        match cache.decide(&user, &ORIGIN, &Question::Vhost { vhost: vhost.to_owned() }) {
            Decision::Allowed => true,
            Decision::Refused => false,
            Decision::Ask(answer) => answer.await,
        }
    }

    #[tokio::test]
    async fn yes_is_remembered_and_no_is_not() {
        let count = Arc::new(AtomicUsize::new(0));
        let cache = Cache::new(Arc::new(Counting(count.clone())), Duration::from_secs(60));
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
        let cache = Cache::new(Arc::new(Counting(count.clone())), Duration::ZERO);
        assert!(log_in(&cache, "yes").await && log_in(&cache, "yes").await);
        assert!(enter(&cache, "/").await && enter(&cache, "/").await);
        assert_eq!(count.load(Ordering::SeqCst), 4);
    }
}
