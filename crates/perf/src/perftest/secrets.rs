//! Commands as they may be kept.

use client::without_passwords;

use super::command_line::without_options;

/// The option with the token of agents.
const AGENT_TOKEN: &str = "agent-token";
/// Options whose values are secret.
const SECRETS: [&str; 4] =
    [AGENT_TOKEN, "oauth2-client-secret", "metrics-datadog-api-key", "metrics-datadog-application-key"];

/// The words of a command without its secrets: those options are left out, and passwords in URLs are `***`.
#[must_use]
pub fn without_secrets(words: &[String]) -> Vec<String> {
    without_options(words, &SECRETS).iter().map(|word| without_passwords(word)).collect()
}

/// The words of a command as agents are told it: all but the token, which they know already.
pub(crate) fn without_agent_token(words: &[String]) -> Vec<String> {
    without_options(words, &[AGENT_TOKEN])
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
}
