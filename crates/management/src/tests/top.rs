//! What keeps the broker busy, as it is answered.

use serde_json::{Value, json};

use super::house::in_house;

#[test]
fn queues_are_compared_while_the_request_lasts() {
    in_house(async |house| {
        house.check("PUT /api/queues/%2F/a", "{}", 201, "").await;
        let top = house.get("/api/top?of=queues&by=messages&interval_ms=100").await.json();
        assert_eq!((&top["of"], &top["by"], &top["compared"]), (&json!("queues"), &json!("messages"), &json!(1)));
        let row = &top["rows"][0];
        assert_eq!((&row["name"], &row["vhost"], &row["messages_per_second"]), (&json!("a"), &json!("/"), &json!(0.0)));
        let pid = row["pid"].as_str().unwrap().replace('<', "%3C").replace('>', "%3E");
        let process = house.get(&format!("/api/process/{pid}")).await.json();
        assert_eq!((&process["pid"], &process["name"]["type"]), (&row["pid"], &json!("queue")));
        assert!(process["memory"].as_u64() > Some(100), "{process}");
        house.check_refused("GET /api/process/%3Cqueue.999999%3E", "", 404, "Object Not Found", "Not Found").await;
        for (query, reason) in [
            ("of=streams", "'of' must be one of 'queues', 'connections', 'channels', 'vhosts', 'users', not 'streams'"),
            ("interval_ms=5", "'interval_ms' must be 100 to 30000, not 5"),
        ] {
            house.check_refused(&format!("GET /api/top?{query}"), "", 400, "bad_request", reason).await;
        }
    });
}

#[test]
fn the_shape_of_rabbitmq_top_is_kept() {
    in_house(async |house| {
        house.check("PUT /api/queues/%2F/a", "{}", 201, "").await;
        let node = house.get("/api/nodes").await.json()[0]["name"].as_str().unwrap().to_owned();
        let top = house.get(&format!("/api/top/{node}?sort=memory&row_count=5")).await.json();
        assert_eq!((&top["node"], &top["row_count"]), (&json!(node), &json!(5)));
        let members: Vec<&String> = top["processes"][0].as_object().unwrap().keys().collect();
        for member in
            ["pid", "memory", "message_queue_len", "reductions", "reduction_delta", "buffer_len", "status", "name"]
        {
            assert!(members.iter().any(|own| *own == member), "{member}: {top}");
        }
        let tables = house.get(&format!("/api/top/ets/{node}")).await.json();
        assert_eq!(tables["ets_tables"], Value::Array(Vec::new()));
        house.check_refused("GET /api/top/elsewhere", "", 404, "Object Not Found", "Not Found").await;
    });
}
