//! An HTTP service that is asked about users: `allow` with tags, or `deny` with a reason, for a login; `allow` or `deny`
//! for everything else (RabbitMQ's `rabbitmq_auth_backend_http`).

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use broker::{Answer, Backend, BackendUser, Decision, LoginAnswer, LoginAttempt, Origin, Question};
use http_client::{Client, HttpUrl, Request};
use hyper::Method;
use model::user::{Access, Tags, TopicAccess};
use parking_lot::Mutex;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Connections that are kept for the next question.
const KEPT_COUNT: usize = 16;

/// What stays as it is in a query.
const QUERY: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// How the service is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HttpMethod {
    /// What is asked stands in the URL.
    #[default]
    Get,
    /// What is asked stands in the body.
    Post,
}

/// Where the service is, and how it is asked.
#[derive(Debug, Clone)]
pub struct HttpOptions {
    /// How.
    pub method: HttpMethod,
    /// Answers logins.
    pub user: HttpUrl,
    /// Answers whether the user may be in a vhost.
    pub vhost: HttpUrl,
    /// Answers whether the user may do something with an exchange or a queue.
    pub resource: HttpUrl,
    /// Answers whether the user may use a routing key.
    pub topic: HttpUrl,
    /// How long an answer may take.
    pub timeout: Duration,
}

/// The back end.
#[derive(Clone)]
pub struct HttpBackend(Arc<Shared>);

struct Shared {
    method: HttpMethod,
    user: ServicePath,
    vhost: ServicePath,
    resource: ServicePath,
    topic: ServicePath,
    timeout: Duration,
}

/// One of the service's URLs, with connections to it.
struct ServicePath {
    url: HttpUrl,
    kept: Mutex<Vec<Client>>,
}

impl fmt::Debug for HttpBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpBackend").field("user", &self.0.user.url).finish_non_exhaustive()
    }
}

/// What the service said.
enum ServiceAnswer {
    Allow(Vec<String>),
    Deny(String),
}

impl HttpBackend {
    /// A back end that asks this service.
    #[must_use]
    pub fn new(options: HttpOptions) -> Self {
        let place = |url| ServicePath { url, kept: Mutex::default() };
        let HttpOptions { method, user, vhost, resource, topic, timeout } = options;
        let [user, vhost, resource, topic] = [user, vhost, resource, topic].map(place);
        Self(Arc::new(Shared { method, user, vhost, resource, topic, timeout }))
    }

    fn ask(
        &self,
        place: fn(&Shared) -> &ServicePath,
        fields: Vec<(&'static str, String)>,
    ) -> Answer<Result<ServiceAnswer, String>> {
        let shared = self.0.clone();
        Box::pin(async move { shared.ask(place(&shared), &fields).await })
    }

    fn log_in_as(&self, attempt: LoginAttempt) -> Answer<LoginAnswer> {
        let mut fields = vec![("username", attempt.name.clone())];
        if let Some(password) = &attempt.password {
            fields.push(("password", String::from_utf8_lossy(password).into_owned()));
        }
        let said = self.ask(|shared| &shared.user, fields);
        Box::pin(async move {
            match said.await {
                Ok(ServiceAnswer::Allow(tags)) => LoginAnswer::Accepted(BackendUser {
                    name: attempt.name,
                    tags: tags.iter().map(String::as_str).collect::<Tags>(),
                    grants: Arc::new(()),
                    expires_at: None,
                }),
                Ok(ServiceAnswer::Deny(reason)) => LoginAnswer::Refused(reason),
                Err(reason) => LoginAnswer::Failed(reason),
            }
        })
    }
}

impl Shared {
    async fn ask(&self, place: &ServicePath, fields: &[(&'static str, String)]) -> Result<ServiceAnswer, String> {
        let encoded = form(fields);
        let path = place.url.path().to_owned();
        let request = match self.method {
            HttpMethod::Get => Request::new(Method::GET).below(format!("{path}?{encoded}")),
            HttpMethod::Post => {
                Request::new(Method::POST).below(path).with_body("application/x-www-form-urlencoded", encoded)
            }
        };
        let kept = place.kept.lock().pop();
        let mut client = kept.unwrap_or_else(|| Client::new(place.url.clone().with_path(""), self.timeout));
        let answer = client.ask(&request).await.map_err(|error| error.to_string())?;
        {
            let mut kept = place.kept.lock();
            if kept.len() < KEPT_COUNT {
                kept.push(client);
            }
        }
        // RabbitMQ takes 200 and 201.
        if !matches!(answer.status.as_u16(), 200 | 201) {
            return Err(format!("the service answered with status {}", answer.status.as_u16()));
        }
        understand(&String::from_utf8_lossy(&answer.body))
    }
}

/// `allow`, `allow tag tag`, `deny`, `deny reason`; in any case.
fn understand(body: &str) -> Result<ServiceAnswer, String> {
    let mut words = body.split_whitespace();
    let verdict = words.next().unwrap_or_default().to_ascii_lowercase();
    let rest: Vec<String> = words.map(str::to_owned).collect();
    match &*verdict {
        "allow" => Ok(ServiceAnswer::Allow(rest)),
        "deny" if rest.is_empty() => Ok(ServiceAnswer::Deny("the service denied the request".to_owned())),
        "deny" => Ok(ServiceAnswer::Deny(rest.join(" "))),
        _ => Err("the service answered neither allow nor deny".to_owned()),
    }
}

fn form(fields: &[(&'static str, String)]) -> String {
    let pair = |(name, value): &(&str, String)| format!("{name}={}", utf8_percent_encode(value, QUERY));
    fields.iter().map(pair).collect::<Vec<_>>().join("&")
}

impl Backend for HttpBackend {
    fn name(&self) -> &str {
        "http"
    }

    fn log_in(&self, attempt: LoginAttempt) -> Answer<LoginAnswer> {
        self.log_in_as(attempt)
    }

    fn recognize(&self, attempt: LoginAttempt) -> Answer<LoginAnswer> {
        // The service is asked without a password, as by RabbitMQ: another has looked at it.
        self.log_in_as(LoginAttempt { password: None, ..attempt })
    }

    fn decide(&self, user: &BackendUser, origin: &Origin, question: &Question) -> Decision {
        let username = ("username", user.name.clone());
        let said = match question {
            Question::Vhost { vhost } => {
                let ip = origin.peer.map(|peer| peer.ip().to_canonical().to_string()).unwrap_or_default();
                self.ask(|shared| &shared.vhost, vec![username, ("vhost", vhost.clone()), ("ip", ip)])
            }
            Question::Resource { vhost, resource, name, access } => self.ask(
                |shared| &shared.resource,
                vec![
                    username,
                    ("vhost", vhost.clone()),
                    ("resource", resource.name().to_owned()),
                    ("name", name.clone()),
                    ("permission", permission(*access).to_owned()),
                ],
            ),
            Question::Topic { vhost, exchange, routing_key, access } => {
                let access = match access {
                    TopicAccess::Write => "write",
                    TopicAccess::Read => "read",
                };
                self.ask(
                    |shared| &shared.topic,
                    vec![
                        username,
                        ("vhost", vhost.clone()),
                        ("resource", "topic".to_owned()),
                        ("name", exchange.clone()),
                        ("permission", access.to_owned()),
                        ("routing_key", routing_key.clone()),
                    ],
                )
            }
        };
        let asked = question.clone();
        Decision::Ask(Box::pin(async move {
            match said.await {
                Ok(said) => matches!(said, ServiceAnswer::Allow(_)),
                Err(reason) => {
                    tracing::error!(question = ?asked, %reason, "request to the authorisation service failed");
                    false
                }
            }
        }))
    }
}

fn permission(access: Access) -> &'static str {
    match access {
        Access::Configure => "configure",
        Access::Write => "write",
        Access::Read => "read",
    }
}

#[cfg(test)]
mod tests {
    use broker::{Interface, Resource};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    /// A service that notes the requests and gives each the same answer.
    async fn service(status: u16, body: &'static str) -> (String, Arc<Mutex<Vec<String>>>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let noted = requests.clone();
        tokio::spawn(async move {
            while let Ok((mut socket, _)) = listener.accept().await {
                let noted = noted.clone();
                tokio::spawn(async move {
                    let mut buffer = [0; 4096];
                    while let Ok(len @ 1..) = socket.read(&mut buffer).await {
                        noted.lock().push(String::from_utf8_lossy(&buffer[..len]).into_owned());
                        let len = body.len();
                        let answer = format!("HTTP/1.1 {status} X\r\nContent-Length: {len}\r\n\r\n{body}");
                        socket.write_all(answer.as_bytes()).await.unwrap();
                    }
                });
            }
        });
        (url, requests)
    }

    fn backend(url: &str, method: HttpMethod) -> HttpBackend {
        let url = |path: &str| HttpUrl::parse(&format!("{url}/auth/{path}")).unwrap();
        HttpBackend::new(HttpOptions {
            method,
            user: url("user"),
            vhost: url("vhost"),
            resource: url("resource"),
            topic: url("topic"),
            timeout: Duration::from_secs(10),
        })
    }

    fn origin() -> Origin {
        Origin { peer: Some("192.0.2.7:5".parse().unwrap()), interface: Interface::Amqp }
    }

    fn attempt() -> LoginAttempt {
        LoginAttempt { name: "ann b".to_owned(), password: Some(b"p&w".to_vec()), origin: origin() }
    }

    fn user() -> BackendUser {
        BackendUser { name: "ann".to_owned(), tags: Tags::default(), grants: Arc::new(()), expires_at: None }
    }

    async fn is_allowed(backend: &HttpBackend, question: Question) -> bool {
        match backend.decide(&user(), &origin(), &question) {
            Decision::Ask(answer) => answer.await,
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn a_login_is_asked_for_and_has_tags() {
        let (url, requests) = service(200, "ALLOW administrator  management\n").await;
        let answer = backend(&url, HttpMethod::Get).log_in(attempt()).await;
        let LoginAnswer::Accepted(user) = answer else { panic!("{answer:?}") };
        assert_eq!(user.name, "ann b");
        assert_eq!(user.tags.iter().collect::<Vec<_>>(), ["administrator", "management"]);
        let first = requests.lock()[0].lines().next().unwrap().to_owned();
        assert_eq!(first, "GET /auth/user?username=ann%20b&password=p%26w HTTP/1.1");
    }

    #[tokio::test]
    async fn what_is_asked_can_stand_in_the_body() {
        let (url, requests) = service(200, "deny too early").await;
        let answer = backend(&url, HttpMethod::Post).log_in(attempt()).await;
        assert!(matches!(&answer, LoginAnswer::Refused(reason) if reason == "too early"), "{answer:?}");
        let request = requests.lock().join("");
        assert!(request.starts_with("POST /auth/user HTTP/1.1"), "{request}");
        assert!(request.ends_with("username=ann%20b&password=p%26w"), "{request}");
    }

    #[tokio::test]
    async fn every_question_has_its_fields() {
        let (url, requests) = service(200, "allow").await;
        let backend = backend(&url, HttpMethod::Get);
        let vhost = || "/".to_owned();
        assert!(is_allowed(&backend, Question::Vhost { vhost: vhost() }).await);
        let (resource, name, access) = (Resource::Queue, "q".to_owned(), Access::Configure);
        assert!(is_allowed(&backend, Question::Resource { vhost: vhost(), resource, name, access }).await);
        let (exchange, routing_key, access) = ("amq.topic".to_owned(), "a.b".to_owned(), TopicAccess::Read);
        assert!(is_allowed(&backend, Question::Topic { vhost: vhost(), exchange, routing_key, access }).await);
        let lines: Vec<String> =
            requests.lock().iter().map(|request| request.lines().next().unwrap().to_owned()).collect();
        let expected = [
            "GET /auth/vhost?username=ann&vhost=%2F&ip=192.0.2.7 HTTP/1.1",
            "GET /auth/resource?username=ann&vhost=%2F&resource=queue&name=q&permission=configure HTTP/1.1",
            "GET /auth/topic?username=ann&vhost=%2F&resource=topic&name=amq.topic&permission=read&routing_key=a.b HTTP/1.1",
        ];
        assert_eq!(lines, expected);
    }

    #[tokio::test]
    async fn what_cannot_be_asked_is_a_no() {
        let (url, _) = service(500, "allow").await;
        let broken = backend(&url, HttpMethod::Get);
        assert!(matches!(broken.log_in(attempt()).await, LoginAnswer::Failed(_)));
        assert!(!is_allowed(&broken, Question::Vhost { vhost: "/".to_owned() }).await);
        let unreachable = backend("http://127.0.0.1:1", HttpMethod::Get);
        assert!(matches!(unreachable.log_in(attempt()).await, LoginAnswer::Failed(_)));
        let (url, _) = service(200, "perhaps").await;
        assert!(matches!(backend(&url, HttpMethod::Get).log_in(attempt()).await, LoginAnswer::Failed(_)));
    }
}
