//! From a command line's words to a command and what it was given.
//!
//! The first word that is no option, or the first two, say which command; the command says in whose grammar the others
//! are read. So options are accepted before the command and after it, as rabbitmqctl and rabbitmqadmin do.

use crate::command::{Argument, Command, Grammar, Need, Opt};
use crate::commands::FAMILIES;
use crate::failure::Failure;
use crate::invocation::{Invocation, Values};
use crate::options::{ADMIN_OPTIONS, CTL_OPTIONS};

/// What was said.
#[derive(Debug)]
pub(crate) struct ParsedWords {
    pub(crate) input: Invocation,
    /// The command is not to be done but explained.
    pub(crate) wants_help: bool,
}

/// The words of a program whose commands are those of a group here: `rabbitmq-plugins -q list` is `-q plugins list`.
pub(crate) fn in_group(group: &str, words: &[String]) -> Vec<String> {
    let at = command_at(words);
    let is_of_group = words.get(at).is_some_and(|word| command_named(&format!("{group} {word}")).is_some());
    let mut words = words.to_vec();
    if is_of_group {
        words.insert(at, group.to_owned());
    }
    words
}

/// Reads the words after `warren ctl`; there has to be one.
pub(crate) fn parse(words: &[String]) -> Result<ParsedWords, Failure> {
    let position = find_command(words)?;
    if let Some(asked) = help_in_a_group(words, &position) {
        return parse(&asked);
    }
    let options = match position.grammar {
        Grammar::Ctl => CTL_OPTIONS,
        Grammar::Admin => ADMIN_OPTIONS,
    };
    let mut reader = WordReader {
        words,
        command: position.command,
        grammar: position.grammar,
        options,
        own: Values::new(),
        shared: Values::new(),
        bare: Vec::new(),
    };
    reader.read(&words[..position.at], false)?;
    reader.read(&words[position.at + position.len..], true)?;
    let wants_help = reader.shared.contains_key("help");
    if !wants_help {
        reader.position()?;
        reader.take_server()?;
    }
    let input =
        Invocation { command: position.command, grammar: position.grammar, own: reader.own, shared: reader.shared };
    Ok(ParsedWords { input, wants_help })
}

/// Every command with its grammar.
pub(crate) fn commands() -> impl Iterator<Item = (Grammar, &'static Command)> {
    FAMILIES.iter().flat_map(|family| family.commands.iter().map(|command| (family.grammar, command)))
}

/// The command of that name.
pub(crate) fn command_named(name: &str) -> Option<(Grammar, &'static Command)> {
    commands().find(|(_, command)| command.names().any(|known| known == name))
}

/// Where a command stands.
#[derive(Debug)]
struct CommandPosition {
    grammar: Grammar,
    command: &'static Command,
    at: usize,
    len: usize,
}

/// Where the command's first word is: behind the options before it.
fn command_at(words: &[String]) -> usize {
    let mut at = 0;
    while let Some(word) = words.get(at) {
        if !is_option(word) {
            break;
        }
        // Both grammars agree on which options have values.
        let options = || CTL_OPTIONS.iter().chain(ADMIN_OPTIONS);
        at += match split_option(word) {
            (OptionName::Long(name), None)
                if options().any(|option| is_long(option, &name) && option.value.is_some()) =>
            {
                2
            }
            (OptionName::Short(letter), None)
                if options().any(|option| option.short == Some(letter) && option.value.is_some()) =>
            {
                2
            }
            _ => 1,
        };
    }
    at
}

fn find_command(words: &[String]) -> Result<CommandPosition, Failure> {
    let at = command_at(words);
    let Some(first) = words.get(at) else {
        return Err(Failure::usage("no command, see warren ctl help"));
    };
    if let Some(second) = words.get(at + 1).filter(|second| !is_option(second)) {
        let both = format!("{first} {second}");
        if let Some((grammar, command)) = command_named(&both) {
            return Ok(CommandPosition { grammar, command, at, len: 2 });
        }
    }
    // `queues help declare`
    let name = if words.get(at + 1).is_some_and(|second| second == "help") && is_group(first) { "help" } else { first };
    if let Some((grammar, command)) = command_named(name) {
        return Ok(CommandPosition { grammar, command, at, len: 1 });
    }
    Err(unknown_command(first, words.get(at + 1)))
}

/// Whether commands of two words begin with this one.
fn is_group(first: &str) -> bool {
    commands().flat_map(|(_, command)| command.names()).any(|name| is_of_group(name, first))
}

fn is_of_group(name: &str, group: &str) -> bool {
    name.split_once(' ').is_some_and(|(first, _)| first == group)
}

/// `queues help declare` is `help queues declare`.
fn help_in_a_group(words: &[String], position: &CommandPosition) -> Option<Vec<String>> {
    let group = words.get(position.at)?;
    if position.command.name != "help" || group == "help" {
        return None;
    }
    let of_command = words.get(position.at + 2).filter(|word| !is_option(word));
    Some(["help", group].into_iter().chain(of_command.map(String::as_str)).map(str::to_owned).collect())
}

fn unknown_command(first: &str, second: Option<&String>) -> Failure {
    let names: Vec<&str> = commands().flat_map(|(_, command)| command.names()).collect();
    let begins_a_command = |name: &&str| is_of_group(name, first);
    if names.iter().any(&begins_a_command) {
        let objects = names.iter().filter(|name| begins_a_command(name)).filter_map(|name| name.split_once(' '));
        let objects: Vec<&str> = objects.map(|(_, object)| object).collect();
        return Failure::usage(match second {
            None => format!("{first} needs one of {}", objects.join(", ")),
            Some(second) => match human::closest(second, objects.iter().copied()) {
                Some(object) => format!("unknown command '{first} {second}', did you mean '{first} {object}'?"),
                None => format!("unknown command '{first} {second}': one of {}", objects.join(", ")),
            },
        });
    }
    Failure::usage(match human::closest(first, names) {
        Some(name) => format!("unknown command '{first}', did you mean '{name}'?"),
        None => format!("unknown command '{first}', see warren ctl help"),
    })
}

/// Words being sorted into options and arguments.
struct WordReader<'a> {
    /// All of them, those before the command too.
    words: &'a [String],
    command: &'static Command,
    grammar: Grammar,
    options: &'static [Opt],
    own: Values,
    shared: Values,
    bare: Vec<String>,
}

impl WordReader<'_> {
    /// Reads words; those before the command can only be options of all commands.
    fn read(&mut self, words: &[String], is_after_command: bool) -> Result<(), Failure> {
        let mut words = words.iter();
        let mut are_options_over = false;
        while let Some(word) = words.next() {
            if are_options_over || !is_option(word) {
                self.bare.push(word.clone());
                continue;
            }
            if word == "--" {
                are_options_over = true;
                continue;
            }
            let (name, mut value) = split_option(word);
            let Some(known) = self.known(&name, is_after_command) else {
                if self.command.takes_anything {
                    continue;
                }
                return Err(self.unknown(word, &name));
            };
            let has_value = known.has_value;
            // `-pvhost` has its value with it; `-qs` is two flags.
            if let (OptionName::Short(_), false, Some(others)) = (&name, has_value, &value) {
                let others: Vec<String> = others.chars().map(|letter| format!("-{letter}")).collect();
                self.put(&known, String::new());
                self.read(&others, is_after_command)?;
                continue;
            }
            if has_value && value.is_none() {
                value = Some(
                    words.next().ok_or_else(|| Failure::usage(format!("the option {word} needs a value")))?.clone(),
                );
            }
            let value = match (has_value, value) {
                (false, None) if known.is_truth => "true".to_owned(),
                (false, None) => String::new(),
                // A flag of rabbitmqctl may be said with its truth.
                (false, Some(value)) if known.is_truth && ["true", "false"].contains(&&*value) => value,
                (false, Some(value)) if value == "true" => String::new(),
                (false, Some(value)) if value == "false" => continue,
                (false, Some(_)) => return Err(Failure::usage(format!("the option {word} takes no value"))),
                (true, value) => value.unwrap_or_default(),
            };
            self.put(&known, value);
        }
        Ok(())
    }

    fn put(&mut self, known: &OptionSpec, value: String) {
        let values = if known.is_own { &mut self.own } else { &mut self.shared };
        values.entry(known.key).or_default().push(value);
    }

    fn known(&self, name: &OptionName, is_after_command: bool) -> Option<OptionSpec> {
        let fits = |option: &&Opt| match name {
            OptionName::Long(long) => is_long(option, long),
            OptionName::Short(letter) => option.short == Some(*letter),
        };
        let own = self.command.options.iter().filter(|_| is_after_command).find(fits);
        if let Some(option) = own {
            return Some(OptionSpec::of(option, true));
        }
        if self.grammar == Grammar::Admin && is_after_command {
            let fits = |argument: &&Argument| match name {
                OptionName::Long(long) => is_argument(argument, long),
                OptionName::Short(letter) => argument.short == Some(*letter),
            };
            let own = self.command.arguments.iter().find(fits);
            // `--username` is a user that the command is about, unless that one has been said as `user`.
            let is_alias = |argument: &Argument| matches!(name, OptionName::Long(long) if argument.name != long);
            if let Some(argument) = own.filter(|own| !(is_alias(own) && self.is_said_by_its_name(own))) {
                return Some(OptionSpec::valued(argument.name, true));
            }
        }
        // As rabbitmqadmin has it.
        let is_help = |option: &&Opt| option.long == "help" && matches!(name, OptionName::Short('h'));
        let option = self.options.iter().find(fits).or_else(|| self.options.iter().find(is_help))?;
        Some(OptionSpec::of(option, false))
    }

    fn is_said_by_its_name(&self, argument: &Argument) -> bool {
        self.words.iter().any(|word| {
            let rest = word.strip_prefix("--").unwrap_or(word).strip_prefix(argument.name);
            rest.is_some_and(|rest| rest.starts_with('=') || rest.is_empty() && word.starts_with("--"))
        })
    }

    fn unknown(&self, word: &str, name: &OptionName) -> Failure {
        let known = self.command.options.iter().chain(self.options).map(|option| option.long);
        let arguments = self.command.arguments.iter().map(|argument| argument.name);
        let known = known.chain(arguments.filter(|_| self.grammar == Grammar::Admin));
        let near = match name {
            OptionName::Long(long) => human::closest(long, known),
            OptionName::Short(_) => None,
        };
        Failure::usage(match near {
            Some(near) => format!("{} has no option {word}, did you mean --{near}?", self.command.name),
            None => format!("{} has no option {word}, see warren ctl help {}", self.command.name, self.command.name),
        })
    }

    /// Gives bare words the names of the arguments that they are.
    fn position(&mut self) -> Result<(), Failure> {
        let bare = std::mem::take(&mut self.bare);
        match self.grammar {
            Grammar::Ctl => self.place_by_order(bare)?,
            Grammar::Admin => self.place_by_name(bare)?,
        }
        let missing = |argument: &&Argument| argument.need == Need::Required && !self.own.contains_key(argument.name);
        match self.command.arguments.iter().find(missing) {
            None => Ok(()),
            Some(argument) => Err(Failure::usage(format!(
                "{} needs {}: warren ctl {}",
                self.command.name,
                argument.name,
                crate::help::synopsis(self.grammar, self.command)
            ))),
        }
    }

    /// A URL among the words of an argument is the server.
    fn take_server(&mut self) -> Result<(), Failure> {
        let Some(words) = self.command.server_argument.and_then(|name| self.own.get_mut(name)) else { return Ok(()) };
        let is_server = |word: &str| ["http://", "https://", "unix:"].iter().any(|start| word.starts_with(start));
        let mut servers = words.extract_if(.., |word| is_server(word));
        let Some(server) = servers.next() else { return Ok(()) };
        if servers.next().is_some() {
            return Err(Failure::usage(format!("{} accepts one URL at a time", self.command.name)));
        }
        self.shared.entry("url").or_default().push(server);
        Ok(())
    }

    fn place_by_order(&mut self, bare: Vec<String>) -> Result<(), Failure> {
        let mut arguments = self.command.arguments.iter().peekable();
        for word in bare {
            let Some(argument) = arguments.peek() else {
                return Err(Failure::usage(format!(
                    "unexpected argument '{word}' of {}: warren ctl {}",
                    self.command.name,
                    crate::help::synopsis(self.grammar, self.command)
                )));
            };
            self.own.entry(argument.name).or_default().push(word);
            if argument.need != Need::Repeated {
                arguments.next();
            }
        }
        Ok(())
    }

    fn place_by_name(&mut self, bare: Vec<String>) -> Result<(), Failure> {
        for word in bare {
            let (known, value) = match self.named(&word) {
                Some(named) => named,
                None => (self.unnamed_argument().ok_or_else(|| self.unnamed(&word))?, word),
            };
            self.put(&known, value);
        }
        Ok(())
    }

    /// `name=value`, with the name of an argument, or of an option that every command takes: `vhost` is either.
    fn named(&self, word: &str) -> Option<(OptionSpec, String)> {
        let (name, value) = word.split_once('=')?;
        let name = name.replace('_', "-");
        let own =
            self.command.arguments.iter().find(|argument| is_argument(argument, &name)).map(|argument| argument.name);
        let shared = || self.options.iter().find(|option| option.long == name).map(|option| option.long);
        let known = OptionSpec::valued(own.or_else(shared)?, own.is_some());
        Some((known, value.to_owned()))
    }

    /// Columns, and files, are said without a name.
    fn unnamed_argument(&self) -> Option<OptionSpec> {
        let argument = self.command.arguments.iter().find(|argument| argument.is_bare)?;
        Some(OptionSpec::valued(argument.name, true))
    }

    fn unnamed(&self, word: &str) -> Failure {
        let names = || self.command.arguments.iter().map(|argument| argument.name);
        let Some((name, _)) = word.split_once('=') else {
            return Failure::usage(format!("'{word}' is not name=value, as {} requires", self.command.name));
        };
        Failure::usage(match human::closest(&name.replace('_', "-"), names()) {
            Some(near) => format!("{} has no '{name}', did you mean '{near}'?", self.command.name),
            None => {
                format!("{} has no '{name}': one of {}", self.command.name, names().collect::<Vec<_>>().join(", "))
            }
        })
    }
}

/// An option that there is.
struct OptionSpec {
    key: &'static str,
    has_value: bool,
    /// A flag that may be denied.
    is_truth: bool,
    /// The command's own, and not that of all commands.
    is_own: bool,
}

impl OptionSpec {
    fn of(option: &Opt, is_own: bool) -> Self {
        OptionSpec { key: option.long, has_value: option.value.is_some(), is_truth: option.is_truth, is_own }
    }

    fn valued(key: &'static str, is_own: bool) -> Self {
        OptionSpec { key, has_value: true, is_truth: false, is_own }
    }
}

enum OptionName {
    Long(String),
    Short(char),
}

/// A dash alone is a file.
fn is_option(word: &str) -> bool {
    word.starts_with('-') && word != "-"
}

/// An option's name, and its value if that is in the same word.
fn split_option(word: &str) -> (OptionName, Option<String>) {
    match word.strip_prefix("--") {
        Some(long) => match long.split_once('=') {
            Some((name, value)) => (OptionName::Long(name.replace('_', "-")), Some(value.to_owned())),
            None => (OptionName::Long(long.replace('_', "-")), None),
        },
        None => {
            let mut letters = word[1..].chars();
            let letter = letters.next().unwrap_or_default();
            let rest = letters.as_str();
            let rest = rest.strip_prefix('=').unwrap_or(rest);
            (OptionName::Short(letter), (!rest.is_empty()).then(|| rest.to_owned()))
        }
    }
}

fn is_argument(argument: &Argument, name: &str) -> bool {
    argument.name == name || argument.aliases.contains(&name)
}

fn is_long(option: &Opt, name: &str) -> bool {
    option.long == name || option.aliases.contains(&name)
}

#[cfg(test)]
mod tests;
