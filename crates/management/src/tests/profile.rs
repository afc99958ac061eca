//! CPU profiles.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;

use super::house::in_house;
use super::lines::alone;

#[test]
fn a_cpu_profile_is_lines_from_its_begin_to_its_end() {
    let _turn = alone();
    in_house(async |house| {
        for query in ["seconds=0", "seconds=301", "seconds=x", "rate=1000", "rate=0", "rate=-1", "second=3"] {
            let reply = house.get(&format!("/api/profile/cpu?{query}")).await;
            assert_eq!(reply.status, 400, "{query}");
        }
        let is_over = Arc::new(AtomicBool::new(false));
        let busy = {
            let is_over = is_over.clone();
            let work = move || {
                sampler::does(sampler::Work::Compaction);
                while !is_over.load(Ordering::Relaxed) {
                    black_box((0..10_000_u64).fold(0, |sum, number| black_box(sum ^ number)));
                }
            };
            std::thread::Builder::new().name("busy".to_owned()).spawn(work).unwrap()
        };
        let path = "/api/profile/cpu?seconds=1&rate=200";
        let ((first, second), third) = {
            let both = async { (house.get(path).await, house.get("/api/profile/cpu?seconds=1").await) };
            let other = async {
                tokio::time::sleep(std::time::Duration::from_millis(300)).await;
                house.get("/api/profile/cpu").await
            };
            tokio::join!(both, other)
        };
        is_over.store(true, Ordering::Relaxed);
        busy.join().unwrap();
        assert_eq!((first.status, second.status, third.status), (200, 200, 409));
        assert_eq!(third.json()["reason"], "a CPU profile is being made already, and there can be one at a time");
        assert_eq!(first.header("content-type"), Some("application/x-ndjson"));

        let text = String::from_utf8(first.body).unwrap();
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let begin = &lines[0]["begin"];
        assert_eq!(
            (&begin["rate_hz"], &begin["seconds"], &begin["pid"]),
            (&200.into(), &1.into(), &std::process::id().into())
        );
        assert!(
            begin["modules"]
                .as_array()
                .unwrap()
                .iter()
                .any(|module| module["path"].as_str().unwrap().contains("management"))
        );
        let threads: Vec<_> = lines
            .iter()
            .filter(|line| line["thread"]["name"] == "busy")
            .map(|line| &line["thread"]["number"])
            .collect();
        let of_busy = lines.iter().map(|line| &line["sample"]).filter(|sample| threads.contains(&&sample["thread"]));
        let ticks: u64 = of_busy
            .inspect(|sample| assert_eq!(sample["work"], "compaction"))
            .map(|sample| sample["count"].as_u64().unwrap())
            .sum();
        assert!((20..=210).contains(&ticks), "{ticks} ticks of a second at 200 Hz");
        let end = &lines.last().unwrap()["end"];
        assert_eq!((&end["reason"], &end["dropped"]), (&"time".into(), &0.into()));
        assert!(
            end["handler_ns"].as_u64().unwrap() > 0
                && end["process_ns"].as_u64().unwrap() > end["handler_ns"].as_u64().unwrap()
        );

        house.service.broker.set_memory_limit(&broker::Actor::broker(), 1, std::path::Path::new("/"));
        let refused = house.get("/api/profile/cpu").await;
        assert_eq!(
            (refused.status, &refused.json()["reason"]),
            (503, &"the memory alarm is in effect: no session can start during an alarm".into())
        );
    });
}
