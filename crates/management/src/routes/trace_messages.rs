//! What happens to messages, told while it happens, as lines of JSON. RabbitMQ has nothing like it.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_server::Source;
use observe::message_traces::{Filter, LiveLimits, LivePiece, LiveTrace, TRACE_COUNT_MAX};
use tokio::sync::watch;

use super::request_params::RequestParams as _;
use super::traces::traces;
use crate::answer::Answer;
use crate::call::Call;
use crate::listing::Query;
use crate::problem::Problem;
use crate::route::Role::Administrator;
use crate::route::{AnswerFuture, Operation, Parameters, Route, Shape, at};
use crate::stage::Stage;
use crate::watch::JSON_LINES;

pub(super) static ROUTES: &[Route] = &[at(
    "/api/trace/messages",
    &[Operation::get(
        Administrator,
        |_| Err(Problem::not_found()),
        "Streams what happens to messages, an object a line, until a limit, an alarm or its reader ends it.",
        Shape::Page(JSON_LINES),
    )
    .later(|call| Box::pin(stream(call)) as AnswerFuture)
    .query(&[
        Parameters::Other("connection", "Only what this connection causes."),
        Parameters::Other("user", "Only what this user causes."),
        Parameters::Other("vhost", "Only what happens in this vhost."),
        Parameters::Other("queue", "Only what happens in this queue, or goes there."),
        Parameters::Other("exchange", "Only messages that were published to this exchange."),
        Parameters::Other(
            "routing_key",
            "Only messages with a routing key of this pattern, as topic exchanges have them.",
        ),
        Parameters::Other("message_id", "Only messages with this property `message_id`."),
        Parameters::Other("header", "Only messages with this header, as `name=value`. May be given several times."),
        Parameters::Other("sample", "One message of so many."),
        Parameters::Other("body", "So many bytes of each body. Default: 0."),
        Parameters::Other("rate", "More events than this in a second end the stream, or `none`. Default: 10."),
        Parameters::Other("max", "So many events in all end it. Default: 1000."),
    ])
    .strict()
    .refuses(&[("503", "There are as many traces as may be.")])],
)];

/// The most bytes of a body that a live trace shows.
const BODY_LEN_MAX: u64 = 64 << 10;

async fn stream(call: Call) -> Result<Answer, Problem> {
    let (filter, limits) = (filter(&call.query)?, limits(&call.query)?);
    if let Some(vhost) = filter.vhost.as_deref().filter(|vhost| !call.broker().has_vhost(vhost)) {
        return Err(Problem::bad_request(format!("there is no vhost '{vhost}'")));
    }
    let body_len = call.query.number("body")?.unwrap_or(0).min(BODY_LEN_MAX);
    let trace = traces(&call)?.watch(filter, body_len, limits).ok_or_else(|| {
        let reason =
            format!("there are {TRACE_COUNT_MAX} traces already, which is as many as there may be: end one first");
        Problem::unavailable(reason)
    })?;
    let stage = call.service.live.stage();
    Ok(Answer::of_source(JSON_LINES, Box::new(TraceSource(Box::pin(next(trace, stage))))))
}

fn filter(query: &Query) -> Result<Filter, Problem> {
    let mut headers = Vec::new();
    for text in query.all("header") {
        let (name, value) = text
            .split_once('=')
            .ok_or_else(|| Problem::bad_request(format!("'header' must be name=value, not '{text}'")))?;
        headers.push((name.to_owned(), value.to_owned()));
    }
    let sample = query.number("sample")?.unwrap_or(1);
    let sample = u32::try_from(sample).ok().filter(|sample| *sample > 0);
    Ok(Filter {
        connection: query.text("connection")?,
        user: query.text("user")?,
        vhost: query.text("vhost")?,
        queue: query.text("queue")?,
        exchange: query.text("exchange")?,
        routing_key: query.text("routing_key")?,
        message_id: query.text("message_id")?,
        headers,
        sample: sample.ok_or_else(|| Problem::bad_request("'sample' must be a whole number from 1 to 4294967295"))?,
    })
}

fn limits(query: &Query) -> Result<LiveLimits, Problem> {
    let (default, most) = (LiveLimits::default(), LiveLimits::MAX);
    let number = |name: &str, default: u64, most: u64| match query.number(name)?.unwrap_or(default) {
        number if (1..=most).contains(&number) => Ok(number),
        _ => Err(Problem::bad_request(format!("'{name}' must be 1 to {most}"))),
    };
    let rate_max_per_s = match (query.get("rate"), default.rate_max_per_s, most.rate_max_per_s) {
        (Some("none"), ..) => None,
        (_, Some(default), Some(most)) => Some(number("rate", default, most)?),
        (_, default, _) => default,
    };
    Ok(LiveLimits { rate_max_per_s, count_max: number("max", default.count_max, most.count_max)? })
}

type Next = Pin<Box<dyn Future<Output = Option<(LivePiece, LiveTrace, StageWatch)>> + Send>>;
type StageWatch = Option<watch::Receiver<Stage>>;

/// A trace that is on its way to its next piece.
struct TraceSource(Next);

async fn next(mut trace: LiveTrace, mut stage: StageWatch) -> Option<(LivePiece, LiveTrace, StageWatch)> {
    let stopping = async {
        match &mut stage {
            // An error means that the server is gone.
            Some(stage) => drop(stage.wait_for(|stage| *stage >= Stage::Stopping).await),
            None => std::future::pending().await,
        }
    };
    let piece = tokio::select! {
        piece = trace.next() => piece?,
        () = stopping => return None,
    };
    Some((piece, trace, stage))
}

impl Source for TraceSource {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let found = std::task::ready!(self.0.as_mut().poll(cx));
        Poll::Ready(found.map(|(piece, trace, stage)| {
            self.0 = Box::pin(next(trace, stage));
            piece.lines.into()
        }))
    }
}
