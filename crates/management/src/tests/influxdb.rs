//! What rounds of statistics for InfluxDB report of the broker.

use std::collections::BTreeSet;
use std::time::Duration;

use influx::{Precision, Tags};
use model::config::{Config, InfluxdbOptions};
use serde_json::{Value, json};

use super::house::{House, in_house};
use observe::influxdb::Influxdb;
use observe::influxdb::testing::{self, Batch};

const AT: Duration = Duration::from_secs(1_700_000_000);

fn options(sets: &[&str]) -> InfluxdbOptions {
    let sets: Vec<String> = sets.iter().map(|set| format!("warren.influxdb.{set}")).collect();
    Config::parse(&[], &[], &sets).unwrap().0.influxdb
}

/// The batches of a round by these settings.
fn batches(house: &House, sets: &[&str]) -> Vec<Batch> {
    let mut tags = Tags::default();
    tags.put("node", "n");
    testing::batches(&house.service.broker, options(sets).objects, tags, Precision::Seconds.at(AT))
}

fn lines(house: &House, sets: &[&str]) -> Vec<String> {
    let batches = batches(house, sets);
    batches.iter().flat_map(|batch| batch.text.lines()).map(str::to_owned).collect()
}

async fn declare(house: &House, path: &str, body: Value) {
    assert_eq!(house.ask("PUT", path, "guest", &body.to_string()).await.status, 201);
}

async fn publish(house: &House, exchange: &str, key: &str) {
    let message = json!({"properties": {}, "routing_key": key, "payload": "12345", "payload_encoding": "string"});
    let path = format!("/api/exchanges/shop/{exchange}/publish");
    assert_eq!(house.ask("POST", &path, "guest", &message.to_string()).await.status, 200);
}

async fn furnish(house: &House) {
    declare(house, "/api/queues/shop/new%20orders", json!({"durable": true})).await;
    declare(house, "/api/queues/shop/other", json!({"durable": true, "arguments": {"x-queue-type": "quorum"}})).await;
    declare(house, "/api/queues/%2F/other", json!({"durable": true, "arguments": {"x-message-deduplication": true}}))
        .await;
    declare(house, "/api/exchanges/shop/sales", json!({"type": "topic", "durable": true})).await;
    house.check("POST /api/bindings/shop/e/sales/q/new%20orders", r##"{"routing_key":"#"}"##, 201, "").await;
    publish(house, "amq.default", "new orders").await;
    for key in ["a", "b"] {
        publish(house, "sales", key).await;
    }
}

#[test]
fn a_queue_is_a_line() {
    in_house(async |house| {
        furnish(house).await;
        let lines = lines(house, &["objects.1 = queues", "queue = order"]);
        let expected = "warren_queue,node=n,vhost=shop,queue=new\\ orders,type=classic \
                        messages=3i,publish=3i,get=0i,get_no_ack=0i,get_empty=0i,deliver=0i,deliver_no_ack=0i,redeliver=0i,ack=0i,\
                        disk_reads=0i,disk_writes=0i,messages_ready=3i,messages_unacknowledged=0i,\
                        message_bytes=15i,message_bytes_ready=15i,message_bytes_unacknowledged=0i,consumers=0i,dropped=0i,\
                        came_round=0i 1700000000";
        assert_eq!(lines, [expected]);
    });
}

#[test]
fn exchanges_are_told_of_when_something_has_happened_there() {
    in_house(async |house| {
        furnish(house).await;
        let tail = "publish_in=2i,publish_out=2i 1700000000";
        let sales = format!("warren_exchange,node=n,vhost=shop,exchange=sales,type=topic {tail}");
        let tail = "publish_in=1i,publish_out=1i 1700000000";
        let default = format!("warren_exchange,node=n,vhost=shop,exchange=amq.default,type=direct {tail}");
        assert_eq!(lines(house, &["objects.1 = exchanges"]), [default, sales.clone()]);
        assert_eq!(lines(house, &["objects.1 = exchanges", "exchange = ^s"]), [sales]);
    });
}

#[test]
fn vhosts_and_the_node_have_what_is_in_them() {
    in_house(async |house| {
        furnish(house).await;
        let vhosts = lines(house, &["objects.1 = vhosts", "vhost = ^shop$"]);
        assert_eq!(vhosts.len(), 1);
        let start = "warren_vhost,node=n,vhost=shop queues=2i,exchanges=8i,connections=0i,messages=3i,";
        assert!(vhosts[0].starts_with(start), "{vhosts:?}");
        let node = lines(house, &["objects.1 = node"]);
        assert!(node[0].starts_with("warren_node,node=n uptime_ms="), "{node:?}");
        for field in ["fd_total=1024i", "mem_alarm=false", "vhosts=3i", "queues=3i", "queue_created=3i", "messages=3i"]
        {
            assert!(node[0].contains(&format!(",{field},")), "{field} in {node:?}");
        }
    });
}

#[test]
fn what_is_not_wanted_is_left_out() {
    in_house(async |house| {
        furnish(house).await;
        let measurements = |sets: &[&str]| -> Vec<String> {
            let lines = lines(house, sets);
            lines.iter().map(|line| line[..line.find(',').unwrap()].to_owned()).collect()
        };
        let (vhosts, queues, exchanges) = (["warren_vhost"; 3], ["warren_queue"; 3], ["warren_exchange"; 2]);
        assert_eq!(measurements(&[]), [&["warren_node"][..], &vhosts, &queues, &exchanges].concat());
        assert_eq!(measurements(&["vhost = ^/$"]), ["warren_node", "warren_vhost", "warren_queue"]);
        assert_eq!(measurements(&["objects.1 = queues", "objects.2 = node"]), [&["warren_node"][..], &queues].concat());
        assert!(measurements(&["objects.1 = queues", "queue = nothing"]).is_empty());
    });
}

#[test]
fn many_queues_come_in_batches_and_each_once() {
    in_house(async |house| {
        let name = |number: u32| format!("q-{number:05}");
        let queues: Vec<Value> = (0..5010)
            .map(|number| json!({"vhost": "shop", "name": name(number), "durable": true, "auto_delete": false, "arguments": {}}))
            .collect();
        house.check("POST /api/definitions", &json!({"queues": queues}).to_string(), 204, "").await;
        let batches = batches(house, &["objects.1 = queues"]);
        let sizes: Vec<_> = batches.iter().map(|batch| (batch.line_count, batch.ends_round)).collect();
        assert_eq!(sizes, [(5000, false), (10, true)]);
        let told: BTreeSet<&str> = batches
            .iter()
            .flat_map(|batch| batch.text.lines())
            .map(|line| line.split("queue=").nth(1).unwrap().split(',').next().unwrap())
            .collect();
        assert!(told.len() == 5010 && told.contains("q-00000") && told.contains("q-05009"));
    });
}

#[test]
fn every_field_is_documented() {
    in_house(async |house| {
        furnish(house).await;
        let documented = include_str!("../../../../docs/influxdb.md");
        for line in lines(house, &[]) {
            for field in line.replace("\\ ", "_").split(' ').nth(1).unwrap().split(',') {
                let name = field.split('=').next().unwrap();
                assert!(documented.contains(&format!("`{name}`")), "{name} of {line}");
            }
        }
    });
}

#[test]
fn metrics_are_there_where_statistics_go_somewhere() {
    in_house(async |house| {
        let broker = &house.service.broker;
        let new = |sets: &[&str]| Influxdb::new(broker.clone(), &options(sets), "/".into(), None).unwrap();
        assert!(new(&[]).is_none());
        assert!(!super::metrics::scrape(house, "/metrics").await.contains("influxdb"));
        let influxdb = new(&["file = /nowhere/lines", "url = http://127.0.0.1:1", "bucket = b"]).unwrap();
        house.service.set_influxdb(influxdb.stats());
        house.service.observed().influxdb.write(3);
        let text = super::metrics::scrape(house, "/metrics").await;
        for series in [
            "warren_influxdb_lines_written_total{destination=\"file\"} 3",
            "warren_influxdb_lines_written_total{destination=\"http\"} 0",
            "warren_influxdb_lines_dropped_total{destination=\"file\"} 0",
            "warren_influxdb_lines_waiting{destination=\"http\"} 0",
        ] {
            assert!(text.lines().any(|line| line == series), "{series} in {text}");
        }
        let last = "warren_influxdb_last_success_timestamp_seconds{destination=\"";
        assert!(text.contains(&format!("{last}file")) && !text.contains(&format!("{last}http")), "{text}");
    });
}
