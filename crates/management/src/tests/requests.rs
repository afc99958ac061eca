//! What a request may look like, and what it is answered when it looks otherwise.

use hyper::header::{HeaderMap, HeaderValue};

use super::house::{in_house, in_house_with};
use crate::options::{Cors, Headers, Options};

#[test]
fn common_headers_are_rabbitmqs() {
    in_house(async |house| {
        let reply = house.get("/api/whoami").await;
        assert_eq!(reply.header("content-type"), Some("application/json"));
        assert_eq!(reply.header("cache-control"), Some("no-cache"));
        assert_eq!(reply.header("vary"), Some("accept, accept-encoding, origin"));
        assert_eq!(reply.header("content-security-policy"), Some("script-src 'self'; object-src 'self'"));
        assert_eq!(reply.header("allow"), Some("HEAD, GET, OPTIONS"));
        assert_eq!(reply.header("content-length"), Some(&*reply.body.len().to_string()));
        assert_eq!(reply.header("access-control-allow-origin"), None);
    });
}

#[test]
fn what_is_not_there_is_404_and_what_cannot_be_is_400() {
    in_house(async |house| {
        for path in ["/api/nosuch", "/nosuch", "/api//queues", "/api/queues//", "/api/queues/../x", "/api/./queues"] {
            let reply = house.get(path).await;
            let expected = serde_json::json!({"error": "Object Not Found", "reason": "Not Found"});
            assert_eq!((reply.status, reply.json()), (404, expected), "{path}");
        }
        for path in ["/api/queues/%2F/a%", "/api/queues/%2F/%ff"] {
            let reply = house.get(path).await;
            assert_eq!((reply.status, reply.body.len()), (400, 0), "{path}");
        }
        assert_eq!(house.get("/api/queues/").await.status, 200);
    });
}

#[test]
fn a_path_that_leads_nowhere_could_only_have_been_read() {
    in_house(async |house| {
        let allow = Some("HEAD, GET, OPTIONS");
        for path in ["/api/nosuch", "/nosuch", "/api/shovels", "/api/shovels/shop/x", "/api/queues/shop/a/b/c"] {
            for (method, status, allow) in [
                ("PUT", 405, allow),
                ("POST", 405, allow),
                ("DELETE", 405, allow),
                ("PATCH", 405, allow),
                ("OPTIONS", 200, allow),
                ("TRACE", 501, None),
            ] {
                let reply = house.ask(method, path, "guest", "").await;
                let answered = (reply.status, reply.header("allow"), reply.body.len());
                assert_eq!(answered, (status, allow, 0), "{method} {path}");
            }
        }
    });
}

/// Routes that RabbitMQ has only with a plugin that is not enabled by default.
#[test]
fn routes_of_plugins_are_absent_as_in_a_rabbitmq_without_them() {
    in_house(async |house| {
        for path in [
            "stream/shop/q/tracking",
            "stream/connections",
            "stream/connections/shop",
            "stream/connections/shop/c",
            "stream/connections/shop/c/consumers",
            "stream/connections/shop/c/publishers",
            "stream/consumers",
            "stream/consumers/shop",
            "stream/publishers",
            "stream/publishers/shop",
            "stream/publishers/shop/q",
            "stream/super-streams/shop/n",
        ] {
            let path = format!("/api/{path}");
            let expected = serde_json::json!({"error": "Object Not Found", "reason": "Not Found"});
            for user in ["guest", "manny"] {
                let reply = house.ask("GET", &path, user, "").await;
                assert_eq!((reply.status, reply.json()), (404, expected.clone()), "{path}");
            }
            assert_eq!(house.ask_with("GET", &path, &[], b"").await.status, 404, "{path}");
        }
    });
}

#[test]
fn pages_of_rabbitmq_learn_that_there_is_no_oauth() {
    in_house(async |house| {
        let reply = house.ask_with("GET", "/js/oidc-oauth/bootstrap.js", &[], b"").await;
        assert_eq!((reply.status, reply.header("content-type")), (200, Some("text/javascript; charset=utf-8")));
        assert!(String::from_utf8(reply.body).unwrap().contains(r#"{"oauth_enabled":false}"#));
        let reply = house.ask_with("GET", "/mgmt", &[], b"").await;
        assert_eq!((reply.status, reply.header("location")), (301, Some("/")));
    });
}

#[test]
fn methods_that_a_route_has_not_are_405_and_unknown_ones_501() {
    in_house(async |house| {
        let allow = Some("HEAD, GET, PUT, DELETE, OPTIONS");
        for (method, status, allow) in [
            ("PATCH", 405, allow),
            ("POST", 405, allow),
            ("BREW", 501, None),
            ("TRACE", 501, None),
            ("OPTIONS", 200, allow),
        ] {
            let reply = house.ask(method, "/api/queues/shop/q", "guest", "").await;
            assert_eq!((reply.status, reply.header("allow"), reply.body.len()), (status, allow, 0), "{method}");
        }
        let reply = house.get("/api/exchanges/shop/amq.direct/publish").await;
        assert_eq!((reply.status, reply.header("allow")), (405, Some("POST, OPTIONS")));
        assert_eq!(house.ask_with("OPTIONS", "/api/queues", &[], b"").await.status, 200);
    });
}

#[test]
fn head_is_get_without_its_body() {
    in_house(async |house| {
        // The server leaves out the body and sends its length.
        let reply = house.ask("HEAD", "/api/vhosts/shop", "guest", "").await;
        assert_eq!(reply.status, 200);
        assert_eq!(house.ask("HEAD", "/api/vhosts/nosuch", "guest", "").await.status, 404);
    });
}

#[test]
fn credentials_that_make_no_sense_are_400_and_wrong_ones_401() {
    in_house(async |house| {
        for value in ["", "Basic", "Basic !!", "Basic Z3Vlc3Q=", "Digest x"] {
            let reply = house.ask_with("GET", "/api/overview", &[("authorization", value)], b"").await;
            assert_eq!((reply.status, reply.body.len()), (400, 0), "{value}");
        }
        let wrong = serde_json::json!({"error": "not_authorized", "reason": "Not_Authorized"});
        for value in ["Basic Z3Vlc3Q6eA==", "Basic Z3Vlc3Q6", "Basic bm9zdWNoOng=", "Bearer x"] {
            let reply = house.ask_with("GET", "/api/overview", &[("authorization", value)], b"").await;
            assert_eq!((reply.status, reply.json()), (401, wrong.clone()), "{value}");
            assert_eq!(reply.header("www-authenticate"), None);
        }
        let lower = [("authorization", "basic Z3Vlc3Q6Z3Vlc3Q=")];
        assert_eq!(house.ask_with("GET", "/api/overview", &lower, b"").await.status, 200);
    });
}

#[test]
fn only_json_is_to_be_had_and_any_type_is_taken() {
    in_house(async |house| {
        let guest = ("authorization", "Basic Z3Vlc3Q6Z3Vlc3Q=");
        let html = house.ask_with("GET", "/api/queues", &[guest, ("accept", "text/html")], b"").await;
        assert_eq!((html.status, html.body.len()), (406, 0));
        let any = house.ask_with("GET", "/api/queues", &[guest, ("accept", "text/html, */*;q=0.1")], b"").await;
        assert_eq!(any.status, 200);
        let put = async |content_type| {
            house
                .ask_with("PUT", "/api/queues/shop/typed", &[guest, ("content-type", content_type)], b"{}")
                .await
                .status
        };
        assert_eq!(put("text/plain").await, 201);
        assert_eq!(put("application/json; charset=utf-8").await, 204);
        assert_eq!(put("rubbish").await, 415);
    });
}

#[test]
fn bodies_that_are_no_objects_are_400() {
    in_house(async |house| {
        for body in ["{", "[]", "5", "{} x"] {
            house.check_refused("PUT /api/queues/shop/q", body, 400, "bad_request", "not_json").await;
        }
        let doubly = "invalid payload: the request body JSON-decoded to a string. Is the input doubly-JSON-encoded?";
        house.check_refused("PUT /api/queues/shop/q", "\"x\"", 400, "bad_request", doubly).await;
        house.check("PUT /api/queues/shop/q", "null", 201, "").await;
    });
}

#[test]
fn bodies_that_are_too_long_are_refused() {
    in_house_with(Options { body_len_max: 1000, ..Options::default() }, async |house| {
        let body = format!(r#"{{"arguments":{{"a":"{}"}}}}"#, "x".repeat(1000));
        let reason = "Exceeded HTTP request body size limit";
        house.check_refused("PUT /api/queues/shop/big", &body, 400, "bad_request", reason).await;
    });
}

#[test]
fn null_is_a_value_of_the_wrong_type() {
    in_house(async |house| {
        let expected = r#"{"error":"bad_request","reason":["not_boolean",null]}"#;
        house.check("PUT /api/queues/shop/q", r#"{"durable":null}"#, 400, expected).await;
        let text = "'arguments' must be an object, not null";
        house.check_refused("PUT /api/queues/shop/q", r#"{"arguments":null}"#, 400, "bad_request", text).await;
        let text = "'users' must be a list, not null";
        house.check_refused("POST /api/definitions", r#"{"users":null}"#, 400, "bad_request", text).await;
    });
}

#[test]
fn headers_that_are_too_long_are_431() {
    in_house(async |house| {
        let long = "x".repeat(70_000);
        assert_eq!(house.ask_with("GET", "/api/whoami", &[("x-a", &long)], b"").await.status, 431);
    });
}

#[test]
fn a_prefix_goes_before_every_path() {
    let options = Options { path_prefix: "/rabbit".to_owned(), ..Options::default() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let house = super::house::House::bare(options);
        let status = async |path| house.ask_with("GET", path, &[], b"").await.status;
        assert_eq!(status("/rabbit/api/whoami").await, 401);
        assert_eq!(status("/rabbit").await, 200);
        assert_eq!(status("/api/whoami").await, 404);
        assert_eq!(status("/rabbits/api/whoami").await, 404);
        house.close().await;
    });
}

#[test]
fn other_origins_may_ask_if_they_are_allowed() {
    let cors = Cors { origins: vec!["https://a.example".to_owned()], max_age_s: Some(60) };
    in_house_with(Options { cors, ..Options::default() }, async |house| {
        let preflight = [("origin", "https://a.example"), ("access-control-request-headers", "authorization")];
        let reply = house.ask_with("OPTIONS", "/api/queues", &preflight, b"").await;
        assert_eq!(reply.header("access-control-allow-origin"), Some("https://a.example"));
        assert_eq!(reply.header("access-control-allow-methods"), Some("HEAD, GET, OPTIONS"));
        assert_eq!(reply.header("access-control-allow-headers"), Some("authorization"));
        assert_eq!(reply.header("access-control-max-age"), Some("60"));
        let other = house.ask_with("OPTIONS", "/api/queues", &[("origin", "https://b.example")], b"").await;
        assert_eq!((other.status, other.header("access-control-allow-origin")), (200, None));
    });
}

#[test]
fn headers_follow_the_configuration() {
    let value = |text| Some(hyper::header::HeaderValue::from_static(text));
    let headers = Headers {
        content_security_policy: None,
        strict_transport_security: value("max-age=1"),
        frame_options: value("DENY"),
        hides_allow: true,
        ..Headers::default()
    };
    in_house_with(Options { headers, ..Options::default() }, async |house| {
        let reply = house.get("/api/whoami").await;
        assert_eq!(reply.header("content-security-policy"), None);
        assert_eq!(reply.header("strict-transport-security"), Some("max-age=1"));
        assert_eq!(reply.header("x-frame-options"), Some("DENY"));
        assert_eq!(reply.header("allow"), None);
    });
}

#[test]
fn what_would_cost_too_much_is_refused() {
    in_house(async |house| {
        let deep = vec!["a"; 15_000].join(".");
        let reason = "a name in 'columns' must not have more than 16 parts";
        house.check_refused(&format!("GET /api/vhosts?columns=name.{deep}"), "", 400, "bad_request", reason).await;
        let keys = vec!["name"; 1000].join(",");
        let reason = "'sort' must not have more than 8 names";
        house.check_refused(&format!("GET /api/vhosts?sort={keys}"), "", 400, "bad_request", reason).await;
        let form = format!("username=guest&password={}", "x".repeat(20_000));
        let reason = "Exceeded HTTP request body size limit";
        let reply = house.ask_with("POST", "/api/login", &[], form.as_bytes()).await;
        assert_eq!((reply.status, reply.json()["reason"].as_str()), (400, Some(reason)));
    });
}

#[test]
fn pages_of_other_origins_open_no_websocket() {
    let cors = Cors { origins: vec!["https://a.example".to_owned()], max_age_s: None };
    in_house_with(Options { cors, ..Options::default() }, async |house| {
        for (origin, is_let_in) in [
            (None, true),
            (Some("http://localhost:15672"), true),
            (Some("https://a.example"), true),
            (Some("https://evil.example"), false),
            (Some("http://localhost:8080"), false),
            (Some("http://localhost:15672.evil.example"), false),
            (Some("null"), false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert("host", HeaderValue::from_static("localhost:15672"));
            origin.map(|origin| headers.insert("origin", HeaderValue::from_static(origin)));
            assert_eq!(house.service.options.lets_in_page_of(&headers), is_let_in, "{origin:?}");
        }
    });
}

#[test]
fn basic_logins_can_be_ruled_out() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let house = super::house::House::bare(Options { refuses_basic: true, ..Options::default() });
        assert_eq!(house.get("/api/whoami").await.status, 401);
        assert_eq!(house.ask_with("POST", "/api/login", &[], b"username=guest&password=guest").await.status, 401);
        house.close().await;
    });
}

#[test]
fn a_login_by_form_gives_a_token() {
    in_house(async |house| {
        let login = async |body: &str| house.ask_with("POST", "/api/login", &[], body.as_bytes()).await;
        let reply = login("username=guest&password=guest").await;
        assert_eq!((reply.status, &reply.json()["token"]["value"]), (200, &"Z3Vlc3Q6Z3Vlc3Q=".into()));
        assert_eq!(login("username=guest&password=x").await.status, 401);
        assert_eq!(login("username=nadia&password=nadia").await.json()["reason"], "Not management user");
        assert_eq!(login("").await.status, 401);
    });
}
