//! Commands and workloads as they may be kept.

use amqp_client::without_passwords;

use command_line::{Reader, Style, Word};

use super::table::OPTIONS;

/// The option with the token of agents.
const AGENT_TOKEN: &str = "agent-token";
/// Options whose values are secret.
const SECRETS: [&str; 5] = [
    AGENT_TOKEN,
    "oauth2-client-secret",
    // A password may be among them, where the grant type wants one.
    "oauth2-parameters",
    "metrics-datadog-api-key",
    "metrics-datadog-application-key",
];

/// The words of a command without its secrets: those options are left out, and passwords in URLs are `***`.
#[must_use]
pub fn without_secrets(words: &[String]) -> Vec<String> {
    without_options(words, &SECRETS).iter().map(|word| without_passwords(word)).collect()
}

/// A workload's text without the passwords of URLs in it. No URL continues after a space, a quotation mark or the line's
/// end: an `@` further on is not about it.
#[must_use]
pub fn without_secret_urls(text: &str) -> String {
    let parts = text.split_inclusive(|c: char| c.is_whitespace() || c == '"');
    parts.map(without_passwords).collect()
}

/// The words of a command as agents receive it: all but the token, which they know already.
pub(crate) fn without_agent_token(words: &[String]) -> Vec<String> {
    without_options(words, &[AGENT_TOKEN])
}

/// The words, as they are, but for those of some options and their values. What cannot be read stays, and hides nothing
/// of what comes after it.
#[must_use]
pub fn without_options(words: &[String], hidden: &[&str]) -> Vec<String> {
    // The places of the words that are no overrides of a workload.
    let mut places = Vec::new();
    let is_workload = words.first().is_some_and(|word| word == "run");
    let mut is_override_value = false;
    for (at, word) in words.iter().enumerate() {
        if std::mem::take(&mut is_override_value) {
            continue;
        }
        match as_override(word).filter(|_| is_workload) {
            Some((_, value)) => is_override_value = value.is_none(),
            None => places.push(at),
        }
    }
    let read: Vec<String> = places.iter().map(|at| words[*at].clone()).collect();
    let options = Reader::new(OPTIONS, Style::CommonsCli, &read).filter_map(|word| match word {
        Ok(Word::Option(said)) => Some((places[said.words.start]..=places[said.words.end - 1], said.option.long)),
        // An unknown word is not known to be secret.
        _ => None,
    });
    let options: Vec<_> = options.collect();
    let is_hidden = |at: usize| {
        let mut names = options.iter().filter(|(span, _)| span.contains(&at)).peekable();
        names.peek().is_some() && names.all(|(_, name)| hidden.contains(name))
    };
    words.iter().enumerate().filter(|(at, _)| !is_hidden(*at)).map(|(_, word)| word.clone()).collect()
}

/// A workload's own option, `--set` or `--scale`, and its value if that is part of the word; otherwise it is the next.
pub(crate) fn as_override(word: &str) -> Option<(&str, Option<&str>)> {
    let (name, value) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
    matches!(name, "--set" | "--scale").then_some((name, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(command: &str, expected: &str) {
        let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
        assert_eq!(without_secrets(&words).join(" "), expected);
    }

    #[test]
    fn passwords_are_not_kept() {
        check("-h amqp://me:secret@here:5672/%2F -x 1", "-h amqp://me:***@here:5672/%2F -x 1");
        check("-H amqp://a:b@x,amqps://c:d@y/v", "-H amqp://a:***@x,amqps://c:***@y/v");
        check("--influx=http://me:s@here/write?db=x", "--influx=http://me:***@here/write?db=x");
        check("-h amqp://me:sec/ret@here/v", "-h amqp://me:***@here/v");
        check("-h amqp://me:p@ss@here", "-h amqp://me:***@here");
        check("-o2sec hush -o2id me", "-o2id me");
        check("--agents a,b --agent-token hush", "--agents a,b");
    }

    #[test]
    fn everything_else_is() {
        check("-h amqp://here:5672/v -mp to=me@here -k a:b@c", "-h amqp://here:5672/v -mp to=me@here -k a:b@c");
        check("-h amqp://me@here", "-h amqp://me@here");
        check("--nonsense -h amqp://me:secret@here", "--nonsense -h amqp://me:***@here");
    }

    #[test]
    fn words_of_a_workload_hide_nothing_of_the_others() {
        let run = "run low-latency --scale 0.1 --agents a";
        for secret in ["--agent-token hush", "--agent-token=hush", "--agent-tok hush", "-o2sec hush"] {
            check(&format!("{run} {secret}"), run);
            check(
                &format!("run {secret} low-latency --scale=0.1 --agents a"),
                "run low-latency --scale=0.1 --agents a",
            );
        }
        check(&format!("{run} -o2p user=me password=hush"), run);
        check("run a.toml --set x=y -h amqp://me:hush@here", "run a.toml --set x=y -h amqp://me:***@here");
        check("run a.toml --agent-token --scale 0.1 hush", "run a.toml");
        check("--nonsense --agent-token hush -x 1", "--nonsense -x 1");
        check("-x --agent-token hush", "-x");
    }

    #[test]
    fn passwords_of_a_workload_are_not_kept() {
        let check = |text: &str, expected: &str| assert_eq!(without_secret_urls(text), expected);
        check(
            "# see https://x.org/y\nsteps = [{ http_get = \"http://me:hush@here/a\" },\n  { to = \"me@there\" }]\n",
            "# see https://x.org/y\nsteps = [{ http_get = \"http://me:***@here/a\" },\n  { to = \"me@there\" }]\n",
        );
        check("url = 'http://me:it's@here'", "url = 'http://me:***@here'");
        for shipped in crate::workload::shipped() {
            check(shipped.text, shipped.text);
        }
    }
}
