//! `docs/plan.md` names what there is. That its examples come out as they stand there is held by the tests of the binary.

use plan::setting::SETTINGS;

use crate::planned;

const PAGE: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/plan.md"));

#[test]
fn each_setting_is_described_with_its_default() {
    for setting in SETTINGS {
        let row = PAGE.lines().find(|line| line.starts_with(&format!("| `--{}` |", setting.name)));
        let row = row.unwrap_or_else(|| panic!("--{} has no row", setting.name));
        if let Some(default) = setting.default {
            assert!(row.contains(&format!("| {default} |")), "{row}");
        }
    }
}

#[test]
fn each_section_of_the_sheet_is_described() {
    let sheet = planned(&[("rate", "1"), ("replicas", "3"), ("load-balancers", "2")]);
    for section in &sheet.sections {
        assert!(PAGE.contains(&format!("| `{}` |", section.id)), "{}", section.id);
    }
}
