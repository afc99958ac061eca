//! `rabbitmq-env.conf`, and other files of environment variables.

use model::config::{self, Variable};

use crate::input::{Content, Read};
use crate::pages;
use crate::sheet::{Noun, Place, Remark, Sheet};

const VARIABLE: Noun = Noun { one: "variable", many: "variables", family: "variables" };

const PREFIX: &str = "RABBITMQ_";
/// Variables that this broker reads itself, before it has a configuration.
const READ_FIRST: &[&str] = &["RABBITMQ_CONFIG_FILE"];

/// A line of such a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Assignment<'a> {
    pub(crate) line: usize,
    /// Nothing if the line is something else for a shell to do.
    pub(crate) name: Option<&'a str>,
    pub(crate) value: &'a str,
}

/// Variables without which clients do not find the broker, or find it less protected than it was.
const MISSED: &[&str] = &[
    "RABBITMQ_NODE_PORT",
    "RABBITMQ_NODE_IP_ADDRESS",
    "RABBITMQ_SSL_",
    "RABBITMQ_MANAGEMENT_SSL_",
    "RABBITMQ_DEFAULT_USER_FILE",
    "RABBITMQ_DEFAULT_PASS_FILE",
    "RABBITMQ_CONFIG_FILES",
];

/// The lines that mean something.
pub(crate) fn assignments(text: &str) -> Vec<Assignment<'_>> {
    let meaningful = (1..).zip(text.lines()).map(|(number, line)| (number, line.trim()));
    let meaningful = meaningful.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    meaningful
        .map(|(line, text)| {
            let text = text.strip_prefix("export ").unwrap_or(text).trim_start();
            match text.split_once('=').filter(|(name, _)| is_name(name)) {
                Some((name, value)) => Assignment { line, name: Some(name), value: unquoted(value.trim()) },
                None => Assignment { line, name: None, value: text },
            }
        })
        .collect()
}

fn is_name(text: &str) -> bool {
    text.starts_with(|char: char| char.is_ascii_alphabetic() || char == '_')
        && text.chars().all(|char| char.is_ascii_alphanumeric() || char == '_')
}

fn unquoted(value: &str) -> &str {
    let between = |quote| value.strip_prefix(quote).and_then(|rest: &str| rest.strip_suffix(quote));
    between('"').or_else(|| between('\'')).unwrap_or(value)
}

/// Looks at all such files. Returns the variables that they set, for the configuration to refer to.
pub(crate) fn examine(read: &[Read<'_>], sheet: &mut Sheet) -> Vec<(String, String)> {
    let mut env = Vec::new();
    for Read { name: source, content, .. } in read {
        let Content::Environment(assignments) = content else { continue };
        for Assignment { line, name, value } in assignments {
            let Some(name) = name else {
                let remark = Remark::different("files of variables are not run by a shell", pages::CONFIGURATION);
                let remark = remark.advising("set what comes of this line in the environment of the broker");
                sheet.put(VARIABLE, Place::of(source, Some(*line), ""), vec![remark]);
                continue;
            };
            env.push(((*name).to_owned(), (*value).to_owned()));
            sheet.put(VARIABLE, Place::of(source, Some(*line), *name), remark(name, value).into_iter().collect());
        }
    }
    env
}

/// RabbitMQ's own file has its variables without their prefix.
fn remark(name: &str, value: &str) -> Option<Remark> {
    let is_prefixed = name.starts_with(PREFIX);
    let full_name = if is_prefixed { name.to_owned() } else { format!("{PREFIX}{name}") };
    if value.is_empty() {
        return None;
    }
    let page = pages::CONFIGURATION;
    match config::variable(&full_name) {
        // The standard output is as good as the standard error.
        Some(Variable::WithoutEffect(_)) if (full_name.as_str(), value) == ("RABBITMQ_LOGS", "-") => None,
        Some(Variable::WithoutEffect(instead)) => {
            let text = format!("the variable {full_name} has no effect");
            let is_missed = MISSED.iter().any(|start| full_name.starts_with(start));
            let remark = if is_missed { Remark::refused(text, page) } else { Remark::different(text, page) };
            Some(remark.advising(instead))
        }
        Some(Variable::Sets(_)) if is_prefixed => None,
        None if is_prefixed && READ_FIRST.contains(&&*full_name) => None,
        Some(Variable::Sets(key)) => {
            Some(not_read(&format!("set {full_name} in the environment of the broker, or {key} in its file")))
        }
        None if READ_FIRST.contains(&&*full_name) => {
            Some(not_read("name the file with --config, or in the variable RABBITMQ_CONFIG_FILE"))
        }
        None if is_prefixed => Some(Remark::different(format!("the variable {full_name} has no effect"), page)),
        None => Some(not_read("if it is not for Erlang, set it in the environment of the broker")),
    }
}

fn not_read(advice: &str) -> Remark {
    Remark::different("rabbitmq-env.conf is not read", pages::CONFIGURATION).advising(advice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_an_assignment_or_something_for_a_shell() {
        let text = "# comment\n\nNODENAME=rabbit@a\nexport RABBITMQ_LOGS=\"-\"\nX='a b'\n. /etc/default/x\n";
        let read: Vec<_> = assignments(text).iter().map(|read| (read.line, read.name, read.value)).collect();
        let expected = [
            (3, Some("NODENAME"), "rabbit@a"),
            (4, Some("RABBITMQ_LOGS"), "-"),
            (5, Some("X"), "a b"),
            (6, None, ". /etc/default/x"),
        ];
        assert_eq!(read, expected);
    }

    #[test]
    fn what_the_broker_reads_itself_is_told_from_what_it_does_not() {
        let advice = |name, value| remark(name, value).map(|remark| remark.advice);
        assert_eq!(advice("RABBITMQ_NODENAME", "rabbit@a"), None);
        assert_eq!(advice("RABBITMQ_LOGS", "-"), None);
        assert_eq!(advice("RABBITMQ_NODE_PORT", "5673").as_deref(), Some("set listeners.tcp.default"));
        assert_eq!(advice("NODE_PORT", "5673").as_deref(), Some("set listeners.tcp.default"));
        assert!(advice("NODENAME", "rabbit@a").unwrap().contains("RABBITMQ_NODENAME"));
        assert_eq!(advice("RABBITMQ_ERLANG_COOKIE", "secret").as_deref(), Some(""));
        assert_eq!(advice("RABBITMQ_CONFIG_FILE", "/etc/x"), None);
    }
}
