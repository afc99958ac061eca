//! `warren top` as scripts run it, while a broker is busy.

use std::process::Stdio;

use serde_json::Value;

use crate::harness::{Broker, check_output, program, scratch, text, warren};

fn rows(data_dir: &str, words: &str) -> Vec<Value> {
    let words: Vec<&str> = ["top", "--data-dir", data_dir, "--json", "-i", "0.5"]
        .into_iter()
        .chain(words.split_ascii_whitespace())
        .collect();
    let output = warren(&words);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!((500..5000).contains(&answer["interval_ms"].as_u64().unwrap()), "{answer}");
    answer["rows"].as_array().unwrap().clone()
}

fn number(row: &Value, name: &str) -> f64 {
    row[name].as_f64().unwrap_or_else(|| panic!("no {name}: {row}"))
}

#[test]
fn the_busiest_are_told_by_whatever_is_asked() {
    let dir = scratch("top");
    let data_dir = dir.join("data").to_str().unwrap().to_owned();
    let broker = Broker::start(&dir.join("data"), &[]);
    let declare = |name: &str| {
        let name = format!("name={name}");
        let output = warren(&["ctl", "-q", "--data-dir", &data_dir, "declare", "queue", &name]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    };
    declare("idle");
    declare("busy");
    let uri = format!("amqp://{}", broker.address());
    let load = ["perf", "--uri", &uri, "-x", "1", "-y", "1", "-u", "busy", "-p", "-c", "100", "-A", "10", "-z", "30"];
    let mut perf = program(&load).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    // It begins in its own time.
    let queues = loop {
        let queues = rows(&data_dir, "queues");
        if number(&queues[0], "messages_per_second") > 0.0 {
            break queues;
        }
    };
    assert_eq!((queues[0]["name"].as_str(), queues[1]["name"].as_str(), queues.len()), (Some("busy"), Some("idle"), 2));
    assert!(number(&queues[0], "cpu_percent") > 0.0 && number(&queues[1], "cpu_percent") == 0.0, "{queues:?}");
    for by in ["messages", "bytes", "memory", "waiting"] {
        assert_eq!(rows(&data_dir, &format!("queues -s {by} -n 1"))[0]["name"], "busy", "{by}");
    }
    assert_eq!(rows(&data_dir, "queues --reverse -n 1")[0]["name"], "idle");
    assert_eq!(rows(&data_dir, "queues --filter dle").len(), 1);
    let connections = rows(&data_dir, "connections --user guest");
    assert_eq!(connections.len(), 2, "a publisher and a consumer: {connections:?}");
    for connection in &connections {
        let name = connection["name"].as_str().unwrap();
        assert!(number(connection, "cpu_percent") > 0.0 && number(connection, "memory") > 1000.0, "{connection}");
        let output = warren(&["top", "channels", "--data-dir", &data_dir, "--connection", name, "-i", "0.2", "--once"]);
        let table = text(&output.stdout);
        assert!(table.contains("1 in all") && table.contains(&format!("{name} (1) (guest in /)")), "{table}");
    }
    // How much, is not said here: the load of one moment is not that of the next.
    for of in ["users", "vhosts"] {
        let all = rows(&data_dir, of);
        assert!(number(&all[0], "messages_per_second") > 0.0 && number(&all[0], "cpu_percent") > 0.0, "{of}: {all:?}");
    }
    assert_eq!(rows(&data_dir, "connections --user ann"), Vec::<Value>::new());
    check_output(&warren(&["top", "streams"]), 2, "invalid value 'streams'");
    perf.kill().unwrap();
    perf.wait().unwrap();
    broker.stop();
}
