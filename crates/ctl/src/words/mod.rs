//! From a command line's words to a command and what it was given.
//!
//! The first word that is no option, or the first two, say which command; the command says in whose grammar the others
//! are read. So options are accepted before the command and after it, as rabbitmqctl and rabbitmqadmin do.

use command_line::{Mistake, Opt, Reader, Style, Word, is_option};

use crate::command::{Argument, Command, Grammar, Need};
use crate::commands::FAMILIES;
use crate::failure::Failure;
use crate::invocation::{Invocation, Values};
use crate::options::{self, ADMIN_OPTIONS, CTL_OPTIONS};

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
    let mut reader = WordReader {
        command: position.command,
        grammar: position.grammar,
        own: Values::new(),
        shared: Values::new(),
        bare: Vec::new(),
    };
    let shared: Vec<_> = options::of(position.grammar).iter().map(|option| option.meaning(Owner::Every)).collect();
    reader.read(&words[..position.at], &shared)?;
    let options: Vec<_> = reader.own_options(words).into_iter().chain(shared).collect();
    reader.read(&words[position.at + position.len..], &options)?;
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

/// Where the command's first word is: behind the options before it. Both grammars agree on which of them have values.
fn command_at(words: &[String]) -> usize {
    let options: Vec<Opt> = CTL_OPTIONS.iter().chain(ADMIN_OPTIONS).copied().collect();
    let bare = Reader::new(&options, Style::Gnu, words).find_map(|word| match word {
        Ok(Word::Bare(_, at)) => Some(at),
        _ => None,
    });
    bare.unwrap_or(words.len())
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

/// Whose an option is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    /// The command's own.
    Command,
    /// That of every command.
    Every,
}

/// Words being sorted into options and arguments.
struct WordReader {
    command: &'static Command,
    grammar: Grammar,
    own: Values,
    shared: Values,
    bare: Vec<String>,
}

impl WordReader {
    /// The options that this command has beside those of every command: in Admin's grammar its arguments, too.
    fn own_options(&self, words: &[String]) -> Vec<Opt<Owner>> {
        let arguments = self.command.arguments.iter().filter(|_| self.grammar == Grammar::Admin).map(|argument| {
            // `--username` is a user that the command is about, unless that one has been said as `user`.
            let aliases = if is_said_by_its_name(words, argument) { &[] } else { argument.aliases };
            Opt::valued(argument.name, "", Owner::Command, "").short(argument.short).also(aliases)
        });
        self.command.options.iter().map(|option| option.meaning(Owner::Command)).chain(arguments).collect()
    }

    fn read(&mut self, words: &[String], options: &[Opt<Owner>]) -> Result<(), Failure> {
        for word in Reader::new(options, Style::Gnu, words) {
            match word {
                Ok(Word::Bare(word, _)) => self.bare.push(word.to_owned()),
                Ok(Word::Option(said)) => self.put(said.option.means, said.option.long, said.value()),
                Err(Mistake::Unknown { .. }) if self.command.takes_anything => {}
                Err(mistake) => return Err(self.misread(&mistake)),
            }
        }
        Ok(())
    }

    fn put(&mut self, owner: Owner, name: &'static str, value: &str) {
        let values = if owner == Owner::Command { &mut self.own } else { &mut self.shared };
        values.entry(name).or_default().push(value.to_owned());
    }

    fn misread(&self, mistake: &Mistake) -> Failure {
        let command = self.command.name;
        Failure::usage(match mistake {
            Mistake::Unknown { word, closest: Some(near) } => {
                format!("{command} has no option {word}, did you mean {near}?")
            }
            Mistake::Unknown { word, closest: None } => {
                format!("{command} has no option {word}, see warren ctl help {command}")
            }
            Mistake::ValueMissing { word, .. } => format!("the option {word} needs a value"),
            Mistake::ValueUnexpected { word, .. } => format!("the option {word} takes no value"),
            Mistake::Ambiguous { .. } => mistake.to_string(),
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
            match self.named(&word) {
                Some((owner, name, value)) => self.put(owner, name, value),
                None => {
                    let name = self.unnamed_argument().ok_or_else(|| self.unnamed(&word))?;
                    self.put(Owner::Command, name, &word);
                }
            }
        }
        Ok(())
    }

    /// `name=value`, with the name of an argument, or of an option that every command takes: `vhost` is either.
    fn named<'w>(&self, word: &'w str) -> Option<(Owner, &'static str, &'w str)> {
        let (name, value) = word.split_once('=')?;
        let name = name.replace('_', "-");
        let is_named = |argument: &&Argument| argument.name == name || argument.aliases.contains(&&*name);
        if let Some(own) = self.command.arguments.iter().find(is_named) {
            return Some((Owner::Command, own.name, value));
        }
        let shared = options::of(self.grammar).iter().find(|option| option.long == name)?;
        Some((Owner::Every, shared.long, value))
    }

    /// Columns, and files, are said without a name.
    fn unnamed_argument(&self) -> Option<&'static str> {
        self.command.arguments.iter().find(|argument| argument.is_bare).map(|argument| argument.name)
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

/// Whether an argument is among the words as `name=` or `--name`.
fn is_said_by_its_name(words: &[String], argument: &Argument) -> bool {
    words.iter().any(|word| {
        let rest = word.strip_prefix("--").unwrap_or(word).strip_prefix(argument.name);
        rest.is_some_and(|rest| rest.starts_with('=') || rest.is_empty() && word.starts_with("--"))
    })
}

#[cfg(test)]
mod tests;
