//! JSON says what the sheet says, with every formula's inputs.

use std::collections::HashSet;

use serde_json::Value;

use crate::planned;

#[test]
fn each_line_has_its_formula_and_inputs() {
    let sheet = planned(&[("rate", "1000"), ("replicas", "3"), ("load-balancers", "2"), ("cpus", "2")]);
    let whole: Value = serde_json::from_str(&plan::render::json(&sheet)).unwrap();
    assert_eq!(whole["schema"], 1);
    assert_eq!(whole["fits"], true);
    let lines: Vec<&Value> =
        whole["sections"].as_array().unwrap().iter().flat_map(|section| section["lines"].as_array().unwrap()).collect();
    assert_eq!(lines.len(), sheet.lines().count());
    let mut ids = HashSet::new();
    for line in &lines {
        assert!(ids.insert(line["id"].as_str().unwrap()), "{line} is there twice");
        let Some(formula) = line["formula"].as_str() else { continue };
        for input in line["inputs"].as_array().unwrap() {
            assert!(formula.contains(input["name"].as_str().unwrap()), "{line}");
        }
    }
    let published = lines.iter().find(|line| line["id"] == "message.published").unwrap();
    assert_eq!(published["formula"], "method of a publish + header frame + body frames");
    assert_eq!(published["unit"], "bytes");
    assert_eq!(published["inputs"][2]["value"], 1_032.0);
    let needed = lines.iter().find(|line| line["id"] == "processors.needed").unwrap();
    assert_eq!(needed["fit"]["fits"], true);
    assert_eq!(needed["fit"]["limit"], 2.0);
}
