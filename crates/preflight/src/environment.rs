//! `rabbitmq-env.conf`, and other files of environment variables.

use model::config::{self, Variable};

use crate::input::{Content, Read};
use crate::pages;
use crate::sheet::{Noun, Place, Remark, Sheet};

const VARIABLE: Noun = Noun { one: "variable", many: "variables", family: "variables" };

const PREFIX: &str = "RABBITMQ_";
/// A line of such a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Assignment<'a> {
    /// From 1.
    pub line: usize,
    /// Nothing if the line is something else for a shell to do.
    pub name: Option<&'a str>,
    /// Without its quotes.
    pub value: &'a str,
}

/// The lines that mean something.
#[must_use]
pub fn assignments(text: &str) -> Vec<Assignment<'_>> {
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
                let remark = Remark::different("files of variables are not evaluated by a shell", pages::CONFIGURATION);
                let remark = remark.advising("set the result of this line in the environment of the broker");
                sheet.put(VARIABLE, Place::of(source, Some(*line), ""), vec![remark]);
                continue;
            };
            env.push((full_name(name), (*value).to_owned()));
            sheet.put(VARIABLE, Place::of(source, Some(*line), *name), remark(name, value).into_iter().collect());
        }
    }
    env
}

/// RabbitMQ's own file has its variables without their prefix; others keep their names.
#[must_use]
pub fn full_name(name: &str) -> String {
    let prefixed = format!("{PREFIX}{name}");
    if config::variable(&prefixed).is_some() { prefixed } else { name.to_owned() }
}

fn remark(name: &str, value: &str) -> Option<Remark> {
    let full_name = full_name(name);
    if value.is_empty() {
        return None;
    }
    let page = pages::CONFIGURATION;
    match config::variable(&full_name) {
        // The standard output is as good as the standard error.
        Some(Variable::WithoutEffect(_)) if (full_name.as_str(), value) == ("RABBITMQ_LOGS", "-") => None,
        Some(Variable::WithoutEffect(instead)) => {
            Some(Remark::different(format!("the variable {full_name} has no effect"), page).advising(instead))
        }
        Some(Variable::Sets(_) | Variable::Read) => None,
        None if full_name.starts_with(PREFIX) => {
            Some(Remark::different(format!("the variable {full_name} has no effect"), page))
        }
        None => None,
    }
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
    fn what_sets_a_key_is_told_from_what_does_not() {
        let advice = |name, value| remark(name, value).map(|remark| remark.advice);
        assert_eq!(advice("RABBITMQ_NODENAME", "rabbit@a"), None);
        assert_eq!(advice("NODENAME", "rabbit@a"), None);
        assert_eq!(advice("RABBITMQ_LOGS", "-"), None);
        assert_eq!(advice("NODE_PORT", "5673"), None);
        assert_eq!(advice("RABBITMQ_ERLANG_COOKIE", "secret"), None);
        assert_eq!(advice("RABBITMQ_CONFIG_FILE", "/etc/x"), None);
        assert_eq!(advice("MNESIA_BASE", "/x").as_deref(), Some("set warren.data_dir"));
        assert_eq!(advice("RABBITMQ_OF_MY_OWN", "x").as_deref(), Some(""));
        assert_eq!(advice("TZ", "UTC"), None);
    }
}
