//! Which users may read what a broker writes.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::*;

/// Everything below a directory that others than its owner may do something with.
fn open_to_others(dir: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(dir).unwrap() {
        let (path, metadata) = entry.map(|entry| (entry.path(), entry.metadata().unwrap())).unwrap();
        let mode = metadata.permissions().mode() & 0o777;
        if mode & 0o077 != 0 {
            found.push(format!("{mode:o} {}", path.display()));
        }
        if metadata.is_dir() {
            open_to_others(&path, found);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_in_a_data_directory_is_for_others_to_read() {
    let mut house = TestNode::open("modes", &[]);
    // As earlier versions have left them.
    fs::create_dir_all(house.dir.join("traces")).unwrap();
    fs::write(house.dir.join("traces/.traces.json"), "[]").unwrap();
    for (path, mode) in [("traces", 0o755), ("traces/.traces.json", 0o644)] {
        fs::set_permissions(house.dir.join(path), fs::Permissions::from_mode(mode)).unwrap();
    }
    house.start().await;
    let mut client = publisher(house.amqp()).await;
    let body = r#"{"format":"events"}"#;
    let answer = order(TcpStream::connect(house.api()).await.unwrap(), "PUT", "/api/traces/%2F/all", body).await;
    assert!(answer.starts_with("HTTP/1.1 20"), "{answer}");
    publish(&mut client, b"a body").await.unwrap();
    until(|| fs::metadata(house.dir.join("traces/all.log")).is_ok_and(|file| file.len() > 0)).await;
    let mut found = Vec::new();
    open_to_others(&house.dir, &mut found);
    assert!(found.is_empty(), "{found:#?}");
    house.close().await;
}
