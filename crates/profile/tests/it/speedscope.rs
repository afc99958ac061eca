//! Our file keeps to speedscope's schema: to what <https://www.speedscope.app/file-format-schema.json> asks of a sampled profile.

use serde_json::Value;

use crate::sample;

#[test]
fn our_file_keeps_to_the_schema() {
    let file: Value = serde_json::from_str(&sample().to_speedscope()).unwrap();
    keys(&file, &["$schema", "shared", "profiles"], &["name", "activeProfileIndex", "exporter"]);
    assert_eq!(file["$schema"], "https://www.speedscope.app/file-format-schema.json");
    assert!(file["name"].is_string() && file["exporter"].is_string() && file["activeProfileIndex"].is_u64());
    keys(&file["shared"], &["frames"], &[]);
    let frames = file["shared"]["frames"].as_array().unwrap();
    for frame in frames {
        keys(frame, &["name"], &["file", "line", "col"]);
        assert!(frame["name"].is_string());
    }
    let profiles = file["profiles"].as_array().unwrap();
    assert_eq!(profiles.len(), 3);
    for profile in profiles {
        keys(profile, &["type", "name", "unit", "startValue", "endValue", "samples", "weights"], &[]);
        assert_eq!(profile["type"], "sampled");
        assert!(profile["name"].is_string() && profile["startValue"].is_number() && profile["endValue"].is_number());
        let units = ["bytes", "microseconds", "milliseconds", "nanoseconds", "none", "seconds"];
        assert!(units.contains(&profile["unit"].as_str().unwrap()));
        let (samples, weights) = (profile["samples"].as_array().unwrap(), profile["weights"].as_array().unwrap());
        assert_eq!(samples.len(), weights.len());
        assert!(weights.iter().all(Value::is_number));
        for frame in samples.iter().flat_map(|sample| sample.as_array().unwrap()) {
            assert!(usize::try_from(frame.as_u64().unwrap()).unwrap() < frames.len());
        }
    }
    assert_eq!(profiles[0]["endValue"], 1_000_000_000);
}

#[track_caller]
fn keys(object: &Value, required: &[&str], optional: &[&str]) {
    let object = object.as_object().unwrap();
    for key in required {
        assert!(object.contains_key(*key), "no {key} in {object:?}");
    }
    for key in object.keys() {
        assert!(required.contains(&key.as_str()) || optional.contains(&key.as_str()), "the schema does not know {key}");
    }
}
