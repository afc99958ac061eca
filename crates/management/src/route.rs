//! What a route is: a path, and for each method who may call it, what answers, and what the description of the API says.

use std::future::Future;
use std::pin::Pin;

use hyper::Method;

use crate::answer::Answer;
use crate::call::Call;
use crate::problem::Problem;

/// A path and what can be done there.
pub(crate) struct Route {
    /// The path below the prefix, with `{name}` for a segment that is an argument.
    pub(crate) path: &'static str,
    /// One for each method.
    pub(crate) operations: &'static [Operation],
}

/// What one method does.
pub(crate) struct Operation {
    pub(crate) method: Verb,
    /// The users who may call it.
    pub(crate) role: Role,
    pub(crate) handler: Handler,
    /// One sentence.
    pub(crate) summary: &'static str,
    /// Query parameters that it understands.
    pub(crate) query: &'static [Parameters],
    /// The members of the JSON object that it takes; empty where it takes no body.
    pub(crate) body: &'static [Field],
    /// Whether it refuses what it does not know, in the query and in the body. RabbitMQ's operations ignore it; where a misspelt
    /// filter would mean all messages, that is no good.
    pub(crate) is_strict: bool,
    /// Whether it takes as long as was asked for, so that one that takes long is not slow.
    pub(crate) is_as_long_as_asked: bool,
    pub(crate) answer: Shape,
    /// Statuses that only this operation has, and what each means.
    pub(crate) refusals: &'static [(&'static str, &'static str)],
}

/// A route.
pub(crate) const fn at(path: &'static str, operations: &'static [Operation]) -> Route {
    Route { path, operations }
}

/// What answers at once.
pub(crate) type AnswerFn = fn(&Call) -> Result<Answer, Problem>;

/// What finds at once what is listed, and sorts it later.
pub(crate) type ListFn = fn(&Call) -> Result<AnswerFuture, Problem>;

fn nothing(_: &Call) -> Result<Answer, Problem> {
    Err(Problem::not_found())
}

impl Operation {
    /// Asks for something.
    pub(crate) const fn get(role: Role, handler: AnswerFn, summary: &'static str, answer: Shape) -> Operation {
        Self::of(Verb::Get, role, handler, summary, answer)
    }

    /// Asks for a list.
    pub(crate) const fn list(role: Role, handler: ListFn, summary: &'static str, answer: Shape) -> Operation {
        Operation { handler: Handler::List(handler), ..Self::get(role, nothing, summary, answer) }
    }

    /// Makes something, or changes it.
    pub(crate) const fn put(role: Role, handler: AnswerFn, summary: &'static str, body: &'static [Field]) -> Operation {
        Operation { body, ..Self::of(Verb::Put, role, handler, summary, Shape::Done) }
    }

    /// Does something.
    pub(crate) const fn post(
        role: Role,
        handler: AnswerFn,
        summary: &'static str,
        body: &'static [Field],
    ) -> Operation {
        Operation { body, ..Self::of(Verb::Post, role, handler, summary, Shape::NoContent) }
    }

    /// Removes something.
    pub(crate) const fn delete(role: Role, handler: AnswerFn, summary: &'static str) -> Operation {
        Self::of(Verb::Delete, role, handler, summary, Shape::NoContent)
    }

    const fn of(method: Verb, role: Role, handler: AnswerFn, summary: &'static str, answer: Shape) -> Operation {
        Operation {
            method,
            role,
            handler: Handler::Immediate(handler),
            summary,
            query: &[],
            body: &[],
            is_strict: false,
            is_as_long_as_asked: false,
            answer,
            refusals: &[],
        }
    }

    /// With these query parameters.
    pub(crate) const fn query(self, query: &'static [Parameters]) -> Operation {
        Operation { query, ..self }
    }

    /// Refusing what it does not know.
    pub(crate) const fn strict(self) -> Operation {
        Operation { is_strict: true, ..self }
    }

    /// Taking as long as was asked for.
    pub(crate) const fn lasting_as_asked(self) -> Operation {
        Operation { is_as_long_as_asked: true, ..self }
    }

    /// With another answer than this method usually has.
    pub(crate) const fn answers(self, answer: Shape) -> Operation {
        Operation { answer, ..self }
    }

    /// With these statuses beside those that all have.
    pub(crate) const fn refuses(self, refusals: &'static [(&'static str, &'static str)]) -> Operation {
        Operation { refusals, ..self }
    }

    /// Answered by what has to wait for something.
    pub(crate) const fn later(self, handler: fn(Call) -> AnswerFuture) -> Operation {
        Operation { handler: Handler::Deferred(handler), ..self }
    }

    /// An order to the node.
    pub(crate) const fn ordered(self, handler: fn(Call) -> Result<AnswerFuture, Problem>) -> Operation {
        Operation { handler: Handler::Ordered(handler), ..self }
    }
}

/// How requests without a valid login are answered.
pub(crate) const LOGIN_REFUSED: &[(&str, &str)] =
    &[("401", "The login is missing or invalid, or the user may not do this.")];
/// What listings understand that have no pages.
pub(crate) const LIST: &[Parameters] = &[Parameters::Columns, Parameters::Sort];
/// What listings understand that have pages.
pub(crate) const PAGED: &[Parameters] = &[Parameters::Columns, Parameters::Sort, Parameters::Page];
/// What listings of things with statistics understand.
pub(crate) const COUNTED: &[Parameters] = &[Parameters::Columns, Parameters::Sort, Parameters::Page, Parameters::Stats];
/// What single objects understand.
pub(crate) const SINGLE: &[Parameters] = &[Parameters::Columns];

/// A method that routes have. `HEAD` and `OPTIONS` follow from these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verb {
    Get,
    Post,
    Put,
    Delete,
}

impl Verb {
    /// The verb of a request's method; `HEAD` asks for what `GET` answers.
    pub(crate) fn of(method: &Method) -> Option<Verb> {
        match *method {
            Method::GET | Method::HEAD => Some(Verb::Get),
            Method::POST => Some(Verb::Post),
            Method::PUT => Some(Verb::Put),
            Method::DELETE => Some(Verb::Delete),
            _ => None,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Verb::Get => "GET",
            Verb::Post => "POST",
            Verb::Put => "PUT",
            Verb::Delete => "DELETE",
        }
    }
}

/// The users who may call an operation. Each includes those after it, as RabbitMQ's tags do; monitoring and policymaker are apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// All clients, without logging in.
    Public,
    /// All clients where the configuration allows that, else users who may use the API at all.
    Configured,
    /// Users who may use the API at all.
    Management,
    /// Users who may use the API and enter the vhost of the path.
    InVhost,
    /// Users who may make policies.
    Policymaker,
    /// Users who may make policies and enter the vhost of the path.
    PolicymakerInVhost,
    /// Users who may see everything, or may use the API and enter the vhost of the path.
    MonitoringOrInVhost,
    /// Users who may see everything.
    Monitoring,
    /// Users who may see everything, where RabbitMQ refuses others as for an object that is not theirs.
    MonitoringOfObject,
    /// Users who may do everything.
    Administrator,
    /// Users who may do everything and enter the vhost of the path.
    AdministratorInVhost,
}

/// What answers.
pub(crate) enum Handler {
    /// At once.
    Immediate(AnswerFn),
    /// At once what is listed, and a part of its sorting after the other later.
    List(ListFn),
    /// When something else has happened.
    Deferred(fn(Call) -> AnswerFuture),
    /// By the node, which may stop its broker meanwhile: the answer to come holds nothing of that.
    Ordered(fn(Call) -> Result<AnswerFuture, Problem>),
}

/// An answer to come.
pub(crate) type AnswerFuture = Pin<Box<dyn Future<Output = Result<Answer, Problem>> + Send>>;

/// Query parameters that belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Parameters {
    /// `columns`.
    Columns,
    /// `sort` and `sort_reverse`.
    Sort,
    /// `page`, `page_size`, `name` and `use_regex`.
    Page,
    /// `disable_stats` and `enable_queue_totals`.
    Stats,
    /// Any other: its name and what it does.
    Other(&'static str, &'static str),
}

impl Parameters {
    /// Their names.
    pub(crate) fn names(self) -> impl Iterator<Item = &'static str> {
        let (one, others): (_, &[_]) = match self {
            Parameters::Columns => (Some("columns"), &[]),
            Parameters::Sort => (None, &["sort", "sort_reverse"]),
            Parameters::Page => (None, &["page", "page_size", "name", "use_regex"]),
            Parameters::Stats => (None, &["disable_stats", "enable_queue_totals"]),
            Parameters::Other(name, _) => (Some(name), &[]),
        };
        one.into_iter().chain(others.iter().copied())
    }
}

/// A member of a JSON object.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) is_required: bool,
    pub(crate) text: &'static str,
}

impl Field {
    pub(crate) const fn required(name: &'static str, kind: Kind, text: &'static str) -> Field {
        Field { name, kind, is_required: true, text }
    }

    pub(crate) const fn optional(name: &'static str, kind: Kind, text: &'static str) -> Field {
        Field { name, kind, is_required: false, text }
    }
}

/// The type of a JSON value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Integer,
    Number,
    Boolean,
    Object,
    List,
    Any,
}

/// What a successful answer is.
pub(crate) enum Shape {
    /// Nothing: 201 when something is new, else 204.
    Done,
    /// Nothing: 204.
    NoContent,
    /// One object of a kind.
    One(&'static dyn ObjectSchema),
    /// A list of objects of a kind; a page of it if one is asked for.
    Many(&'static dyn ObjectSchema),
    /// An object with these members.
    Object(&'static [Field]),
    /// What a health check found: an object with these members, as 200 or 503.
    Check(&'static [Field]),
    /// A list of whatever.
    List,
    /// A JSON string.
    Text,
    /// A text that is no JSON.
    Page(&'static str),
}

/// A kind of object whose members are known.
pub(crate) trait ObjectSchema: Sync {
    /// What one is called.
    fn title(&self) -> &'static str;
    /// The members.
    fn members(&self) -> Vec<(&'static str, Kind)>;
}
