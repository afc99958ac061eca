//! Tokens instead of passwords: from an OAuth 2 server, and another one before each expires.

use std::time::Duration;

use bytes::Bytes;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use tokio::sync::watch;

use super::Failure;
use crate::perftest::Oauth2Settings;
use http_client::HttpUrl;

/// How long the server may take.
const TIMEOUT: Duration = Duration::from_secs(30);
/// How much of its life a token has behind it when it is replaced.
const USED_SHARE: f64 = 0.8;
/// Between two attempts to get another one.
const RETRY: Duration = Duration::from_secs(5);
/// The life of a token that does not say how long it is.
const LIFE: Duration = Duration::from_secs(300);

/// What stands for itself in a form.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

#[derive(Debug, Deserialize)]
struct Token {
    access_token: String,
    /// In seconds.
    expires_in: Option<f64>,
}

impl Token {
    fn replaced_after(&self) -> Duration {
        let life = self.expires_in.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()).unwrap_or(LIFE);
        life.mul_f64(USED_SHARE).max(Duration::from_secs(1))
    }
}

/// Gets a token from the endpoint, and another one in time, as long as the receiver wants them. To be called within a runtime.
pub(crate) async fn tokens(url: HttpUrl, settings: &Oauth2Settings) -> Result<watch::Receiver<String>, Failure> {
    let form = form(settings);
    let first = fetch(&url, &form).await.map_err(Failure::failed)?;
    let mut wait = first.replaced_after();
    let (sender, receiver) = watch::channel(first.access_token);
    tokio::spawn(async move {
        while !sender.is_closed() {
            tokio::time::sleep(wait).await;
            // Connections with the old token go on as long as it is valid.
            wait = match fetch(&url, &form).await {
                Ok(token) => {
                    let wait = token.replaced_after();
                    sender.send_replace(token.access_token);
                    wait
                }
                Err(_) => RETRY,
            };
        }
    });
    Ok(receiver)
}

fn form(settings: &Oauth2Settings) -> String {
    let pairs = [
        ("grant_type", &settings.grant_type),
        ("client_id", &settings.client_id),
        ("client_secret", &settings.client_secret),
    ];
    let pairs = pairs.into_iter().chain(settings.parameters.iter().map(|(name, value)| (name.as_str(), value)));
    let escaped = |text: &str| utf8_percent_encode(text, ESCAPED).to_string();
    let pairs: Vec<String> = pairs.map(|(name, value)| format!("{}={}", escaped(name), escaped(value))).collect();
    pairs.join("&")
}

async fn fetch(url: &HttpUrl, form: &str) -> Result<Token, String> {
    let body = Bytes::copy_from_slice(form.as_bytes());
    let answer = http_client::post(url, "application/x-www-form-urlencoded", body, TIMEOUT).await;
    let answer = answer.map_err(|error| format!("{url} returns no token: {error}"))?;
    if !answer.status.is_success() {
        return Err(format!("{url} returns no token: {}", answer.status));
    }
    serde_json::from_slice(&answer.body).map_err(|error| format!("the answer of {url} is not a token: {error}"))
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    fn settings(port: u16) -> Oauth2Settings {
        Oauth2Settings {
            token_endpoint: format!("http://127.0.0.1:{port}/token"),
            client_id: "me".to_owned(),
            client_secret: "s&cret".to_owned(),
            grant_type: "client_credentials".to_owned(),
            parameters: vec![("orgId".to_owned(), "1234".to_owned())],
        }
    }

    fn url(settings: &Oauth2Settings) -> HttpUrl {
        HttpUrl::parse(&settings.token_endpoint).unwrap()
    }

    /// Answers requests, one after the other. Returns what was posted.
    async fn serve(listener: &TcpListener, answers: &[&str]) -> Vec<String> {
        let mut posted = Vec::new();
        for answer in answers {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = Vec::new();
            while !request.ends_with(b"1234") {
                assert!(stream.read_buf(&mut request).await.unwrap() > 0);
            }
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{answer}", answer.len());
            stream.write_all(head.as_bytes()).await.unwrap();
            posted.push(String::from_utf8(request).unwrap());
        }
        posted
    }

    #[tokio::test]
    async fn a_token_is_replaced_before_it_expires() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let settings = settings(listener.local_addr().unwrap().port());
        let answers =
            [r#"{"access_token":"one","expires_in":1.25}"#, r#"{"access_token":"two","token_type":"bearer"}"#];
        let using = async {
            let mut tokens = tokens(url(&settings), &settings).await.unwrap();
            assert_eq!(*tokens.borrow_and_update(), "one");
            tokens.changed().await.unwrap();
            assert_eq!(*tokens.borrow(), "two");
        };
        let (posted, ()) = tokio::join!(serve(&listener, &answers), using);
        let form = "grant_type=client_credentials&client_id=me&client_secret=s%26cret&orgId=1234";
        assert!(posted[0].ends_with(form), "{posted:?}");
    }

    #[tokio::test]
    async fn an_answer_without_a_token_is_refused() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let settings = settings(listener.local_addr().unwrap().port());
        let (_, result) = tokio::join!(serve(&listener, &["{}"]), tokens(url(&settings), &settings));
        assert!(matches!(result, Err(Failure::Failed(text)) if text.contains("is not a token")));
    }
}
