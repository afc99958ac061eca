//! What happens to messages, sent while it happens, as lines of JSON. RabbitMQ has nothing like it.

use observe::message_traces::{Filter, LiveLimits, LiveTrace};

use super::request_params::RequestParams as _;
use super::trace::NAMED;
use super::traces::traces;
use crate::answer::Answer;
use crate::call::Call;
use crate::introspection::Introspection;
use crate::listing::Query;
use crate::problem::Problem;
use crate::route::Role::Administrator;
use crate::route::{AnswerFuture, Operation, Parameters, Route, Shape, at};
use crate::watch::{JSON_LINES, OBSERVERS_REFUSAL, Observed};

pub(super) static ROUTES: &[Route] = &[at(
    "/api/trace/messages",
    &[Operation::get(
        Administrator,
        |_| Err(Problem::not_found()),
        "Streams the events of messages, one object per line, until a limit is reached, an alarm starts, or the client closes the \
         stream.",
        Shape::Page(JSON_LINES),
    )
    .later(|call| Box::pin(stream(call)) as AnswerFuture)
    .query(&[
        Parameters::Other("connection", "Only events that this connection causes."),
        Parameters::Other("user", "Only events that this user causes."),
        Parameters::Other("vhost", "Only events in this vhost."),
        Parameters::Other("queue", "Only events in this queue, and messages routed to it."),
        Parameters::Other("exchange", "Only messages that were published to this exchange."),
        Parameters::Other(
            "routing_key",
            "Only messages whose routing key matches this pattern of topic exchanges.",
        ),
        Parameters::Other("message_id", "Only messages with this `message_id`."),
        Parameters::Other("header", "Only messages with this header, as `name=value`. May be given several times."),
        Parameters::Other("sample", "Samples one of this many messages."),
        Parameters::Other("body", "The number of bytes of each body to include. Default: 0."),
        Parameters::Other(
            "rate",
            "The stream ends after more events than this within a second. `none`: no such limit. Default: 10, and `none` if `max` is \
             set.",
        ),
        Parameters::Other("max", "The stream ends after this many events. Default: 1000."),
        NAMED,
    ])
    .strict()
    .refuses(&[("503", OBSERVERS_REFUSAL)])],
)];

/// The most bytes of a body that a live trace shows.
const BODY_LEN_MAX: u64 = 64 << 10;

async fn stream(call: Call) -> Result<Answer, Problem> {
    let (filter, limits) = (filter(&call.query)?, limits(&call.query)?);
    if let Some(vhost) = filter.vhost.as_deref().filter(|vhost| !call.broker().has_vhost(vhost)) {
        return Err(Problem::bad_request(format!("no vhost '{vhost}'")));
    }
    let body_len = call.query.number_in("body", 0..=BODY_LEN_MAX)?.unwrap_or(0);
    let traces = traces(&call)?;
    Ok(Introspection::of(&call).observer()?.answer(traces.watch(filter, body_len, limits)))
}

fn filter(query: &Query) -> Result<Filter, Problem> {
    let mut headers = Vec::new();
    for text in query.all("header") {
        let (name, value) = text
            .split_once('=')
            .ok_or_else(|| Problem::bad_request(format!("'header' must be name=value, not '{text}'")))?;
        headers.push((name.to_owned(), value.to_owned()));
    }
    let sample = query.number_in("sample", 1..=u32::MAX.into())?.unwrap_or(1);
    Ok(Filter {
        connection: query.text("connection")?,
        user: query.text("user")?,
        vhost: query.text("vhost")?,
        queue: query.text("queue")?,
        exchange: query.text("exchange")?,
        routing_key: query.text("routing_key")?,
        message_id: query.text("message_id")?,
        headers,
        sample: u32::try_from(sample).unwrap_or(u32::MAX),
    })
}

fn limits(query: &Query) -> Result<LiveLimits, Problem> {
    let (default, most) = (LiveLimits::default(), LiveLimits::MAX);
    let rate_max_per_s = match (query.get("rate"), default.rate_max_per_s, most.rate_max_per_s) {
        (Some("none"), ..) => None,
        // A number of events is a limit of its own: as many are sent, however fast they come.
        (None, ..) if query.get("max").is_some() => None,
        (_, Some(default), Some(most)) => Some(query.number_in("rate", 1..=most)?.unwrap_or(default)),
        (_, default, _) => default,
    };
    let count_max = query.number_in("max", 1..=most.count_max)?.unwrap_or(default.count_max);
    Ok(LiveLimits { rate_max_per_s, count_max })
}

impl Observed for LiveTrace {
    async fn next(&mut self) -> Option<Vec<u8>> {
        LiveTrace::next(self).await
    }

    async fn end(self, reason: &str) -> Vec<u8> {
        LiveTrace::end(self, reason)
    }
}
