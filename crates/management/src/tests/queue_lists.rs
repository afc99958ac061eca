//! Long lists of queues, and the short one.

use std::time::Duration;

use broker::{Interface, Origin};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::Request;
use serde_json::{Value, json};

use super::house::{House, Reply, in_house, in_house_with};
use crate::Options;
use crate::listing::RUN_COUNT;

async fn declare(house: &House, vhost: &str, names: impl Iterator<Item = String>) {
    let queues: Vec<Value> = names
        .map(|name| json!({"vhost": vhost, "name": name, "durable": true, "auto_delete": false, "arguments": {}}))
        .collect();
    house.check("POST /api/definitions", &json!({"queues": queues}).to_string(), 204, "").await;
}

async fn publish(house: &House, queue: &str, count: usize) {
    let body =
        json!({"properties": {}, "routing_key": queue, "payload": "x", "payload_encoding": "string"}).to_string();
    for _ in 0..count {
        house.check("POST /api/exchanges/shop/amq.default/publish", &body, 200, r#"{"routed":true}"#).await;
    }
}

fn names(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap()).collect()
}

/// More queues than are sorted at a time, some of which have messages.
pub(super) async fn furnish(house: &House) {
    declare(house, "shop", (0..RUN_COUNT * 2 + 10).map(|number| format!("q-{number:04}"))).await;
    for (queue, count) in [("q-0700", 3), ("q-0001", 2), ("q-1030", 2), ("q-0002", 1)] {
        publish(house, queue, count).await;
    }
}

#[test]
fn long_lists_are_sorted_by_counts_and_then_by_name() {
    in_house(async |house| {
        furnish(house).await;
        let path = "/api/queues/shop?columns=name&sort=messages&sort_reverse=true";
        let all = house.get(path).await.json();
        assert_eq!(names(&all)[..5], ["q-0700", "q-1030", "q-0001", "q-0002", "q-1033"]);
        assert_eq!(names(&all).len(), RUN_COUNT * 2 + 10);
        let up = house.get("/api/queues/shop?columns=name&sort=messages_ready").await.json();
        assert_eq!(names(&up)[..2], ["q-0000", "q-0003"]);
        assert!(names(&up).iter().rev().eq(&names(&all)));
        for (number, size) in [(1, 3), (2, 3), (300, 3), (3, 500)] {
            let page = house.get(&format!("{path}&page={number}&page_size={size}")).await.json();
            let start = (number - 1) * size;
            let expected = &names(&all)[start..(start + size).min(RUN_COUNT * 2 + 10)];
            assert_eq!(names(&page["items"]), expected, "{number} {size}");
            assert_eq!(page["item_count"], expected.len());
            assert_eq!(page["total_count"], RUN_COUNT * 2 + 10);
        }
    });
}

#[test]
fn pages_by_name_are_parts_of_the_whole_list() {
    in_house(async |house| {
        declare(house, "shop", (0..600).map(|number| format!("s-{number:04}"))).await;
        declare(house, "/", (0..300).map(|number| format!("r-{number:04}"))).await;
        let all = house.get("/api/queues?columns=name").await.json();
        assert_eq!(names(&all).len(), 900);
        for path in ["/api/queues?columns=name&sort=vhost,name", "/api/queues?columns=name&sort="] {
            assert_eq!(house.get(path).await.json(), all, "{path}");
        }
        for number in 1..=9 {
            let page = house.get(&format!("/api/queues?columns=name&page={number}")).await.json();
            assert_eq!(names(&page["items"]), names(&all)[(number - 1) * 100..number * 100]);
            assert_eq!((&page["total_count"], &page["page_count"]), (&json!(900), &json!(9)));
        }
        let page = house.get("/api/queues/shop?columns=name&sort=name&page=6").await.json();
        assert_eq!(names(&page["items"])[99], "s-0599");
        let page = house.get("/api/queues?columns=name&sort=name&sort_reverse=true&page=2").await.json();
        assert_eq!(names(&page["items"])[0], "s-0499");
        let page = house.get("/api/queues?columns=name&page=2&page_size=7&name=S-00").await.json();
        assert_eq!((&page["filtered_count"], &page["total_count"]), (&json!(100), &json!(900)));
        assert_eq!(names(&page["items"])[0], "s-0007");
    });
}

/// Asks without reading the answer.
pub(super) async fn respond(house: &House, path: &str) -> hyper::Response<http_server::AnswerBody> {
    let request = Request::get(path).header("authorization", "Basic Z3Vlc3Q6Z3Vlc3Q=");
    let origin = Origin { peer: Some(([127, 0, 0, 1], 40000).into()), interface: Interface::Http };
    house.service.respond(request.body(Full::<Bytes>::default()).unwrap(), origin).await
}

/// How often others were let go first until all of an answer was there.
async fn turns_of_others(house: &House, path: &str) -> usize {
    let (mut others, mut turns) = (
        Box::pin(async {
            loop {
                tokio::task::yield_now().await
            }
        }),
        0,
    );
    let body = Box::pin(async { respond(house, path).await.into_body().collect().await.unwrap().to_bytes().len() });
    let mut body = body;
    std::future::poll_fn(|cx| {
        let _: std::task::Poll<()> = others.as_mut().poll(cx);
        turns += 1;
        body.as_mut().poll(cx)
    })
    .await;
    turns
}

#[test]
fn a_long_list_lets_others_go_first_again_and_again() {
    in_house(async |house| {
        furnish(house).await;
        // A piece of the list, or a part of its sorting, each time.
        let whole = turns_of_others(house, "/api/queues/shop").await;
        let len = house.get("/api/queues/shop").await.body.len();
        assert!(whole > len / (64 << 10), "{whole} for {len} bytes");
        let sorted = turns_of_others(house, "/api/queues/shop?columns=name&sort=messages&page=1&page_size=1").await;
        assert!(sorted > 2, "{sorted}");
        let short = turns_of_others(house, "/api/queues/shop?columns=name&page=1&page_size=1").await;
        assert!(short <= 2, "{short}");
    });
}

#[test]
fn sorting_by_what_has_to_be_written_lets_others_go_first_more_often() {
    in_house(async |house| {
        furnish(house).await;
        let turns = async |sort: &str| {
            turns_of_others(house, &format!("/api/queues/shop?columns=name&page=1&page_size=1&sort={sort}")).await
        };
        let (by_number, by_rate) = (turns("messages").await, turns("message_stats.publish_details.rate").await);
        assert!(by_rate >= 5 * by_number, "{by_rate} and {by_number}");
        // The column is written once, whatever is sorted by of it.
        let by_both = turns("message_stats.publish_details.rate,message_stats.publish,message_stats.ack").await;
        assert!(by_both <= by_rate + 2, "{by_both} and {by_rate}");
        let path = "/api/queues/shop?columns=name&sort=message_stats.publish&sort_reverse=true&page=1&page_size=2";
        assert_eq!(names(&house.get(path).await.json()["items"]), ["q-0700", "q-1030"]);
    });
}

#[test]
fn a_page_that_is_not_there_is_refused_before_queues_are_collected() {
    in_house(async |house| {
        furnish(house).await;
        let path = "/api/queues/shop?sort=messages&page=1000000";
        let count = RUN_COUNT * 2 + 10;
        let reason = format!("Page out of range, page: 1000000 page size: 100, len: {count}");
        house.check_refused(&format!("GET {path}"), "", 400, "page_out_of_range", &reason).await;
        let turns = turns_of_others(house, path).await;
        assert!(turns <= 2, "{turns}");
        // How many of them have a name is not known.
        let reason = "Page out of range, page: 9 page size: 100, len: 10";
        let path = "GET /api/queues/shop?sort=messages&page=9&name=q-000";
        house.check_refused(path, "", 400, "page_out_of_range", reason).await;
    });
}

#[test]
fn other_lists_let_others_go_first_too() {
    in_house(async |house| {
        let count = RUN_COUNT * 2 + 10;
        let exchange = |number| {
            json!({
                "vhost": "shop", "name": format!("e-{number:04}"), "type": "fanout", "durable": true, "auto_delete": false,
                "internal": false, "arguments": {},
            })
        };
        let binding = |number| {
            json!({
                "vhost": "shop", "source": "amq.direct", "destination": "e-0000", "destination_type": "exchange",
                "routing_key": format!("{:04}", count - number), "arguments": {},
            })
        };
        let (exchanges, bindings): (Vec<Value>, Vec<Value>) = (0..count).map(|at| (exchange(at), binding(at))).unzip();
        let definitions = json!({"exchanges": exchanges, "bindings": bindings}).to_string();
        house.check("POST /api/definitions", &definitions, 204, "").await;
        for (path, expected) in [
            ("/api/exchanges/shop?columns=name&page=1&page_size=1&name=e-", 2),
            ("/api/exchanges/shop?columns=name&sort=type,name&sort_reverse=true&page=1&page_size=1", 2),
            ("/api/exchanges?columns=name&sort=message_stats.publish_in&page=1&page_size=1", 10),
            ("/api/bindings/shop?columns=routing_key", 2),
        ] {
            let turns = turns_of_others(house, path).await;
            assert!(turns > expected, "{turns} for {path}");
        }
        let page = house.get("/api/exchanges/shop?columns=name&page=2&page_size=500&name=e-").await.json();
        assert_eq!((names(&page["items"])[0], &page["filtered_count"]), ("e-0500", &json!(count)));
        let bindings = house.get("/api/exchanges/shop/amq.direct/bindings/source?columns=routing_key").await.json();
        let keys: Vec<&str> =
            bindings.as_array().unwrap().iter().map(|one| one["routing_key"].as_str().unwrap()).collect();
        assert!(keys.len() == count && keys.is_sorted(), "{keys:?}");
    });
}

#[test]
fn a_list_that_nobody_reads_keeps_nobody_from_changing_queues() {
    in_house(async |house| {
        furnish(house).await;
        let unread = respond(house, "/api/queues/shop").await;
        house.check("DELETE /api/queues/shop/q-0900", "", 204, "").await;
        house.check("PUT /api/queues/shop/q-0899a", r#"{"durable":true}"#, 201, "").await;
        let body = unread.into_body().collect().await.unwrap().to_bytes();
        let list: Value = serde_json::from_slice(&body).unwrap();
        assert!(names(&list).contains(&"q-0899a") && !names(&list).contains(&"q-0900"));
    });
}

async fn list_queues(house: &House, query: &str) -> Reply {
    house.get(&format!("/list_queues{query}")).await
}

#[test]
fn the_short_list_has_names_and_lengths_of_short_queues() {
    in_house(async |house| {
        declare(house, "/", ["a", "b"].map(str::to_owned).into_iter()).await;
        declare(house, "shop", ["c", "d", "e"].map(str::to_owned).into_iter()).await;
        publish(house, "d", 2).await;
        publish(house, "e", 1).await;
        let reply = list_queues(house, "").await;
        assert_eq!(reply.body, br#"[{"name":"a","messages_ready":0},{"name":"b","messages_ready":0}]"#);
        assert_eq!(reply.header("content-type"), Some("application/json"));
        let of = async |query: &str| list_queues(house, query).await.json();
        assert_eq!(names(&of("?vhost=shop").await), ["c", "d", "e"]);
        assert_eq!(names(&of("?vhost=shop&max_len=1").await), ["c", "e"]);
        assert_eq!(names(&of("?max_len=2&vhost=shop").await), ["c", "d", "e"]);
        assert_eq!(names(&of("?max_len=99999999999999999999&vhost=shop").await), ["c", "d", "e"]);
        assert_eq!(of("?vhost=empty").await, json!([]));
        for bad in ["-1", "x", "", "1.5", "9x"] {
            let reason = format!("'max_len' must be a whole number, zero or above, not '{bad}'");
            house.check_refused(&format!("GET /list_queues?max_len={bad}"), "", 400, "bad_request", &reason).await;
        }
    });
}

#[test]
fn the_short_list_is_of_vhosts_that_a_user_may_enter() {
    in_house(async |house| {
        let status = async |path: &str, user: &str| house.ask("GET", path, user, "").await.status;
        assert_eq!(status("/list_queues?vhost=shop", "manny").await, 200);
        assert_eq!(status("/list_queues?vhost=empty", "alice").await, 200);
        assert_eq!(status("/list_queues?vhost=shop", "nadia").await, 401);
        for (path, user, vhost) in [
            ("/list_queues?vhost=empty", "manny", "empty"),
            ("/list_queues", "manny", "/"),
            ("/list_queues?vhost=nosuch", "guest", "nosuch"),
        ] {
            let reply = house.ask("GET", path, user, "").await;
            let reason = format!("no vhost '{vhost}', or no access to it");
            assert_eq!((reply.status, reply.json()), (404, json!({"error": "not_found", "reason": reason})));
        }
        assert_eq!(house.ask_with("GET", "/list_queues", &[], b"").await.status, 401);
    });
}

#[test]
fn the_short_list_can_be_open_to_everybody() {
    let options = Options { queue_info_needs_login: false, ..Options::default() };
    in_house_with(options, async |house| {
        declare(house, "/", ["a"].map(str::to_owned).into_iter()).await;
        let anonymous = async |path: &str| house.ask_with("GET", path, &[], b"").await;
        assert_eq!(anonymous("/list_queues").await.json(), json!([{"name": "a", "messages_ready": 0}]));
        assert_eq!(anonymous("/list_queues?vhost=%2F&max_len=0").await.status, 200);
        assert_eq!(anonymous("/list_queues?vhost=shop").await.status, 401);
        assert_eq!(anonymous("/api/queues").await.status, 401);
        // A client that names a user has to log in.
        assert_eq!(house.ask("GET", "/list_queues", "nosuch", "").await.status, 401);
        assert_eq!(house.ask("GET", "/list_queues?vhost=shop", "manny", "").await.status, 200);
    });
}

#[test]
fn a_port_may_have_the_short_list_and_nothing_else() {
    let options = Options { is_queue_info_only: true, ..Options::default() };
    let house = House::bare(options);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        assert_eq!(house.get("/list_queues").await.status, 200);
        for path in ["/", "/api/queues", "/api/overview", "/api/definitions", "/nosuch"] {
            assert_eq!(house.get(path).await.status, 404, "{path}");
        }
        assert_eq!(house.ask("PUT", "/api/vhosts/x", "guest", "").await.status, 405);
        assert_eq!(house.ask("POST", "/list_queues", "guest", "").await.status, 405);
        house.service.broker.stop(Duration::ZERO).await.unwrap();
    });
}
