//! A workload from a broker that runs: what its management API says at this moment.

use std::time::Duration;

use http_client::{Client, HttpUrl, Method, Request, StatusCode};
use serde_json::Value;

use crate::perf_results::copies;
use crate::setting::Key;
use crate::workload::Description;

/// How long an answer may take.
const TIMEOUT: Duration = Duration::from_secs(30);

const OVERVIEW: &str = "/api/overview";
const NODES: &str = "/api/nodes?columns=name,running";
const QUEUES: &str = "/api/queues?columns=messages,message_bytes,durable";
const CONNECTIONS: &str = "/api/connections?columns=recv_oct_details";

/// What a publish and an ack take besides a body, about: methods, header and frames with the names and properties that are
/// assumed where nothing is said.
const PUBLISH_OVERHEAD: f64 = 151.0;
const ACK: f64 = 21.0;

/// What was answered.
#[derive(Debug)]
struct Answers {
    overview: Value,
    nodes: Value,
    queues: Value,
    connections: Value,
}

/// Asks a broker. One at which nothing is published will do where the rate was said.
pub(crate) fn ask(url: &str, is_rate_said: bool) -> Result<Description, String> {
    let parsed = match url.strip_prefix("unix:") {
        Some(path) => HttpUrl::on_socket(path.strip_prefix("//").unwrap_or(path)),
        None => HttpUrl::parse(url).map_err(|error| format!("--url: {error}"))?,
    };
    let path = parsed.path().trim_end_matches('/');
    let path = path.strip_suffix("/api").unwrap_or(path).to_owned();
    let parsed = parsed.with_path(if path.is_empty() { "/" } else { &path });
    let place = parsed.to_string();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("cannot start: {error}"))?;
    let answers = runtime.block_on(gather(&mut Client::new(parsed, TIMEOUT), &place))?;
    describe(&answers, is_rate_said, &place)
}

async fn gather(client: &mut Client, place: &str) -> Result<Answers, String> {
    let mut get = async |path: &'static str| {
        let asked = client.ask(&Request::new(Method::GET).below(path)).await;
        let answer = asked.map_err(|error| format!("{place} does not answer: {error}"))?;
        if answer.status != StatusCode::OK {
            return Err(format!("{place} answers {} to {path}", answer.status));
        }
        serde_json::from_slice(&answer.body).map_err(|_| format!("{place} does not answer {path} with JSON"))
    };
    Ok(Answers {
        overview: get(OVERVIEW).await?,
        nodes: get(NODES).await?,
        queues: get(QUEUES).await?,
        connections: get(CONNECTIONS).await?,
    })
}

fn describe(answers: &Answers, is_rate_said: bool, place: &str) -> Result<Description, String> {
    let stats = &answers.overview["message_stats"];
    let rate_of = |name: &str| stats[format!("{name}_details")]["rate"].as_f64().unwrap_or_default();
    let rate = rate_of("publish");
    if rate <= 0.0 && !is_rate_said {
        return Err(format!("nothing is published at {place} at the moment: set the expected rate with --rate"));
    }
    let mut description = Description::default();
    let mut put = |key, value: f64| description.note(key, value, place);
    if rate > 0.0 {
        put(Key::Rate, rate)?;
        put(Key::Copies, copies(rate_of("deliver_get") / rate))?;
        put(Key::Confirms, f64::from(u8::from(rate_of("confirm") > 0.0)))?;
    }
    let totals = &answers.overview["object_totals"];
    for (key, name) in [(Key::Connections, "connections"), (Key::Channels, "channels"), (Key::Queues, "queues")] {
        if let Some(count) = totals[name].as_f64() {
            put(key, count)?;
        }
    }
    let queues = rows(&answers.queues);
    if !queues.is_empty() {
        let is_durable = queues.iter().any(|queue| queue["durable"] == true);
        put(Key::Persistent, f64::from(u8::from(is_durable)))?;
    }
    if let Some(body) = body(answers, rate, rate_of("deliver_get")) {
        put(Key::Body, body.round())?;
    }
    let nodes = rows(&answers.nodes).iter().filter(|node| node["running"] == true).count() as f64;
    if nodes >= 1.0 {
        put(Key::Nodes, nodes)?;
        // All nodes of a Warren keep everything; a RabbitMQ says it of each queue, and three is what most have.
        let replicas = if [3.0, 5.0].contains(&nodes) { nodes } else { 1.0 };
        put(Key::Replicas, replicas)?;
    }
    Ok(description)
}

/// The average body: of what waits, or, where nothing does, of what connections receive.
fn body(answers: &Answers, publish_rate: f64, ack_rate: f64) -> Option<f64> {
    let sum = |name: &str| rows(&answers.queues).iter().filter_map(|queue| queue[name].as_f64()).sum::<f64>();
    let messages = sum("messages");
    if messages > 0.0 {
        return Some(sum("message_bytes") / messages);
    }
    let received =
        rows(&answers.connections).iter().filter_map(|row| row["recv_oct_details"]["rate"].as_f64()).sum::<f64>();
    let of_one = (received - ack_rate * ACK) / publish_rate - PUBLISH_OVERHEAD;
    (received > 0.0 && publish_rate > 0.0).then_some(of_one.max(0.0))
}

/// A list, or the items of a page.
fn rows(answer: &Value) -> &[Value] {
    answer.as_array().or_else(|| answer["items"].as_array()).map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answers() -> Answers {
        Answers {
            overview: json!({
                "message_stats": {
                    "publish_details": {"rate": 2_000.0},
                    "deliver_get_details": {"rate": 6_010.0},
                    "confirm_details": {"rate": 2_000.0},
                },
                "object_totals": {"connections": 40, "channels": 80, "queues": 12},
            }),
            nodes: json!([{"name": "a", "running": true}, {"name": "b", "running": true}, {"name": "c", "running": true}]),
            queues: json!([
                {"messages": 10, "message_bytes": 5_000, "durable": true},
                {"messages": 10, "message_bytes": 15_000, "durable": false},
            ]),
            connections: json!([{"recv_oct_details": {"rate": 1_000_000.0}}, {"recv_oct_details": {"rate": 728_210.0}}]),
        }
    }

    #[test]
    fn a_broker_says_what_its_workload_is() {
        let workload = describe(&answers(), false, "here:1").unwrap().resolve().unwrap();
        let expected = [
            (Key::Rate, 2_000.0),
            (Key::Copies, 3.01),
            (Key::Confirms, 1.0),
            (Key::Persistent, 1.0),
            (Key::Body, 1_000.0),
            (Key::Connections, 40.0),
            (Key::Channels, 80.0),
            (Key::Queues, 12.0),
            (Key::Nodes, 3.0),
            (Key::Replicas, 3.0),
        ];
        for (key, value) in expected {
            assert_eq!(workload.value(key), value, "{key:?}");
        }
    }

    #[test]
    fn where_nothing_waits_sizes_are_those_of_what_comes() {
        let mut answers = answers();
        answers.queues = json!([]);
        let workload = describe(&answers, false, "here:1").unwrap().resolve().unwrap();
        // 1,728,210 B/s less 6,010 acks of 21 B are 801 B a message, 151 of which are no body.
        assert_eq!(workload.value(Key::Body), 650.0);
    }

    #[test]
    fn a_broker_that_rests_is_no_workload() {
        let mut answers = answers();
        answers.overview = json!({});
        let error = describe(&answers, false, "here:1").unwrap_err();
        assert_eq!(error, "nothing is published at here:1 at the moment: set the expected rate with --rate");
        let description = describe(&answers, true, "here:1").unwrap();
        assert!(description.resolve().unwrap_err().contains("is unknown"));
    }
}
