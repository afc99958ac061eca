//! Figures that are no inputs are still where they are said to be from.

use std::path::Path;

use crate::planned;

fn text(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn documents_still_say_what_is_assumed() {
    for (path, says) in [
        ("docs/formats/journal.md", "| header, 64 or 96 | metas | contents | zeros up to the next multiple of 4096 |"),
        ("docs/formats/journal.md", "batch     | header, 16 | record | record | …"),
        (
            "docs/formats/journal.md",
            "| 1 | publish | content_len u32, 0 u32, then for each queue: queue u64, seq u64 |",
        ),
        ("docs/formats/journal.md", "| 2 | settle | queue u64, first seq u64, last seq u64 (both included) |"),
        (
            "docs/formats/content.md",
            "| version u8 | published_at_ms u64 | history | exchange | routing key | header_len u32 |",
        ),
        ("docs/formats/segment.md", "| 20 | content_len | content | not shared: what the journal had |"),
        ("docs/formats/segment.md", "A content of 4096 bytes and more that several queues have is in the file once"),
        ("docs/formats/segment.md", "the others are 28 bytes"),
        ("docs/dev/cluster.md", "**A leader's commits** begin at most every millisecond"),
        ("docs/dev/cluster.md", "| disk, one journal alone | 0.22, 2.0 (1.0–11) | 7,880 | 0.30 |"),
        ("docs/dev/cluster.md", "| 1,000/s | 1.66, 6.9 | 515 | 0.42 |"),
        ("docs/dev/cluster.md", "A quorum queue takes 1.9 KiB on the leader"),
        ("docs/dev/lone-messages.md", "| 10,000/s, one pair | 34 | 58 to 62 |"),
        ("docs/configuration.md", "from 8MiB to 1024GiB | `256MiB` | The maximum size of the journal"),
        ("docs/configuration.md", "In a cluster the default is `128MiB`"),
        ("docs/configuration.md", "| `disk_free_limit.absolute` | a size such as 50MB or 1GiB | `50MB` |"),
        ("docs/durability.md", "with the defaults some 50 MiB"),
        ("docs/alarms.md", "uses more than 60 % of the memory"),
        ("docs/clustering.md", "What outlives its journal file crosses the links twice"),
        ("CHANGELOG.md", "a backlog of millions stays below 96 MiB"),
        ("ARCHITECTURE.md", "an idle connection takes at most 20 KiB"),
        ("crates/store/src/handles.rs", "const OPEN_COUNT_MAX: usize = 128;"),
    ] {
        assert!(text(path).contains(says), "{path} does not say any more: {says}");
    }
}

/// What Warren was measured with in a workload: a column of the last row that `bench/RESULTS.md` has of it, counted from the name.
fn measured(workload: &str, column: usize) -> f64 {
    let start = format!("| {workload} | warren | ");
    let results = text("bench/RESULTS.md");
    let row = results.lines().rfind(|line| line.starts_with(&start));
    let row = row.unwrap_or_else(|| panic!("bench/RESULTS.md has no row of {workload}"));
    row.split('|').nth(column).unwrap().trim().replace(',', "").parse().unwrap()
}

/// Another run of the benchmark changes the figures a little; an assumption that is twice or half of one has to follow.
#[test]
fn processor_time_is_about_what_was_measured() {
    for (persistent, confirms, workload) in [
        ("yes", "yes", "dq-confirm-multiack"),
        ("no", "yes", "confirm-every-n: confirm_window=1, publishers=20"),
        ("no", "no", "ndq-multiack, any length"),
    ] {
        let sheet = planned(&[("rate", "1000000"), ("persistent", persistent), ("confirms", confirms)]);
        let ratio = sheet.value("processors.messages").unwrap() * measured(workload, 5) / 1e6;
        assert!((0.5..2.0).contains(&ratio), "{workload}: {ratio} times what was measured is assumed");
    }
}

/// `bench/results/throughput.md`: messages per CPU-second with bodies of 16 bytes and of 1,024.
#[test]
fn processor_time_of_a_byte_is_about_what_was_measured() {
    let results = text("bench/results/throughput.md");
    let of_one = |scenario: &str| {
        let row =
            results.lines().find(|line| line.starts_with(&format!("| {scenario}, auto-ack | warren | "))).unwrap();
        let cell = row.split('|').nth(3).unwrap().trim();
        1e6 / cell.split(' ').next().unwrap().replace(',', "").parse::<f64>().unwrap()
    };
    let measured = (of_one("1 KiB") - of_one("16 bytes")) / 1_008.0;
    let sheet = planned(&[("rate", "1000000"), ("body", "1001024")]);
    let assumed = sheet.value("processors.bytes").unwrap() / 1e6;
    assert!((0.5..2.0).contains(&(assumed / measured)), "{assumed} µs a byte, and {measured} were measured");
}

#[test]
fn memory_of_queues_is_about_what_was_measured() {
    let sheet = planned(&[("rate", "1"), ("queues", "100000")]);
    let ratio = sheet.value("memory.queues").unwrap() / (measured("high-scale", 8) * 1_048_576.0);
    assert!((0.5..2.0).contains(&ratio), "{ratio} times what was measured is assumed");
}
