//! What the client says on the wire, and what it makes of answers.

use hyper::StatusCode;
use net::{ClientTls, ClientTlsOptions, Trust};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, UnixListener};

use super::*;
use crate::testing::TlsServer;

const TIMEOUT: Duration = Duration::from_secs(10);

/// Reads one request with its body.
async fn read(stream: &mut (impl tokio::io::AsyncRead + Unpin)) -> String {
    let mut request = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&request).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let len = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap_or("0");
            if body.len() >= len.parse().unwrap() {
                return text;
            }
        }
        assert!(stream.read_buf(&mut request).await.unwrap() > 0, "the request broke off: {text}");
    }
}

/// Gets a path from a server that gives this answer. Returns what it was asked, and what came of it.
async fn ask(path: &str, answer: &'static [u8]) -> (String, Result<Answer, HttpError>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let url = HttpUrl::parse(&format!("http://me:p%40ss@127.0.0.1:{port}/base/")).unwrap();
    let serving = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let request = read(&mut stream).await;
        stream.write_all(answer).await.unwrap();
        request
    };
    tokio::join!(serving, async { get(&url.below(path), TIMEOUT).await })
}

#[tokio::test]
async fn the_answer_has_status_headers_and_body() {
    let (request, answer) = ask("/api/overview?x=1", b"HTTP/1.1 200 OK\r\nX-Y: z\r\nContent-Length: 2\r\n\r\n{}").await;
    assert!(request.starts_with("GET /base/api/overview?x=1 HTTP/1.1\r\n"), "{request}");
    assert!(request.contains("authorization: Basic bWU6cEBzcw==\r\n"), "{request}");
    let answer = answer.unwrap();
    assert_eq!((answer.status, &answer.body[..]), (StatusCode::OK, &b"{}"[..]));
    assert_eq!(answer.headers["x-y"], "z");
    let (_, answer) = ask("x", b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n").await;
    assert_eq!(answer.unwrap().status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_none() {
    let (_, answer) = ask("x", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}").await;
    assert!(matches!(answer, Err(HttpError::Body(_) | HttpError::Broken(..))), "{answer:?}");
    let (_, answer) = ask("x", b"SSH-2.0\r\n\r\n").await;
    assert!(matches!(answer, Err(HttpError::Broken(..))), "{answer:?}");
}

#[tokio::test]
async fn an_answer_that_is_too_long_is_none() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = HttpUrl::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
    let serving = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        read(&mut stream).await;
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", ANSWER_LEN_MAX + 1);
        stream.write_all(head.as_bytes()).await.unwrap();
        // The client disconnects when it has seen enough.
        let part = vec![0; 1 << 20];
        while stream.write_all(&part).await.is_ok() {}
    };
    let ((), answer) = tokio::join!(serving, async { get(&url, TIMEOUT).await });
    assert!(matches!(answer, Err(HttpError::TooLong(ANSWER_LEN_MAX))), "{answer:?}");
}

#[tokio::test]
async fn an_answer_may_be_as_long_as_its_reader_says() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = HttpUrl::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
    let serving = async {
        for _ in 0..2 {
            let (mut stream, _) = listener.accept().await.unwrap();
            read(&mut stream).await;
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n[1,2]").await.unwrap();
        }
    };
    let asking = async {
        let mut client = Client::new(url, TIMEOUT);
        for (len_max, expected) in [(4, None), (5, Some(5))] {
            client.set_answer_len_max(len_max);
            let answer = client.ask(&Request::new(Method::GET)).await;
            assert_eq!(answer.ok().map(|answer| answer.body.len()), expected);
        }
    };
    tokio::join!(serving, asking);
}

/// A broker's answer may have all the time there is; a byte a second is none.
#[tokio::test(start_paused = true)]
async fn a_body_that_trickles_is_not_waited_for() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = HttpUrl::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
    let serving = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        read(&mut stream).await;
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n").await.unwrap();
        while stream.write_all(b" ").await.is_ok() {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    };
    let year = Duration::from_secs(365 * 24 * 3600);
    tokio::select! {
        () = serving => panic!("the client has closed the connection without a word"),
        answer = get(&url, year) => {
            let text = "the response is too slow: less than 4 KiB in 60 s";
            assert_eq!(answer.unwrap_err().to_string(), text);
        }
    }
}

#[tokio::test]
async fn who_wants_the_status_alone_reads_no_more() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = HttpUrl::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
    let serving = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let request = read(&mut stream).await;
        // The rest never comes.
        stream.write_all(b"HTTP/1.1 503 Later\r\nContent-Length: 1000000\r\n\r\nno").await.unwrap();
        let mut rest = [0];
        assert!(matches!(stream.read(&mut rest).await, Ok(0) | Err(_)), "the client has gone");
        request
    };
    let request = Request::new(Method::POST).with_json("{}");
    let (request, status) = tokio::join!(serving, async { Client::new(url, TIMEOUT).ask_status(&request).await });
    assert!(request.ends_with("\r\n\r\n{}"), "{request}");
    assert_eq!(status.unwrap(), StatusCode::SERVICE_UNAVAILABLE);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_says_nothing_is_not_waited_for() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = HttpUrl::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
    let error = get(&url, TIMEOUT).await.unwrap_err();
    assert_eq!(error.to_string(), "no answer within 10 s");
}

#[tokio::test]
async fn requests_follow_each_other_over_one_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = HttpUrl::parse(&format!("http://{}/base", listener.local_addr().unwrap())).unwrap();
    let serving = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut requests = Vec::new();
        for _ in 0..3 {
            requests.push(read(&mut stream).await);
            stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await.unwrap();
        }
        requests
    };
    let asking = async {
        let mut client = Client::new(url, TIMEOUT);
        client.ask(&Request::new(Method::PUT).below("api/vhosts/a").with_json("{}")).await.unwrap();
        client.ask(&Request::new(Method::DELETE).below("/api/vhosts/a")).await.unwrap();
        client.ask(&Request::new(Method::POST).with_body("text/plain", "x")).await.unwrap();
    };
    let (requests, ()) = tokio::join!(serving, asking);
    assert!(requests[0].starts_with("PUT /base/api/vhosts/a HTTP/1.1\r\n"), "{}", requests[0]);
    assert!(requests[0].contains("content-type: application/json\r\n"), "{}", requests[0]);
    assert!(requests[0].ends_with("\r\n\r\n{}"), "{}", requests[0]);
    assert!(requests[1].starts_with("DELETE /base/api/vhosts/a HTTP/1.1\r\n"), "{}", requests[1]);
    assert!(requests[2].starts_with("POST /base HTTP/1.1\r\n"), "{}", requests[2]);
}

#[tokio::test]
async fn a_connection_that_the_server_closed_is_opened_again() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = HttpUrl::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
    let mut client = Client::new(url, TIMEOUT);
    for method in [Method::GET, Method::POST, Method::GET] {
        let serving = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            read(&mut stream).await;
            // It does not say that it will close.
            stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await.unwrap();
        };
        let request = Request::new(method);
        let (answer, ()) = tokio::join!(client.ask(&request), serving);
        assert_eq!(answer.unwrap().status, StatusCode::NO_CONTENT);
    }
}

#[tokio::test]
async fn a_unix_socket_is_asked_like_a_host() {
    let path = std::env::temp_dir().join(format!("warren-http-{}.sock", std::process::id()));
    let _ = std::fs::remove_file(&path);
    let listener = UnixListener::bind(&path).unwrap();
    let serving = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let request = read(&mut stream).await;
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}").await.unwrap();
        request
    };
    let mut client = Client::new(HttpUrl::on_socket(&path), TIMEOUT);
    let request = Request::new(Method::GET).below("api/overview");
    let (asked, answer) = tokio::join!(serving, client.ask(&request));
    std::fs::remove_file(&path).unwrap();
    assert_eq!(&answer.unwrap().body[..], b"{}");
    assert!(asked.starts_with("GET /api/overview HTTP/1.1\r\nhost: localhost\r\n"), "{asked}");
    assert!(!asked.contains("authorization"), "{asked}");
    let error = Client::new(HttpUrl::on_socket(&path), TIMEOUT).ask(&request).await.unwrap_err();
    assert!(matches!(error, HttpError::Unreachable(_)), "{error:?}");
}

#[tokio::test]
async fn https_needs_somebody_to_trust() {
    let server = TlsServer::start("trust").await;
    let url = HttpUrl::parse(&format!("https://localhost:{}", server.port)).unwrap();
    let trusting = |trust| ClientTls::new(&ClientTlsOptions::trusting(trust)).unwrap();
    for trust in [Trust::File(server.ca.clone()), Trust::AnyServer] {
        assert_eq!(get(&url.clone().trusting(trusting(trust)), TIMEOUT).await.unwrap().status, StatusCode::OK);
    }
    // Another authority of the same name; and the system's, where there are any.
    let other = TlsServer::start("other").await;
    let error = get(&url.clone().trusting(trusting(Trust::File(other.ca.clone()))), TIMEOUT).await.unwrap_err();
    let refusal =
        |reason: &str| format!("TLS with localhost:{} failed: invalid peer certificate: {reason}", server.port);
    assert_eq!(error.to_string(), refusal("BadSignature"));
    let error = get(&url, TIMEOUT).await.unwrap_err().to_string();
    let is_without_any = error.starts_with("the system has no certificate authorities");
    assert!(error == refusal("UnknownIssuer") || is_without_any, "{error}");
}

#[tokio::test]
async fn an_answer_that_goes_on_is_read_as_it_comes() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = HttpUrl::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
    let (told, mut wait) = tokio::sync::mpsc::channel::<()>(1);
    let serving = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        read(&mut stream).await;
        stream.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n").await.unwrap();
        // The second piece is not sent before the first one has been read.
        wait.recv().await.unwrap();
        stream.write_all(b"3\r\ntwo\r\n0\r\n\r\n").await.unwrap();
    };
    let asking = async {
        let mut stream = Client::new(url, TIMEOUT).open(&Request::new(Method::GET)).await.unwrap();
        assert_eq!(stream.status, StatusCode::OK);
        assert_eq!(stream.next().await.unwrap().as_deref(), Some(&b"one"[..]));
        told.send(()).await.unwrap();
        assert_eq!(stream.next().await.unwrap().as_deref(), Some(&b"two"[..]));
        assert_eq!(stream.next().await.unwrap(), None);
    };
    tokio::join!(serving, asking);
}
