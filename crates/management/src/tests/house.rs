//! A broker with a few users and vhosts, and requests to its API.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use broker::{Broker, Interface, Origin};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::Request;
use hyper::header::HeaderMap;
use serde_json::Value;
use store::Store;
use store::file::SimDisk;

use crate::options::{ListenerInfo, Options};
use crate::service::Service;

/// A broker and its API.
pub(super) struct House {
    pub(super) service: Arc<Service>,
}

/// An answer.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
}

impl Reply {
    pub(super) fn json(&self) -> Value {
        let text = String::from_utf8_lossy(&self.body);
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error} in {text:?} ({})", self.status))
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }
}

/// Runs a test in a house of its own, which is deleted afterwards.
pub(super) fn in_house(test: impl AsyncFnOnce(&House)) {
    in_house_with(Options::default(), test);
}

pub(super) fn in_house_with(options: Options, test: impl AsyncFnOnce(&House)) {
    in_house_of(broker::Options::default(), options, test);
}

pub(super) fn in_house_of(of_broker: broker::Options, options: Options, test: impl AsyncFnOnce(&House)) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let house = House::over(of_broker, options);
        house.furnish().await;
        test(&house).await;
        house.close().await;
    });
}

impl House {
    /// One without users and vhosts of its own.
    pub(super) fn bare(options: Options) -> House {
        Self::over(broker::Options::default(), options)
    }

    pub(super) async fn close(&self) {
        self.service.broker.stop(Duration::ZERO).await.unwrap();
    }

    pub(super) fn over(of_broker: broker::Options, options: Options) -> House {
        let mut of_store = store::Options::new(PathBuf::from("/data"));
        of_store.is_reserve_kept = false;
        of_store.journal.file_len = 4 << 20;
        let (store, recovered) = Store::open(of_store, Arc::new(SimDisk::new(1))).unwrap();
        let broker = Broker::start(of_broker, store, recovered).unwrap();
        let service = Service::new(broker, options);
        let listener = |protocol: &str, port| ListenerInfo {
            protocol: protocol.to_owned(),
            ip: [127, 0, 0, 1].into(),
            port,
            tls: None,
            gate: None,
        };
        service.set_listeners(vec![listener("amqp", 5672), listener("http", 15672)]);
        House { service }
    }

    /// Users of every kind, whose passwords are their names, and the vhosts `shop` (theirs) and `empty` (without permissions).
    async fn furnish(&self) {
        for (user, tags) in [
            ("alice", "administrator"),
            ("mona", "monitoring"),
            ("polly", "policymaker"),
            ("manny", "management"),
            ("nadia", ""),
        ] {
            let body = format!(r#"{{"password":"{user}","tags":"{tags}"}}"#);
            assert_eq!(self.ask("PUT", &format!("/api/users/{user}"), "guest", &body).await.status, 201);
        }
        for vhost in ["shop", "empty"] {
            assert_eq!(self.ask("PUT", &format!("/api/vhosts/{vhost}"), "guest", "").await.status, 201);
        }
        // Its maker's, too.
        assert_eq!(self.ask("DELETE", "/api/permissions/empty/guest", "guest", "").await.status, 204);
        for user in ["alice", "mona", "polly", "manny", "nadia"] {
            let body = r#"{"configure":".*","write":".*","read":".*"}"#;
            assert_eq!(self.ask("PUT", &format!("/api/permissions/shop/{user}"), "guest", body).await.status, 201);
        }
    }

    /// Asks as a user whose password is its name.
    pub(super) async fn ask(&self, method: &str, path: &str, user: &str, body: &str) -> Reply {
        let value = base64::engine::general_purpose::STANDARD.encode(format!("{user}:{user}"));
        self.ask_with(method, path, &[("authorization", &format!("Basic {value}"))], body.as_bytes()).await
    }

    pub(super) async fn get(&self, path: &str) -> Reply {
        self.ask("GET", path, "guest", "").await
    }

    /// Asks with these headers and no others.
    pub(super) async fn ask_with(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Reply {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(Bytes::copy_from_slice(body))).unwrap();
        let origin = Origin { peer: Some(([127, 0, 0, 1], 40000).into()), interface: Interface::Http };
        let response = self.service.respond(request, origin).await;
        let (parts, body) = response.into_parts();
        let body = body.collect().await.unwrap().to_bytes().to_vec();
        Reply { status: parts.status.as_u16(), headers: parts.headers, body }
    }

    /// Checks what a request by guest is answered with; `expected` is JSON, or empty for an empty body.
    pub(super) async fn check(&self, request: &str, body: &str, status: u16, expected: &str) {
        let (method, path) = request.split_once(' ').unwrap();
        let reply = self.ask(method, path, "guest", body).await;
        let answered = String::from_utf8_lossy(&reply.body);
        assert_eq!(reply.status, status, "{request} {body}: {answered}");
        if expected.is_empty() {
            assert_eq!(answered, "", "{request} {body}");
        } else {
            let expected: Value = serde_json::from_str(expected).unwrap();
            assert_eq!(reply.json(), expected, "{request} {body}");
        }
    }

    /// Checks a refusal: its status, error and reason.
    pub(super) async fn check_refused(&self, request: &str, body: &str, status: u16, error: &str, reason: &str) {
        let expected = serde_json::json!({"error": error, "reason": reason});
        self.check(request, body, status, &expected.to_string()).await;
    }
}
