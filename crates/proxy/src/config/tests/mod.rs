//! What is said in any of its ways counts as it should, or is refused with its reason.

mod amqproxy;
mod defaults;
mod files;
mod precedence;
mod renamed;
mod robustness;
mod words;

use std::time::Duration;

use super::*;

/// An upstream, which there has to be.
const UPSTREAM: &str = "proxy.upstreams.a.url = amqp://a\n";

fn source(text: &str) -> Source {
    Source { name: "proxy.conf".to_owned(), text: text.to_owned() }
}

fn environment(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn command_line(given: &[&str]) -> CommandLine {
    match CommandLine::parse(&words(given)) {
        Ok(Invocation::Run(line)) => line,
        other => panic!("{other:?}"),
    }
}

/// What a file, variables and words are parsed to.
fn parse(file: &str, env: &[(&str, &str)], given: &[&str]) -> Result<(Config, Vec<Warning>), ConfigError> {
    Config::parse(&[source(file)], &environment(env), &command_line(given))
}

#[track_caller]
fn config(file: &str, env: &[(&str, &str)], given: &[&str]) -> Config {
    let (config, warnings) = parse(file, env, given).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(warnings, [], "{}", warnings[0]);
    config
}

/// That of a file with an upstream.
#[track_caller]
fn of_file(text: &str) -> Config {
    config(&format!("{UPSTREAM}{text}"), &[], &[])
}

#[track_caller]
fn check_error(text: &str, expected: &str) {
    let error = parse(&format!("{text}\n{UPSTREAM}"), &[], &[]).map(|_| ()).unwrap_err();
    assert_eq!(error.to_string(), expected);
}

#[track_caller]
fn check_warnings(file: &str, env: &[(&str, &str)], given: &[&str], expected: &[&str]) {
    let (_, warnings) = parse(file, env, given).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(warnings.iter().map(Warning::to_string).collect::<Vec<_>>(), expected);
}

fn value<'a>(effective: &'a [(String, String)], key: &str) -> Option<&'a str> {
    effective.iter().find(|(name, _)| name == key).map(|(_, value)| &**value)
}

/// A key's value in force.
fn in_force(config: &Config, key: &str) -> String {
    value(&config.effective(), key).unwrap_or("unset").to_owned()
}

fn urls(config: &Config) -> Vec<String> {
    config.upstreams.iter().map(|u| format!("{}={}:{}", u.name, u.host, u.port)).collect()
}
