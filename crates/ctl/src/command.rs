//! What a command is: an entry in the table of all of them.

pub(crate) use command_line::Opt;
use command_line::Takes;

use crate::invocation::Invocation;
use crate::step::StepResult;

/// Whose words a command is said in. They differ in what `-p`, `-s` and `-u` mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Grammar {
    /// `add_user alice secret -p vhost`.
    Ctl,
    /// `declare user name=alice password=secret`, `users declare --name alice --password secret -V vhost`.
    Admin,
}

/// Commands that belong together.
#[derive(Debug)]
pub(crate) struct Family {
    pub(crate) title: &'static str,
    pub(crate) grammar: Grammar,
    pub(crate) commands: &'static [Command],
}

/// One command: its name, what it takes, and how it begins.
#[derive(Debug)]
pub(crate) struct Command {
    /// One word, or two.
    pub(crate) name: &'static str,
    pub(crate) aliases: &'static [&'static str],
    pub(crate) about: &'static str,
    /// In Ctl's grammar they go by their places, in Admin's by their names.
    pub(crate) arguments: &'static [Argument],
    pub(crate) options: &'static [Opt],
    /// What is said before anything is done, with `{name}` for what was given; nothing if empty.
    pub(crate) banner: &'static str,
    /// What is said instead if a flag is given.
    pub(crate) banner_if: Option<(&'static str, &'static str)>,
    /// Whether it may take long, and is waited for unless something else is said.
    pub(crate) is_long: bool,
    /// The argument among whose words a server may be: a URL there is the same as `--url`.
    pub(crate) server_argument: Option<&'static str>,
    /// Whether words that it does not know are no mistake: it is known only to be refused.
    pub(crate) takes_anything: bool,
    pub(crate) start: fn(&Invocation) -> StepResult,
}

impl Command {
    /// A command without aliases, arguments, options and banner.
    pub(crate) const fn new(name: &'static str, about: &'static str, start: fn(&Invocation) -> StepResult) -> Self {
        Command {
            name,
            aliases: &[],
            about,
            arguments: &[],
            options: &[],
            banner: "",
            banner_if: None,
            is_long: false,
            server_argument: None,
            takes_anything: false,
            start,
        }
    }

    pub(crate) const fn taking(self, arguments: &'static [Argument]) -> Self {
        Command { arguments, ..self }
    }

    pub(crate) const fn with(self, options: &'static [Opt]) -> Self {
        Command { options, ..self }
    }

    pub(crate) const fn saying(self, banner: &'static str) -> Self {
        Command { banner, ..self }
    }

    pub(crate) const fn server_in(self, argument: &'static str) -> Self {
        Command { server_argument: Some(argument), ..self }
    }

    pub(crate) const fn long(self) -> Self {
        Command { is_long: true, ..self }
    }

    pub(crate) const fn anything(self) -> Self {
        Command { takes_anything: true, ..self }
    }

    pub(crate) const fn saying_if(self, flag: &'static str, banner: &'static str) -> Self {
        Command { banner_if: Some((flag, banner)), ..self }
    }

    pub(crate) const fn also(self, aliases: &'static [&'static str]) -> Self {
        Command { aliases, ..self }
    }

    /// Its name and its other ones.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.name).chain(self.aliases.iter().copied())
    }
}

/// Whether an argument has to be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    Required,
    Optional,
    /// Any number of them, none included. The last one.
    Repeated,
}

/// What a command is given without an option's name before it (Ctl), or as `name=value` and `--name value` (Admin).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Argument {
    pub(crate) name: &'static str,
    /// Its short option's letter, in Admin's grammar; empty if it has none.
    pub(crate) short: &'static str,
    pub(crate) aliases: &'static [&'static str],
    pub(crate) need: Need,
    /// Whether it may be said without its name in Admin's grammar, too.
    pub(crate) is_bare: bool,
}

impl Argument {
    pub(crate) const fn short(self, short: &'static str) -> Self {
        Argument { short, ..self }
    }

    pub(crate) const fn bare(self) -> Self {
        Argument { is_bare: true, ..self }
    }

    pub(crate) const fn also(self, aliases: &'static [&'static str]) -> Self {
        Argument { aliases, ..self }
    }
}

/// An argument that has to be there.
pub(crate) const fn required(name: &'static str) -> Argument {
    argument(name, Need::Required)
}

/// An argument that may be there.
pub(crate) const fn optional(name: &'static str) -> Argument {
    argument(name, Need::Optional)
}

/// All further arguments.
pub(crate) const fn repeated(name: &'static str) -> Argument {
    argument(name, Need::Repeated).bare()
}

const fn argument(name: &'static str, need: Need) -> Argument {
    Argument { name, short: "", aliases: &[], need, is_bare: false }
}

/// An option with a value.
pub(crate) const fn option(long: &'static str, value: &'static str, about: &'static str) -> Opt {
    Opt::valued(long, value, (), about)
}

/// An option without one.
pub(crate) const fn flag(long: &'static str, about: &'static str) -> Opt {
    Opt::flag(long, (), about)
}

/// An option without one that can be denied: `--dead`, `--dead=false`.
pub(crate) const fn truth(long: &'static str, about: &'static str) -> Opt {
    Opt { takes: Takes::Truth, ..flag(long, about) }
}
