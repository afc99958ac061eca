//! Logging in once for many requests, as a browser does.

use serde_json::json;

use super::house::{House, Reply, in_house};
use crate::options::Options;

const PAGE: [(&str, &str); 2] = [("host", "broker.example:15672"), ("origin", "http://broker.example:15672")];

/// Logs in, and gives the answer and the cookie as a browser sends it back.
async fn log_in(house: &House, body: &str) -> (Reply, String) {
    let reply = house.ask_with("POST", "/api/session", &PAGE, body.as_bytes()).await;
    let cookie = reply.header("set-cookie").unwrap_or_default().split(';').next().unwrap_or_default().to_owned();
    (reply, cookie)
}

async fn log_in_as(house: &House, name: &str) -> String {
    let (reply, cookie) = log_in(house, &json!({"name": name, "password": name}).to_string()).await;
    assert_eq!(reply.status, 201, "{reply:?}");
    cookie
}

async fn ask(house: &House, method: &str, path: &str, cookie: &str, headers: &[(&str, &str)]) -> Reply {
    let headers: Vec<_> = headers.iter().copied().chain([("cookie", cookie)]).collect();
    house.ask_with(method, path, &headers, b"").await
}

#[test]
fn a_cookie_stands_for_a_login() {
    in_house(async |house| {
        let (reply, cookie) = log_in(house, r#"{"name":"mona","password":"mona"}"#).await;
        let described = reply.json();
        assert_eq!(
            (reply.status, &described["name"], &described["tags"]),
            (201, &json!("mona"), &json!(["monitoring"]))
        );
        let set = reply.header("set-cookie").unwrap();
        assert!(set.contains("; HttpOnly; SameSite=Strict; Path=/; Max-Age=28") && !set.contains("Secure"), "{set}");
        let shown = ask(house, "GET", "/api/session", &cookie, &[]).await;
        assert_eq!((shown.status, shown.json()), (200, described));
        assert_eq!(ask(house, "GET", "/api/whoami", &cookie, &[]).await.json()["name"], "mona");
        assert_eq!(ask(house, "GET", "/api/users", &cookie, &[]).await.json()["reason"], "Not administrator user");
        // Credentials go before the cookie.
        let basic = [("authorization", "Basic Z3Vlc3Q6Z3Vlc3Q=")];
        assert_eq!(ask(house, "GET", "/api/whoami", &cookie, &basic).await.json()["name"], "guest");
        let gone = ask(house, "DELETE", "/api/session", &cookie, &PAGE).await;
        let cleared = "warren_session=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0";
        assert_eq!((gone.status, gone.header("set-cookie")), (204, Some(cleared)));
        for path in ["/api/session", "/api/whoami"] {
            assert_eq!(ask(house, "GET", path, &cookie, &[]).await.status, 401, "{path}");
        }
    });
}

#[test]
fn what_changes_something_must_come_from_a_page_of_the_host() {
    in_house(async |house| {
        let cookie = log_in_as(house, "alice").await;
        let host = PAGE[0];
        for headers in [&[host][..], &[host, ("origin", "http://broker.example")], &[host, ("origin", "null")]] {
            for (method, path) in
                [("PUT", "/api/vhosts/new"), ("DELETE", "/api/vhosts/shop"), ("DELETE", "/api/session")]
            {
                let reply = ask(house, method, path, &cookie, headers).await;
                let reason =
                    "a request with a session cookie may make changes only if its header 'origin' names this host";
                assert_eq!(
                    (reply.status, &reply.json()["reason"]),
                    (403, &json!(reason)),
                    "{method} {path} {headers:?}"
                );
            }
        }
        assert_eq!(ask(house, "PUT", "/api/vhosts/new", &cookie, &PAGE).await.status, 201);
        // Programs that are no browsers are asked for nothing of that.
        house.check("PUT /api/vhosts/other", "", 201, "").await;
        let foreign = [("sec-fetch-site", "cross-site")];
        assert_eq!(ask(house, "GET", "/api/whoami", &cookie, &foreign).await.status, 401);
        assert_eq!(ask(house, "GET", "/api/session", &cookie, &foreign).await.status, 401);
        let foreign = [host, ("origin", "http://evil.example")];
        let reply = house.ask_with("POST", "/api/session", &foreign, br#"{"name":"mona","password":"mona"}"#).await;
        assert_eq!(reply.status, 403, "no page of another host logs a user in");
    });
}

#[test]
fn a_browser_opens_no_dialogue_where_a_page_asks() {
    in_house(async |house| {
        let of_script = house.ask_with("GET", "/api/overview", &[("sec-fetch-dest", "empty")], b"").await;
        assert_eq!((of_script.status, of_script.header("www-authenticate")), (401, None));
        let of_address = house.ask_with("GET", "/api/overview", &[("sec-fetch-dest", "document")], b"").await;
        assert!(of_address.header("www-authenticate").is_some());
    });
}

#[test]
fn a_login_that_makes_no_sense_or_is_wrong_opens_no_session() {
    in_house(async |house| {
        for body in
            ["", "{}", r#"{"name":"mona"}"#, r#"{"name":"mona","password":"mona","token":"x"}"#, r#"{"nam":"x"}"#]
        {
            assert_eq!(log_in(house, body).await.0.status, 400, "{body}");
        }
        for body in [r#"{"name":"mona","password":"x"}"#, r#"{"token":"x"}"#, r#"{"name":"nadia","password":"nadia"}"#]
        {
            let (reply, cookie) = log_in(house, body).await;
            assert_eq!((reply.status, &*cookie), (401, ""), "{body}");
        }
    });
}

#[test]
fn where_names_and_passwords_are_refused_no_session_is_opened_with_them() {
    in_house(async |_| {
        let house =
            House::bare(Options { refuses_basic: true, path_prefix: "/rabbit".to_owned(), ..Options::default() });
        let body = br#"{"name":"guest","password":"guest"}"#;
        assert_eq!(house.ask_with("POST", "/rabbit/api/session", &[], body).await.status, 401);
        house.close().await;
        let house = House::bare(Options { path_prefix: "/rabbit".to_owned(), ..Options::default() });
        let reply = house.ask_with("POST", "/rabbit/api/session", &[], body).await;
        assert!(reply.header("set-cookie").unwrap().contains("; Path=/rabbit;"), "{reply:?}");
        house.close().await;
    });
}

#[test]
fn wrong_passwords_count_as_elsewhere() {
    in_house(async |house| {
        for _ in 0..20 {
            assert_eq!(log_in(house, r#"{"name":"mona","password":"x"}"#).await.0.status, 401);
        }
        assert_eq!(log_in(house, r#"{"name":"mona","password":"mona"}"#).await.0.status, 401, "locked out");
    });
}

#[test]
fn rights_are_those_of_now() {
    in_house(async |house| {
        let cookie = log_in_as(house, "mona").await;
        house.check("PUT /api/users/mona", r#"{"tags":"administrator"}"#, 204, "").await;
        let reply = ask(house, "GET", "/api/users", &cookie, &[]).await;
        assert_eq!(reply.status, 401, "a user without a password has no session");
        let cookie = log_in_as(house, "manny").await;
        house.check("DELETE /api/users/manny", "", 204, "").await;
        assert_eq!(ask(house, "GET", "/api/whoami", &cookie, &[]).await.status, 401);
    });
}

#[test]
fn sessions_are_no_definitions() {
    in_house(async |house| {
        log_in_as(house, "alice").await;
        for path in ["/api/definitions", "/api/global-parameters", "/api/parameters"] {
            let reply = house.get(path).await;
            assert!(!String::from_utf8_lossy(&reply.body).contains("warren-session"), "{path}");
        }
        let body = r#"{"global_parameters":[{"name":"warren-session.x","value":{}}]}"#;
        assert_eq!(house.ask("POST", "/api/definitions", "guest", body).await.status, 400);
    });
}
