//! What is shipped is optimized for speed.

use std::collections::BTreeSet;

use tidy::workspace::root;

/// `dist` inherits the packages' settings of `release`, so what that has for size, or does not optimize, needs another setting there.
#[test]
fn what_release_does_not_have_for_speed_is_shipped_for_speed() {
    let manifest = std::fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let packages = |profile: &str, level: &str| -> BTreeSet<String> {
        let head = format!("[profile.{profile}.package.");
        let sections = manifest.split("\n\n").filter_map(|section| section[section.find(&head)?..].strip_prefix(&head));
        sections
            .filter(|section| section.contains(&format!("opt-level = {level}")))
            .filter_map(|section| Some(section.split_once(']')?.0.to_owned()))
            .collect()
    };
    let mut slow = packages("release", "\"s\"");
    assert!(slow.contains("management"), "{slow:?}");
    slow.extend(packages("release", "0"));
    assert!(slow.contains("ctl"), "{slow:?}");
    assert_eq!(packages("dist", "3"), slow);
}
