//! speedscope's file: <https://www.speedscope.app/file-format-schema.json>. One view of all stacks, and one of each thread.

use std::collections::{BTreeSet, HashMap};

use serde_json::{Value, json};

use crate::frame::{Frame, Kind};
use crate::stacks::{Cost, Profile, Unit};

impl Profile {
    /// The file.
    pub fn to_speedscope(&self) -> String {
        let stacks = self.stacks();
        let mut ids: HashMap<&Frame, usize> = HashMap::new();
        let mut frames: Vec<Value> = Vec::new();
        for frame in stacks.iter().flat_map(|(stack, _)| stack) {
            ids.entry(frame).or_insert_with(|| {
                frames.push(json!({"name": shown(frame)}));
                frames.len() - 1
            });
        }
        let thread_of = |stack: &[&Frame]| {
            stack.first().filter(|frame| frame.kind() == Kind::Thread).map(|frame| frame.name().to_owned())
        };
        let threads: BTreeSet<String> = stacks.iter().filter_map(|(stack, _)| thread_of(stack)).collect();
        let mut profiles = vec![self.view(self.title(), &stacks, &ids)];
        for thread in &threads {
            let of_thread: Vec<_> =
                stacks.iter().filter(|(stack, _)| thread_of(stack).as_ref() == Some(thread)).cloned().collect();
            profiles.push(self.view(thread, &of_thread, &ids));
        }
        json!({
            "$schema": "https://www.speedscope.app/file-format-schema.json",
            "exporter": "warren",
            "name": self.title(),
            "activeProfileIndex": 0,
            "shared": {"frames": frames},
            "profiles": profiles,
        })
        .to_string()
    }

    fn view(&self, name: &str, stacks: &[(Vec<&Frame>, Cost)], ids: &HashMap<&Frame, usize>) -> Value {
        // What takes no time has no width, and speedscope wants as many weights as samples.
        let stacks: Vec<_> = stacks.iter().filter(|(_, cost)| cost.weight > 0).collect();
        let weight = |weight: u64| self.unit().nanoseconds(weight).unwrap_or(weight);
        let unit = match self.unit() {
            Unit::Samples { period_ns: 0 } => "none",
            _ => "nanoseconds",
        };
        let total: u64 = stacks.iter().map(|(_, cost)| weight(cost.weight)).sum();
        json!({
            "type": "sampled",
            "name": name,
            "unit": unit,
            "startValue": 0,
            "endValue": total,
            "samples": stacks.iter().map(|(stack, _)| stack.iter().map(|frame| ids[frame]).collect::<Vec<_>>()).collect::<Vec<_>>(),
            "weights": stacks.iter().map(|(_, cost)| weight(cost.weight)).collect::<Vec<_>>(),
        })
    }
}

fn shown(frame: &Frame) -> String {
    match frame.kind() {
        Kind::Thread | Kind::Work => frame.name().to_owned(),
        Kind::Label => format!("[{}]", frame.name()),
        Kind::Waiting => format!("waiting: {}", frame.name()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thread_has_a_view_of_its_own() {
        let profile = Profile::from_folded("all", "t_[t];a;b 2\nu_[t];a 3").unwrap();
        let file: Value = serde_json::from_str(&profile.to_speedscope()).unwrap();
        let frames: Vec<_> = file["shared"]["frames"].as_array().unwrap().iter().map(|frame| &frame["name"]).collect();
        assert_eq!(frames, ["t", "a", "b", "u"]);
        let views: Vec<_> = file["profiles"]
            .as_array()
            .unwrap()
            .iter()
            .map(|view| (view["name"].clone(), view["samples"].clone()))
            .collect();
        let expected = [
            (json!("all"), json!([[0, 1, 2], [3, 1]])),
            (json!("t"), json!([[0, 1, 2]])),
            (json!("u"), json!([[3, 1]])),
        ];
        assert_eq!(views, expected);
        assert_eq!(file["profiles"][0]["endValue"], 5);
    }
}
