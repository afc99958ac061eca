//! What is the matter with a broker, found from outside.

use std::fs;
use std::process::Command;

use crate::harness::{Broker, check_fails, check_output, scratch, text, warren};
use crate::profile::perf;

#[test]
fn a_slow_consumer_is_found_and_no_secret_is_kept() {
    let dir = scratch("diagnose");
    let data_dir = dir.join("data");
    let password = "m4rmot-and-h4re";
    let broker = Broker::start(&data_dir, &["--set", &format!("default_pass={password}")]);
    let uri = format!("amqp://guest:{password}@{}", broker.address());
    let options = "-x 1 -y 1 -u orders -ad false -r 400 --qos 1 --consumer-latency 40000 -z 600";
    let load = perf(&uri, options);
    // What a profile sees of a broker that does next to nothing is chance.
    let work = perf(&uri, "-x 1 -y 1 -u work -r 10000 -z 600");
    let archive = dir.join("all.tar.gz");
    let words = ["--data-dir", data_dir.to_str().unwrap(), "--seconds", "6", "-o", archive.to_str().unwrap()];
    let output = warren(&[&["diagnose"], words.as_slice()].concat());
    for mut load in [load, work] {
        load.kill().unwrap();
        load.wait().unwrap();
    }
    check_output(&output, 4, &format!("All of it is in {}.", archive.display()));
    let page = text(&output.stdout);
    let finding = page.lines().find(|line| line.contains("orders")).unwrap_or_else(|| panic!("{page}"));
    let (grows, why) = finding.split_once("; ").unwrap();
    let growth: u64 = grows
        .strip_prefix("PROBLEM  orders grows by ")
        .and_then(|rest| rest.strip_suffix(" messages a second"))
        .and_then(|number| number.parse().ok())
        .unwrap_or_else(|| panic!("{page}"));
    assert!((200..=420).contains(&growth), "{page}");
    let time = why.strip_prefix("its one consumer has prefetch 1 and takes ").unwrap_or_else(|| panic!("{page}"));
    let ms: u64 = time.strip_suffix(" ms a message.").unwrap().parse().unwrap();
    assert!((38..=70).contains(&ms), "{page}");
    assert!(!page.contains("MISSING"), "{page}");
    let (_, slowest) = page.split_once("The slowest requests of the last hour; of the HTTP API only").unwrap();
    assert!(slowest.contains("  GET /api/"), "{page}");

    let unpacked = Command::new("tar").arg("-xzf").arg(&archive).arg("-C").arg(&*dir).output().unwrap();
    assert!(unpacked.status.success(), "{unpacked:?}");
    let folders = fs::read_dir(&*dir).unwrap().map(|entry| entry.unwrap().path());
    let folder = folders.into_iter().find(|path| path.to_string_lossy().contains("warren-diagnose-")).unwrap();
    assert_eq!(fs::read_to_string(folder.join("findings.txt")).unwrap(), page);
    let has = |name: &str, part: &str| {
        let content = fs::read_to_string(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(!content.contains(password), "{name} has the password");
        assert!(content.contains(part), "no {part} in {name}: {content}");
    };
    has("log.txt", "started");
    has("warren.conf", "default_pass");
    has("queues.json", "orders");
    has("slow-requests.json", "\"protocol\": \"http\"");
    has("definitions-summary.json", "\"users\": 1");
    has("profile.svg", "Connection&lt;P&gt;::poll");
    has("pressure.json", "waited_us");
    has("process/limits", "Max open files");
    has("system/proc/meminfo", "MemTotal");
    for name in ["overview.json", "connections.json", "consumers.json", "nodes.json", "profile.folded"] {
        has(name, "");
    }
}

#[test]
fn a_broker_that_is_not_there_is_one_sentence() {
    check_fails(&["diagnose", "--data-dir", "/nowhere"], 1, "/nowhere/control.sock");
    check_fails(&["diagnose", "--seconds", "0"], 2, "0 is not in 1..=300");
}
