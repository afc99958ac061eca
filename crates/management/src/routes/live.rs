//! Changes as they happen, as a stream of events, which RabbitMQ does not have.

use hyper::StatusCode;
use hyper::header::{HeaderName, HeaderValue};

use super::process;
use crate::answer::Answer;
use crate::call::Call;
use crate::live::{Feed, FeedRequest, LostRight, Viewer, Watcher};
use crate::problem::Problem;
use crate::route::Role::Management;
use crate::route::{AnswerFuture, Operation, Parameters, Route, Shape, at};
use crate::tags::is_administrator;

pub(super) static ROUTES: &[Route] = &[at(
    "/api/live",
    &[Operation::get(
        Management,
        |_| Err(Problem::not_found()),
        "Streams statistics and changes as server-sent events, until the client or the broker closes the stream.",
        Shape::Page(EVENT_STREAM),
    )
    .later(|call| Box::pin(stream(call)) as AnswerFuture)
    .query(&[
        Parameters::Other(
            "events",
            "The events, separated by commas or given several times: `rates`, `changes`, `vhost:NAME`, `queue:VHOST/NAME`, \
             `exchange:VHOST/NAME`, `connection:NAME`, `channel:NAME`, `alerts`, `log`, `audit`. Names are written as in paths.",
        ),
        Parameters::Other("interval", "The number of seconds between two events with statistics, from 1 to 60."),
    ])
    .refuses(&[("503", "The limit of streams is reached: of all streams, of the user, or of the user's address.")])],
)];

const EVENT_STREAM: &str = "text/event-stream";
/// Asks nginx not to keep events back.
const UNBUFFERED: (HeaderName, HeaderValue) =
    (HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));

async fn stream(call: Call) -> Result<Answer, Problem> {
    let broker = call.broker().clone();
    let wanted = FeedRequest::parse(&call.query, broker.options().statistics.interval)?;
    let in_vhosts = wanted.queues.iter().chain(&wanted.exchanges).map(|(vhost, _)| vhost);
    let vhosts = wanted.vhosts.iter().chain(in_vhosts);
    if let Some(missing) = vhosts.into_iter().find(|vhost| !broker.has_vhost(vhost)) {
        return Err(LostRight::Vhost(missing.clone()).problem());
    }
    let mut viewer = Viewer::new(broker, call.actor().clone());
    viewer.check(&wanted).await.map_err(|lost| lost.problem())?;
    if wanted.has_log && call.service.process().is_none() {
        return Err(process::missing());
    }
    let actor = call.actor();
    let watcher = Watcher {
        user: actor.identity.name().into(),
        address: actor.origin.peer.map(|peer| peer.ip()),
        is_administrator: is_administrator(&actor.identity),
    };
    let place = call
        .service
        .feeds
        .take_place(watcher)
        .map_err(|none| Problem::new(StatusCode::SERVICE_UNAVAILABLE, "service_unavailable", none.to_string()))?;
    let feed = Feed::open(call.service.clone(), viewer, wanted, place).await;
    let (name, value) = UNBUFFERED;
    Ok(Answer::of_source(EVENT_STREAM, feed.into_source()).with(name, value))
}
