//! What is handed in, read as far as it can be before anything is known of the rest.

use definitions::Document;

use crate::environment::{self, Assignment};
use crate::kind::{self, Kind};
use crate::plugins::{self, EnabledPlugin};
use crate::running::{AnswerTexts, Answers};
use crate::terms::{self, Node, Term};

/// A file, or the answers of a broker.
#[derive(Debug, Clone)]
pub struct Input {
    /// How it is called: a path, an address.
    pub name: String,
    /// What is in it.
    pub bytes: Vec<u8>,
    /// What it is, if that is said.
    pub kind: Option<Kind>,
}

/// Why nothing can be said: an input that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name}: {reason}")]
pub struct Unreadable {
    /// Which.
    pub name: String,
    /// Why.
    pub reason: String,
}

/// An input that has been read.
#[derive(Debug)]
pub(crate) struct Read<'a> {
    pub(crate) name: &'a str,
    pub(crate) kind: Kind,
    pub(crate) content: Content<'a>,
}

/// What is in it.
#[derive(Debug)]
pub(crate) enum Content<'a> {
    /// `rabbitmq.conf`, which `model` reads.
    Configuration(&'a str),
    Classic(Node),
    Plugins(Vec<EnabledPlugin>),
    Environment(Vec<Assignment<'a>>),
    Definitions(Document<'a>),
    Running(Answers<'a>),
}

impl<'a> Read<'a> {
    /// What a broker has answered.
    pub(crate) fn of_asked(asked: &'a AnswerTexts) -> Result<Read<'a>, Unreadable> {
        let name = &*asked.name;
        let unreadable = |error| Unreadable { name: name.to_owned(), reason: format!("invalid JSON: {error}") };
        let answers = Answers::of_asked(asked).map_err(unreadable)?;
        Ok(Read { name, kind: Kind::Broker, content: Content::Running(answers) })
    }

    pub(crate) fn of(input: &'a Input) -> Result<Read<'a>, Unreadable> {
        let name = &*input.name;
        let unreadable = |reason: String| Unreadable { name: name.to_owned(), reason };
        let text = std::str::from_utf8(&input.bytes).map_err(|_| unreadable("not a text file".to_owned()))?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let kind = match input.kind.or_else(|| kind::of(name, text)) {
            Some(kind) => kind,
            None => {
                let kinds = Kind::ALL.map(Kind::name).join(", ");
                let reason = format!("unknown kind of file; set its kind with --kind: {kinds}");
                return Err(unreadable(reason));
            }
        };
        let terms = || terms::parse(text).map_err(|error| unreadable(error.to_string()));
        let no_json = |error: serde_json::Error| unreadable(format!("invalid JSON: {error}"));
        let no_object = || unreadable("the JSON document is not an object".to_owned());
        let content = match kind {
            Kind::Configuration => Content::Configuration(text),
            Kind::Classic if terms::is_blank(text) => Content::Classic(Node { line: 1, term: Term::List(Vec::new()) }),
            Kind::Classic => Content::Classic(terms()?),
            Kind::Plugins => Content::Plugins(plugins::listed(&terms()?).map_err(unreadable)?),
            Kind::Environment => Content::Environment(environment::assignments(text)),
            Kind::Definitions => Content::Definitions(Document::of(text).map_err(no_json)?.ok_or_else(no_object)?),
            Kind::Broker => Content::Running(Answers::of(text).map_err(no_json)?.ok_or_else(no_object)?),
        };
        Ok(Read { name, kind, content })
    }
}
