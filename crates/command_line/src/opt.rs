//! A row of a table of options.

/// What may follow an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// Nothing but its truth: with `=false` it is as if it had not been said.
    Nothing,
    /// Nothing but its truth, which is its value: `=false` says something else than its absence.
    Truth,
    /// One value.
    One,
    /// One value or none.
    Perhaps,
    /// One value or more.
    Many,
}

/// An option, and what it means to the program.
#[derive(Clone, Copy, Debug)]
pub struct Opt<M = ()> {
    /// Behind one dash; empty if there is none. More than one letter only in [`Style::CommonsCli`](crate::Style).
    pub short: &'static str,
    /// Behind two dashes.
    pub long: &'static str,
    /// Its other names; those of one letter have one dash.
    pub aliases: &'static [&'static str],
    /// What may follow.
    pub takes: Takes,
    /// What its value is called.
    pub value: &'static str,
    /// Its value if it is not said; empty if that is nothing worth saying.
    pub default: &'static str,
    /// What it is for.
    pub about: &'static str,
    /// Whether it was added to others' options: where long names may be cut, it changes nothing for theirs.
    pub is_added: bool,
    /// What the program makes of it.
    pub means: M,
}

impl<M: Copy> Opt<M> {
    /// An option with a value.
    pub const fn valued(long: &'static str, value: &'static str, means: M, about: &'static str) -> Self {
        Opt { takes: Takes::One, value, ..Opt::flag(long, means, about) }
    }

    /// An option without one.
    pub const fn flag(long: &'static str, means: M, about: &'static str) -> Self {
        Opt {
            short: "",
            long,
            aliases: &[],
            takes: Takes::Nothing,
            value: "",
            default: "",
            about,
            is_added: false,
            means,
        }
    }

    /// With a short name.
    #[must_use]
    pub const fn short(self, short: &'static str) -> Self {
        Opt { short, ..self }
    }

    /// With other names.
    #[must_use]
    pub const fn also(self, aliases: &'static [&'static str]) -> Self {
        Opt { aliases, ..self }
    }

    /// With a value that it has if it is not said.
    #[must_use]
    pub const fn or(self, default: &'static str) -> Self {
        Opt { default, ..self }
    }

    /// The same option, meaning something else.
    pub const fn meaning<N>(self, means: N) -> Opt<N> {
        let Opt { short, long, aliases, takes, value, default, about, is_added, .. } = self;
        Opt { short, long, aliases, takes, value, default, about, is_added, means }
    }
}

impl<M> Opt<M> {
    /// As it is written in messages: `--port`.
    #[must_use]
    pub fn name(&self) -> String {
        format!("--{}", self.long)
    }

    /// Whether a value may follow.
    #[must_use]
    pub const fn takes_value(&self) -> bool {
        !matches!(self.takes, Takes::Nothing | Takes::Truth)
    }

    /// Its names as a list in help has them, with what follows.
    #[must_use]
    pub fn names(&self) -> String {
        let dashed = if self.short.is_empty() { "      ".to_owned() } else { format!("  -{}, ", self.short) };
        format!("{dashed}{}", self.usage())
    }

    /// Its long name in help, with what follows.
    #[must_use]
    pub fn usage(&self) -> String {
        let (long, value) = (self.long, self.value);
        match self.takes {
            Takes::Nothing => format!("--{long}"),
            Takes::Truth => format!("--{long}[=false]"),
            Takes::One | Takes::Many => format!("--{long} {value}").trim_end().to_owned(),
            Takes::Perhaps => format!("--{long} [{value}]"),
        }
    }

    /// What it is for, and its default.
    #[must_use]
    pub fn description(&self) -> String {
        match self.default {
            default if !default.is_empty() && self.takes_value() => format!("{} (default: {default})", self.about),
            _ => self.about.to_owned(),
        }
    }

    pub(crate) fn is_long(&self, name: &str) -> bool {
        // A name of one letter has one dash.
        self.long == name || name.chars().nth(1).is_some() && self.aliases.contains(&name)
    }

    pub(crate) fn is_short(&self, name: &str) -> bool {
        !name.is_empty() && (self.short == name || name.chars().nth(1).is_none() && self.aliases.contains(&name))
    }
}
