//! Bindings, and the keys by which paths name one of several between the same two ends.

use amqp::limits::SHORT_STR_LEN_MAX;
use amqp::table::TableBuf;
use broker::view::{BindingEndView, BindingFilter, BindingView};
use broker::{BindingEnd, BindingRequest};
use hyper::StatusCode;
use hyper::header::{HeaderValue, LOCATION};
use model::json;
use model::name::{ExchangeName, QueueName};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::exchanges::{arguments, enter, name_of_path, too_long};
use super::refusals;
use crate::answer::Answer;
use crate::call::Call;
use crate::json::Fields;
use crate::listing::{Table, column, paged_list, single, text};
use crate::problem::Problem;
use crate::route::Kind::{Object, Text};
use crate::route::Role::{InVhost, Management};
use crate::route::{AnswerFuture, Field, Operation, PAGED, Route, SINGLE, Shape, at};
use crate::service::Service;

pub(super) static ROUTES: &[Route] = &[
    at("/api/bindings", &[Operation::list(Management, all, "Lists bindings.", BINDINGS).query(PAGED)]),
    at(
        "/api/bindings/{vhost}",
        &[Operation::list(InVhost, of_vhost, "Lists the bindings of a vhost.", BINDINGS).query(PAGED)],
    ),
    at(
        "/api/bindings/{vhost}/e/{source}/{type}/{destination}",
        &[
            Operation::list(InVhost, between, "Lists the bindings between a source and a destination.", BINDINGS)
                .query(PAGED),
            Operation::post(InVhost, bind, "Creates a binding. The header `location` contains its path.", BINDING)
                .answers(Shape::Done),
        ],
    ),
    at(
        "/api/bindings/{vhost}/e/{source}/{type}/{destination}/{props}",
        &[
            Operation::get(InVhost, one, "Returns a binding.", Shape::One(&TABLE)).query(SINGLE),
            Operation::delete(InVhost, unbind, "Deletes a binding."),
        ],
    ),
    at(
        "/api/exchanges/{vhost}/{exchange}/bindings/source",
        &[Operation::list(InVhost, from_exchange, "Lists the bindings from an exchange.", BINDINGS).query(PAGED)],
    ),
    at(
        "/api/exchanges/{vhost}/{exchange}/bindings/destination",
        &[Operation::list(InVhost, to_exchange, "Lists the bindings to an exchange.", BINDINGS).query(PAGED)],
    ),
    at(
        "/api/queues/{vhost}/{queue}/bindings",
        &[Operation::list(InVhost, to_queue, "Lists the bindings to a queue.", BINDINGS).query(PAGED)],
    ),
];

const BINDINGS: Shape = Shape::Many(&TABLE);

const BINDING: &[Field] =
    &[Field::optional("routing_key", Text, "The binding key."), Field::optional("arguments", Object, "The arguments.")];

static TABLE: Table<BindingView, Service> = Table {
    title: "Binding",
    columns: &[
        text("source", |view: &BindingView, _| Some(&view.source)),
        text("vhost", |view, _| Some(view.vhost.as_str())),
        text("destination", |view, _| Some(name_of(&view.destination))),
        text("destination_type", |view, _| Some(kind_of(&view.destination))),
        column("routing_key", Text, |view, _, cell| cell.text(&String::from_utf8_lossy(&view.routing_key))),
        column("arguments", Object, |view, _, cell| {
            cell.value(&Value::Object(json::show_table(view.arguments.as_table())));
        }),
        column("properties_key", Text, |view, _, cell| cell.text(&properties_key(view))),
    ],
    order: |a, b| {
        let by_source = (&a.vhost, &a.source).cmp(&(&b.vhost, &b.source));
        by_source.then_with(|| end_of(a).cmp(&end_of(b))).then_with(|| a.routing_key.cmp(&b.routing_key))
    },
    name: |view| (*view.source).into(),
};

fn name_of(end: &BindingEndView) -> &str {
    match end {
        BindingEndView::Queue(name) | BindingEndView::Exchange(name) => name,
    }
}

fn kind_of(end: &BindingEndView) -> &'static str {
    match end {
        BindingEndView::Queue(_) => "queue",
        BindingEndView::Exchange(_) => "exchange",
    }
}

fn end_of(view: &BindingView) -> (&'static str, &str) {
    (kind_of(&view.destination), name_of(&view.destination))
}

/// What RabbitMQ leaves as it is in a key. `~` has a meaning of its own.
const KEY: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b' ');
/// What stays as it is where a key is part of a path.
const PATH: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// What distinguishes a binding from others between the same ends: its key, and a hash of its arguments if it has any.
fn properties_key(view: &BindingView) -> String {
    key_of(&view.routing_key, &view.arguments)
}

fn key_of(routing_key: &[u8], arguments: &TableBuf) -> String {
    let quoted = quote(routing_key);
    match arguments.is_empty() {
        true if quoted.is_empty() => "~".to_owned(),
        true => quoted,
        false => format!("{quoted}~{}", hash(arguments)),
    }
}

fn quote(key: &[u8]) -> String {
    utf8_percent_encode(&String::from_utf8_lossy(key), KEY).to_string().replace(' ', "+")
}

/// Six characters, as RabbitMQ's are. They need not be the same ones: they are read from a listing.
fn hash(arguments: &TableBuf) -> String {
    use base64::Engine as _;
    let digest = Sha256::digest(arguments.as_table().as_bytes());
    base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(&digest[..4])
}

/// Whether a path means the binding of this key. Clients write keys with one escape more or less.
fn is_meant(given: &str, view: &BindingView) -> bool {
    let own = properties_key(view);
    if given == own {
        return true;
    }
    let (key, hash) = given.split_once('~').map_or((given, None), |(key, hash)| (key, Some(hash)));
    let key: Vec<u8> = percent_decode_str(&key.replace('+', " ")).collect();
    let quoted = quote(&key);
    own == match hash {
        Some(hash) => format!("{quoted}~{hash}"),
        None => quoted,
    }
}

fn answer<I>(call: &Call, views: I) -> Result<AnswerFuture, Problem>
where
    I: IntoIterator<Item = BindingView, IntoIter: Send + 'static>,
{
    paged_list(views, &TABLE, &call.service, &call.query)
}

fn all(call: &Call) -> Result<AnswerFuture, Problem> {
    // Those of one vhost after the other, when it is their turn.
    let (broker, vhosts) = (call.broker().clone(), call.context.vhosts());
    let views = vhosts.into_iter().flat_map(move |vhost| broker.binding_views(vhost.as_str(), BindingFilter::All));
    answer(call, views)
}

/// The bindings in the path's vhost.
fn of(call: &Call, filter: BindingFilter<'_>) -> Vec<BindingView> {
    call.broker().binding_views(call.vhost(), filter)
}

fn of_vhost(call: &Call) -> Result<AnswerFuture, Problem> {
    answer(call, of(call, BindingFilter::All))
}

fn from_exchange(call: &Call) -> Result<AnswerFuture, Problem> {
    let name = name_of_path(call.argument("exchange"))?;
    answer(call, of(call, BindingFilter::Source(&name)))
}

fn to_exchange(call: &Call) -> Result<AnswerFuture, Problem> {
    let name = name_of_path(call.argument("exchange"))?;
    answer(call, of(call, BindingFilter::ToExchange(&name)))
}

fn to_queue(call: &Call) -> Result<AnswerFuture, Problem> {
    let name = super::queues::name_of_path(call)?;
    answer(call, of(call, BindingFilter::ToQueue(&name)))
}

/// Where bindings lead.
enum End {
    Queue(QueueName),
    Exchange(ExchangeName),
}

impl End {
    /// The end that the path names, by `q` or `e` and its name.
    fn of_path(call: &Call) -> Result<End, Problem> {
        let name = call.argument("destination");
        match call.argument("type") {
            "q" => Ok(End::Queue(QueueName::parse(name.as_bytes()).map_err(|_| too_long("queue", name))?)),
            "e" => Ok(End::Exchange(name_of_path(name)?)),
            other => Err(Problem::bad_request(format!("'{other}' is neither 'q' nor 'e'"))),
        }
    }

    fn filter(&self) -> BindingFilter<'_> {
        match self {
            End::Queue(name) => BindingFilter::ToQueue(name),
            End::Exchange(name) => BindingFilter::ToExchange(name),
        }
    }

    fn as_request(&self) -> BindingEnd<'_> {
        match self {
            End::Queue(name) => BindingEnd::Queue(name),
            End::Exchange(name) => BindingEnd::Exchange(name),
        }
    }
}

/// The bindings between the ends that the path names.
fn views_between(call: &Call) -> Result<Vec<BindingView>, Problem> {
    let (source, end) = (name_of_path(call.argument("source"))?, End::of_path(call)?);
    let mut views = of(call, end.filter());
    views.retain(|view| view.source == source.as_str());
    Ok(views)
}

fn between(call: &Call) -> Result<AnswerFuture, Problem> {
    answer(call, views_between(call)?)
}

fn find(call: &Call) -> Result<BindingView, Problem> {
    let props = call.argument("props");
    views_between(call)?.into_iter().find(|view| is_meant(props, view)).ok_or_else(Problem::not_found)
}

fn one(call: &Call) -> Result<Answer, Problem> {
    Ok(single(&find(call)?, &TABLE, &*call.service, &call.query))
}

fn bind(call: &Call) -> Result<Answer, Problem> {
    let (source, end) = (name_of_path(call.argument("source"))?, End::of_path(call)?);
    let body = call.object()?;
    let fields = Fields(&body);
    let routing_key = fields.text("routing_key")?.unwrap_or_default();
    if routing_key.len() > SHORT_STR_LEN_MAX {
        return Err(too_long("routing_key", routing_key));
    }
    let arguments = arguments(fields)?;
    let request = BindingRequest {
        source: &source,
        destination: end.as_request(),
        routing_key: routing_key.as_bytes(),
        arguments: arguments.as_table(),
    };
    let bound = enter(call)?.bind(&request).map_err(|refusal| refusals::of_change(&refusal))?;
    let destination = utf8_percent_encode(call.argument("destination"), PATH).to_string();
    let key = key_of(routing_key.as_bytes(), &arguments);
    let location = format!("{destination}/{}", utf8_percent_encode(&key, PATH));
    let answer = Answer::empty(StatusCode::CREATED).after(&bound);
    Ok(match HeaderValue::from_str(&location) {
        Ok(location) => answer.with(LOCATION, location),
        Err(_) => answer,
    })
}

fn unbind(call: &Call) -> Result<Answer, Problem> {
    let view = find(call)?;
    let (source, end) = (name_of_path(call.argument("source"))?, End::of_path(call)?);
    let request = BindingRequest {
        source: &source,
        destination: end.as_request(),
        routing_key: &view.routing_key,
        arguments: view.arguments.as_table(),
    };
    Ok(Answer::done(&enter(call)?.unbind(&request).map_err(|refusal| refusals::of_change(&refusal))?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use amqp::table::Value;

    #[track_caller]
    fn check_key(routing_key: &str, expected: &str) {
        assert_eq!(key_of(routing_key.as_bytes(), &TableBuf::new()), expected);
    }

    #[test]
    fn keys_are_quoted_as_rabbitmq_quotes_them() {
        check_key("", "~");
        check_key("k", "k");
        check_key("order.#", "order.%23");
        check_key("in.*", "in.%2A");
        check_key("q/ü +", "q%2F%C3%BC+%2B");
        check_key("a b/c~d%e", "a+b%2Fc%7Ed%25e");
        check_key("~", "%7E");
    }

    #[test]
    fn arguments_add_a_hash_of_six_characters() {
        let arguments = TableBuf::new().with("x", Value::I64(1));
        let key = key_of(b"a", &arguments);
        assert_eq!((key.len(), &key[..2]), (8, "a~"));
        assert_ne!(key, key_of(b"a", &TableBuf::new().with("x", Value::I64(2))));
        assert!(key_of(b"", &arguments).starts_with('~'));
    }
}
