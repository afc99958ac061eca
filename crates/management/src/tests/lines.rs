//! Endless answers, read line by line.

use std::future::poll_fn;
use std::pin::Pin;
use std::time::Duration;

use base64::Engine as _;
use broker::{Interface, Origin};
use bytes::Bytes;
use http_body_util::Full;
use http_server::AnswerBody;
use hyper::Request;
use hyper::body::Body as _;
use parking_lot::{Mutex, MutexGuard};
use serde_json::Value;

use super::house::House;

/// What watches the process is there once for all tests: one after the other.
pub(super) fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock()
}

/// The lines of an endless answer.
pub(super) struct Lines {
    body: AnswerBody,
    text: String,
    /// Pieces since the last line that said something.
    silent_count: u32,
}

const TIMEOUT: Duration = Duration::from_secs(60);
const SILENT_COUNT_MAX: u32 = 120;

pub(super) async fn open(house: &House, user: &str, path: &str) -> (u16, Lines) {
    let value = base64::engine::general_purpose::STANDARD.encode(format!("{user}:{user}"));
    let request = Request::builder().uri(path).header("authorization", format!("Basic {value}"));
    let origin = Origin { peer: Some(([127, 0, 0, 1], 40000).into()), interface: Interface::Http };
    let response = house.service.respond(request.body(Full::new(Bytes::new())).unwrap(), origin).await;
    (response.status().as_u16(), Lines { body: response.into_body(), text: String::new(), silent_count: 0 })
}

impl Lines {
    /// The next line that says something; None after the last.
    pub(super) async fn next(&mut self) -> Option<Value> {
        loop {
            while let Some((line, rest)) = self.text.split_once('\n') {
                let (line, rest) = (line.to_owned(), rest.to_owned());
                self.text = rest;
                if !line.is_empty() {
                    self.silent_count = 0;
                    return Some(serde_json::from_str(&line).unwrap());
                }
            }
            let piece = self.piece().await?;
            self.silent_count += 1;
            assert!(self.silent_count < SILENT_COUNT_MAX, "nothing but silence comes");
            self.text.push_str(&piece);
        }
    }

    /// The next piece; None after the last.
    async fn piece(&mut self) -> Option<String> {
        let frame = poll_fn(|cx| Pin::new(&mut self.body).poll_frame(cx));
        let frame = tokio::time::timeout(TIMEOUT, frame).await.expect("something comes four times a second")?;
        Some(String::from_utf8(frame.unwrap().into_data().unwrap().to_vec()).unwrap())
    }

    /// An answer that has an end, as the one value that it is.
    pub(super) async fn whole(mut self) -> Value {
        let mut text = String::new();
        while let Some(piece) = self.piece().await {
            text.push_str(&piece);
        }
        serde_json::from_str(&text).unwrap()
    }

    /// All that is left of it.
    pub(super) async fn rest(mut self) -> Vec<Value> {
        let mut lines = Vec::new();
        while let Some(line) = self.next().await {
            lines.push(line);
        }
        lines
    }

    pub(super) async fn expect(&mut self, event: &str) -> Value {
        let line = self.next().await.unwrap();
        assert_eq!(line["event"], event, "{line}");
        line
    }
}
