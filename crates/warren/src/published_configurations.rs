//! Configurations in the likeness of public ones: what a start does with each, and that a check has said so.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use preflight::{Input, Severity};

use crate::config_files::{self, Locations};
use crate::environment::Environment;

/// How many of them start, at least: of others a reason is given that is in what the start says.
const STARTING_COUNT_MIN: usize = 45;

/// One of them: its name, its files, and what refuses it.
struct Published {
    name: String,
    files: BTreeMap<String, String>,
    refusal: Option<String>,
}

fn published() -> Vec<Published> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/definitions/configurations.txt");
    let text = std::fs::read_to_string(path).unwrap();
    let mut all: Vec<Published> = Vec::new();
    let mut file = String::new();
    for line in text.lines() {
        if let Some(title) = line.strip_prefix("=== ") {
            let (name, outcome) = title.split_once(": ").unwrap();
            let refusal = outcome.strip_prefix("refused ").map(str::to_owned);
            assert!(refusal.is_some() || outcome == "starts", "{title}");
            all.push(Published { name: name.to_owned(), files: BTreeMap::new(), refusal });
        } else if let Some(name) = line.strip_prefix("--- ") {
            file = name.to_owned();
            all.last_mut().unwrap().files.insert(file.clone(), String::new());
        } else if let Some(text) = all.last_mut().and_then(|last| last.files.get_mut(&file)) {
            text.push_str(line);
            text.push('\n');
        }
    }
    all
}

/// Its files in a directory of their own. The file of variables becomes the environment.
fn written(published: &Published, dir: &Path) -> (Locations, Environment) {
    std::fs::create_dir_all(dir).unwrap();
    for (name, text) in &published.files {
        std::fs::write(dir.join(name), text).unwrap();
    }
    let at = |name: &str| Some(dir.join(name)).filter(|path: &PathBuf| path.exists());
    let env = published.files.get("env").map_or("", String::as_str);
    let variables = preflight::assignments(env).into_iter().filter_map(|read| Some((read.name?, read.value)));
    let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let locations = Locations {
        main: at("rabbitmq.conf").or_else(|| at("rabbitmq.config")),
        conf_d: None,
        advanced: at("advanced.config"),
    };
    (locations, Environment::of(variables))
}

/// What a check finds to be refused.
fn check_refuses(published: &Published) -> Option<String> {
    let kind = |name: &str| (name == "env").then_some(preflight::Kind::Environment);
    let input = |(name, text): (&String, &String)| Input {
        name: name.clone(),
        bytes: text.clone().into_bytes(),
        kind: kind(name),
    };
    let inputs: Vec<Input> = published.files.iter().map(input).collect();
    match preflight::examine(&inputs) {
        Err(unreadable) => Some(unreadable.to_string()),
        Ok(report) => report.of_severity(Severity::Refused).next().map(|group| group.text.clone()),
    }
}

#[test]
fn a_check_refuses_what_a_start_refuses_and_nothing_else() {
    let root = std::env::temp_dir().join(format!("warren-configurations-{}", std::process::id()));
    let (mut wrong, mut starting) = (Vec::new(), 0);
    let all = published();
    for (number, each) in all.iter().enumerate() {
        let (locations, environment) = written(each, &root.join(number.to_string()));
        let started =
            config_files::parse(&locations, &environment, &[]).map(drop).map_err(|error| format!("{error:#}"));
        let checked = check_refuses(each);
        match (&started, &each.refusal) {
            (Ok(()), None) => starting += 1,
            (Err(error), Some(refusal)) if error.contains(refusal.as_str()) => {}
            (outcome, _) => wrong.push(format!("{}: a start says {outcome:?}", each.name)),
        }
        // What enables a protocol that is not spoken is started without it: a check says what is missed.
        let is_missed = checked
            .as_deref()
            .is_some_and(|text| text.contains("not supported, and without effect") || IS_MISSED.contains(&&*each.name));
        if started.is_ok() != checked.is_none() && !is_missed {
            wrong.push(format!("{}: a check says {checked:?}, and a start {started:?}", each.name));
        }
    }
    std::fs::remove_dir_all(&root).unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(starting >= STARTING_COUNT_MIN, "{starting} of {} start", all.len());
}

/// Configurations of protocols that are not spoken here: a check refuses what their clients would miss, and a start only warns.
const IS_MISSED: &[&str] = &["mqtt", "stomp and web sockets", "streams", "classic of 3.6"];
