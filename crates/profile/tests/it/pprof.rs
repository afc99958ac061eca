//! `go tool pprof` reads our file as it was meant.

use std::path::PathBuf;
use std::process::Command;

use crate::sample;

/// What it prints; nothing where Go is not installed.
fn pprof(name: &str, options: &[&str]) -> Option<String> {
    let path: PathBuf = std::env::temp_dir().join(format!("warren-{}-{name}.pb.gz", std::process::id()));
    std::fs::write(&path, sample().to_pprof(1_700_000_000_000_000_000, 1_000_000_000)).unwrap();
    let output = Command::new("go").args(["tool", "pprof"]).args(options).arg(&path).output();
    std::fs::remove_file(&path).unwrap();
    let Ok(output) = output else {
        println!("skipped: go is not installed, so our files are not held against pprof");
        return None;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap())
}

#[test]
fn go_tool_pprof_lists_our_functions() {
    let Some(top) = pprof("top", &["-top"]) else { return };
    assert!(top.contains("Type: cpu") && top.contains("Duration: 1s, Total samples = 1000ms"), "{top}");
    let rows: Vec<Vec<&str>> = top
        .lines()
        .skip_while(|line| !line.contains("flat%"))
        .skip(1)
        .map(|line| line.split_whitespace().collect())
        .collect();
    let own: Vec<_> = rows.iter().map(|row| (row[5..].join(" "), row[0], row[3])).collect();
    let expected = [
        ("hash", "600ms", "600ms"),
        ("route", "300ms", "900ms"),
        ("waiting: disk", "100ms", "100ms"),
        ("commit", "0", "100ms"),
        ("main", "0", "900ms"),
    ];
    assert_eq!(own, expected.map(|(name, flat, cum)| (name.to_owned(), flat, cum)), "{top}");
}

#[test]
fn go_tool_pprof_knows_threads_and_work() {
    let Some(tags) = pprof("tags", &["-tags"]) else { return };
    for tag in ["900ms (90.00%): worker", "100ms (10.00%): journal", "900ms (90.00%): connection"] {
        assert!(tags.contains(tag), "no {tag} in {tags}");
    }
    let comments = pprof("comments", &["-comments"]).unwrap();
    assert!(comments.contains("0.1 % of the processor time"), "{comments}");
}
