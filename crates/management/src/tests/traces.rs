//! Traces of messages over the API. `tests/api/test_traces.py` compares them with RabbitMQ's.

use std::path::PathBuf;

use observe::message_traces::{Directory, Limits, Traces};
use serde_json::json;

use super::house::{House, in_house};
use super::lines::open;

/// A house that traces into a directory of its own, which is deleted with it.
struct Traced<'a> {
    house: &'a House,
    path: PathBuf,
}

impl<'a> Traced<'a> {
    fn new(house: &'a House, name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("warren-traces-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        let limits = Limits { len_max: 1 << 20, count_max: 2, ended_len_max: 1 << 20 };
        house.service.set_traces(Traces::new(house.service.broker.clone(), Directory::new(path.clone()), limits));
        Traced { house, path }
    }

    async fn publish(&self, body: &str) {
        let body = json!({"routing_key": "q", "properties": {}, "payload": body, "payload_encoding": "string"});
        let reply = self.house.ask("POST", "/api/exchanges/shop/amq.default/publish", "guest", &body.to_string()).await;
        assert_eq!(reply.status, 200);
    }

    /// The lines of a file, as soon as there are so many.
    async fn lines(&self, name: &str, count: usize) -> Vec<serde_json::Value> {
        for _ in 0..500 {
            let reply = self.house.get(&format!("/api/trace-files/{name}")).await;
            let text = String::from_utf8(reply.body).unwrap();
            if reply.status == 200 && text.lines().count() >= count {
                return text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        panic!("{name} has not got {count} lines");
    }
}

impl Drop for Traced<'_> {
    fn drop(&mut self) {
        if let Some(traces) = self.house.service.traces() {
            traces.end();
        }
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

#[test]
fn a_trace_writes_its_file_until_it_is_ended() {
    in_house(async |house| {
        let traced = Traced::new(house, "file");
        house.check("PUT /api/queues/shop/q", "{}", 201, "").await;
        house.check("PUT /api/traces/shop/t", r##"{"format":"json","pattern":"publish.#"}"##, 201, "").await;
        assert_eq!(house.get("/api/vhosts/shop").await.json()["tracing"], json!(true));
        traced.publish("one").await;
        let lines = traced.lines("t.log", 1).await;
        assert_eq!((&lines[0]["type"], &lines[0]["payload"]), (&json!("published"), &json!("b25l")));
        house.check("DELETE /api/traces/shop/t", "", 204, "").await;
        traced.publish("two").await;
        assert_eq!(house.get("/api/traces").await.json(), json!([]));
        assert_eq!(house.get("/api/vhosts/shop").await.json()["tracing"], json!(false));
        assert_eq!(traced.lines("t.log", 1).await.len(), 1);
        house.check("DELETE /api/trace-files/t.log", "", 204, "").await;
        assert_eq!(house.get("/api/trace-files").await.json(), json!([]));
    });
}

#[test]
fn traces_go_on_where_they_were_written_down() {
    in_house(async |house| {
        let traced = Traced::new(house, "resumed");
        house.check("PUT /api/queues/shop/q", "{}", 201, "").await;
        house.check("PUT /api/traces/shop/t", r#"{"format":"events","queue":"q"}"#, 201, "").await;
        house.service.traces().unwrap().end();
        let limits = Limits { len_max: 1 << 20, count_max: 2, ended_len_max: 1 << 20 };
        let again = Traces::new(house.service.broker.clone(), Directory::new(traced.path.clone()), limits);
        again.resume();
        let views = again.list();
        assert_eq!(views.len(), 1);
        assert_eq!(views[0].definition.filter.queue.as_deref(), Some("q"));
        traced.publish("one").await;
        assert_eq!(traced.lines("t.log", 1).await[0]["event"], json!("published"));
        again.end();
    });
}

#[test]
fn there_are_no_more_traces_than_may_be() {
    in_house(async |house| {
        let _traced = Traced::new(house, "many");
        for number in 0..8 {
            house.check(&format!("PUT /api/traces/shop/t{number}"), r#"{"format":"events"}"#, 201, "").await;
        }
        let reason = "8 traces to files are running, which is the maximum: end one first";
        house.check_refused("PUT /api/traces/shop/more", r#"{"format":"events"}"#, 400, "bad_request", reason).await;
        // Traces take none of the observers' places.
        assert_eq!(open(house, "guest", "/api/trace/messages").await.0, 200);
        let wrong = "a trace with this name already exists: delete it first";
        house.check("DELETE /api/traces/shop/t0", "", 204, "").await;
        house.check_refused("PUT /api/traces/shop/t1", r#"{"format":"events"}"#, 400, "bad_request", wrong).await;
    });
}

#[test]
fn names_lead_nowhere_else() {
    in_house(async |house| {
        let _traced = Traced::new(house, "names");
        for name in ["..%2Fx", ".hidden", "a%2Fb"] {
            let reply = house.ask("PUT", &format!("/api/traces/shop/{name}"), "guest", r#"{"format":"events"}"#).await;
            assert_eq!(reply.status, 400, "{name}");
            assert_eq!(house.get(&format!("/api/trace-files/{name}")).await.status, 404, "{name}");
        }
    });
}

#[test]
fn what_files_are_together_is_shown_with_its_bound() {
    in_house(async |house| {
        let traced = Traced::new(house, "together");
        house.check("PUT /api/queues/shop/q", "{}", 201, "").await;
        house.check("PUT /api/traces/shop/t", r##"{"format":"json","pattern":"publish.#"}"##, 201, "").await;
        traced.publish("one").await;
        traced.lines("t.log", 1).await;
        std::fs::write(traced.path.join("old.log.1"), "0123456789").unwrap();
        let len = std::fs::metadata(traced.path.join("t.log")).unwrap().len();
        let expected = |is_ended: bool| {
            let files = json!([{"name": "old.log.1", "size": 10, "ended": true}, {"name": "t.log", "size": len, "ended": is_ended}]);
            json!({"node": house.service.node(), "files": files, "size": 10 + len, "ended_size": if is_ended { 10 + len } else { 10 },
                   "ended_size_max": 1 << 20, "running_size_max": 2 << 20})
        };
        assert_eq!(house.get("/api/warren/trace-files").await.json(), expected(false));
        house.check("DELETE /api/traces/shop/t", "", 204, "").await;
        assert_eq!(house.get("/api/warren/trace-files").await.json(), expected(true));
    });
}
