//! One user: goes through the script's instructions, one after the other.
//!
//! There may be very many of them, most of which wait: a user keeps no buffer and no timer of the kernel, and what takes
//! room only for a moment (connecting, a request) is put elsewhere for that moment.

use std::borrow::Cow;
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use amqp::{exchange, queue};
use amqp_client::Route;

use super::super::clock::{now_ns, ns};
use super::super::incident::{Incident, tell};
use super::super::message::{self, size};
use super::super::pacer::Timer;
use super::super::stamp::{NO_PUBLISHER, Origin, STAMP_LEN, put_stamp};
use super::super::worker::Gauges;
use super::crowd::Station;
use super::failure::Failure;
use super::link::{Answer, Link};
use super::program::{Action, DeclareQueue, HttpGet, Publish};
use super::template::{Filling, Text, Variables};
use crate::plan::Random;
use http_client::HttpUrl;

/// How long a user whose script failed waits before starting again.
const PAUSE: Duration = Duration::from_secs(1);
/// How long an answer to `http_get` may take.
const HTTP_TIMEOUT: Duration = Duration::from_secs(60);

/// A simulated user.
#[derive(Debug)]
pub(crate) struct User {
    station: Rc<Station>,
    number: u32,
    random: Random,
    timer: Timer,
    variables: Variables,
    link: Option<Box<Link>>,
    published: u32,
}

impl User {
    pub(crate) fn new(station: Rc<Station>, number: u32) -> Self {
        User {
            number,
            random: Random::new(station.crowd.seed, number.into()),
            timer: Timer::new(&station.local.pacer),
            variables: Variables::default(),
            link: None,
            published: 0,
            station,
        }
    }

    /// Goes through the script, once or until the run's end. There it stops wherever it is.
    pub(crate) async fn run(mut self) {
        let station = Rc::clone(&self.station);
        let _at_work = AtWork::new(&station.local.gauges);
        let mut stopping = pin!(station.local.control.clone().draining());
        loop {
            let outcome = tokio::select! {
                biased;
                () = &mut stopping => None,
                outcome = self.play() => Some(outcome),
            };
            self.disconnect().await;
            let Some(outcome) = outcome else { return };
            let is_failed = outcome.is_err();
            self.count(outcome);
            if !station.crowd.repeat {
                return;
            }
            self.variables.clear();
            if is_failed {
                tokio::select! {
                    () = &mut stopping => return,
                    () = self.timer.until(now_ns() + ns(PAUSE)) => {}
                }
            }
            // A script that waits for nothing is not to keep the others from their work.
            tokio::task::yield_now().await;
        }
    }

    fn count(&self, outcome: Result<(), (usize, Failure)>) {
        let crowd = &self.station.crowd;
        let counts = &mut self.station.local.recorder.borrow_mut().counts;
        let Err((at, failure)) = outcome else {
            counts.scripts_done += 1;
            return;
        };
        counts.scripts_failed += 1;
        if matches!(failure, Failure::Closed(_)) {
            counts.connections_lost += 1;
        }
        if crowd.reported.is_new(at, &failure) {
            let step = crowd.program.instructions.get(at).map_or("", |instruction| &instruction.step);
            let warning = format!("user {} of \"{}\", step {step}: {failure}", self.number, crowd.name);
            tell(&crowd.incidents, Incident::Warning(warning));
        }
    }

    /// Goes through the script once. An error has the place of the instruction that failed.
    async fn play(&mut self) -> Result<(), (usize, Failure)> {
        let station = Rc::clone(&self.station);
        let program = &station.crowd.program;
        // Where each loop that is under way starts, and how often it is still to be run.
        let mut loops: Vec<(usize, u32)> = Vec::new();
        let mut at = 0;
        while let Some(instruction) = program.instructions.get(at) {
            // Lets others work from time to time, whatever the script does.
            tokio::task::consume_budget().await;
            match &instruction.action {
                Action::Repeat { count: 0, end } => {
                    at = *end;
                    continue;
                }
                Action::Repeat { count, .. } => loops.push((at + 1, count - 1)),
                Action::RepeatEnd => {
                    if let Some((start, left)) = loops.last_mut().filter(|(_, left)| *left > 0) {
                        *left -= 1;
                        at = *start;
                        continue;
                    }
                    loops.pop();
                }
                action => self.act(action).await.map_err(|failure| (at, failure))?,
            }
            at += 1;
        }
        Ok(())
    }

    async fn act(&mut self, action: &Action) -> Result<(), Failure> {
        let station = &*Rc::clone(&self.station);
        match action {
            Action::Connect => Box::pin(self.connect()).await,
            Action::OpenChannel => self.link()?.open_channel(station).await,
            Action::DeclareQueue(declare) => self.declare_queue(declare).await,
            Action::DeclareExchange { name, kind, durable } => {
                let name = self.name(name)?;
                let kind = kind.as_bytes();
                let declare =
                    exchange::Declare { exchange: name.as_bytes(), kind, durable: *durable, ..Default::default() };
                self.link()?.call(station, &declare).await.map(drop)
            }
            Action::Bind { queue, exchange, key } => {
                let (queue, exchange, key) = (self.name(queue)?, self.name(exchange)?, self.name(key)?);
                let bind = queue::Bind {
                    queue: queue.as_bytes(),
                    exchange: exchange.as_bytes(),
                    routing_key: key.as_bytes(),
                    ..Default::default()
                };
                self.link()?.call(station, &bind).await.map(drop)
            }
            Action::DeleteQueue { name } => {
                let name = self.name(name)?;
                let delete = queue::Delete { queue: name.as_bytes(), ..Default::default() };
                self.link()?.call(station, &delete).await.map(drop)
            }
            Action::Publish(publish) => self.publish(publish).await,
            Action::Consume { queue, prefetch, settle } => {
                let queue = self.name(queue)?;
                self.link()?.consume(station, &queue, *prefetch, *settle).await
            }
            Action::ConsumeUntil { count, timeout } => {
                let User { link, timer, .. } = self;
                let until = now_ns().saturating_add(ns(*timeout));
                let link = link.as_mut().ok_or(Failure::NotConnected)?;
                link.claim(station, *count, *timeout, |cx| timer.poll_until(cx, until).is_ready()).await
            }
            Action::Cancel => self.link()?.cancel(station).await,
            Action::Wait(time) => self.wait(ns(*time)).await,
            Action::Think(time) => {
                let time = (time.draw(&mut self.random) * 1e9) as u64;
                self.wait(time).await
            }
            Action::ExpectQueueLength { queue, min, max } => {
                let queue = self.name(queue)?;
                let ready = self.link()?.ready(station, &queue).await?;
                if (*min..=*max).contains(&ready) {
                    return Ok(());
                }
                Err(Failure::QueueLength { queue: queue.into_owned(), min: *min, max: *max, ready })
            }
            Action::ExpectReceived { min, max } => {
                // A user without a connection has received nothing since.
                let received = self.link.as_ref().map_or(0, |link| link.received());
                if (*min..=*max).contains(&received) {
                    return Ok(());
                }
                Err(Failure::Received { min: *min, max: *max, received })
            }
            Action::ExpectVariable { name, value } => {
                let expected = self.text(value)?;
                let value = self.variables.get(*name, &station.crowd.program.names)?;
                if value == expected {
                    return Ok(());
                }
                Err(Failure::Value { expected: expected.into_owned(), value: value.to_owned() })
            }
            Action::HttpGet(get) => Box::pin(self.http_get(get)).await,
            Action::Set { name, value } => {
                let value = self.text(value)?;
                self.variables.set(*name, &value);
                Ok(())
            }
            Action::Throttle(throttle) => {
                let mut turn = throttle.enter();
                let User { link, timer, .. } = self;
                wait_for(link, station, |cx| turn.poll(cx, timer)).await.map(drop)
            }
            Action::Disconnect => {
                self.disconnect().await;
                Ok(())
            }
            // Jumps are the caller's.
            Action::Repeat { .. } | Action::RepeatEnd => Ok(()),
        }
    }

    fn link(&mut self) -> Result<&mut Link, Failure> {
        self.link.as_deref_mut().ok_or(Failure::NotConnected)
    }

    fn text<'a>(&mut self, text: &'a Text) -> Result<Cow<'a, str>, Failure> {
        let filling =
            Filling { user: self.number, variables: &self.variables, names: &self.station.crowd.program.names };
        Ok(text.fill(&filling, &mut self.random)?)
    }

    /// A text that is sent as a short string.
    fn name<'a>(&mut self, text: &'a Text) -> Result<Cow<'a, str>, Failure> {
        let name = self.text(text)?;
        if name.len() > amqp::limits::SHORT_STR_LEN_MAX {
            return Err(Failure::TooLong(name.into_owned()));
        }
        Ok(name)
    }

    async fn connect(&mut self) -> Result<(), Failure> {
        if self.link.is_some() {
            return Err(Failure::AlreadyConnected);
        }
        let crowd = &self.station.crowd;
        let name = format!("{}-{}-{}", crowd.plan_name, crowd.name, self.number);
        let connection = crowd.target.open(&name, &mut self.random).await?;
        let link = self.link.insert(Box::new(Link::new(connection, &self.station)));
        link.open_channel(&self.station).await
    }

    async fn disconnect(&mut self) {
        if let Some(link) = self.link.take() {
            Box::pin(link.close()).await;
        }
    }

    async fn declare_queue(&mut self, declare: &DeclareQueue) -> Result<(), Failure> {
        let station = Rc::clone(&self.station);
        let name = self.name(&declare.name)?;
        let request = queue::Declare {
            queue: name.as_bytes(),
            durable: declare.durable,
            exclusive: declare.exclusive,
            auto_delete: declare.auto_delete,
            arguments: declare.arguments.as_table(),
            ..Default::default()
        };
        if let Answer::Queue { name, .. } = self.link()?.call(&station, &request).await? {
            self.variables.set(station.crowd.program.queue, &name);
        }
        Ok(())
    }

    async fn publish(&mut self, publish: &Publish) -> Result<(), Failure> {
        let station = Rc::clone(&self.station);
        let route = match &publish.route {
            Some(route) => Cow::Borrowed(route),
            None => {
                let (exchange, key) = (self.name(&publish.exchange)?, self.name(&publish.key)?);
                let route = Route::new(exchange.as_bytes(), key.as_bytes(), false);
                Cow::Owned(route.ok_or_else(|| Failure::TooLong(key.into_owned()))?)
            }
        };
        let User { link, timer, random, published, .. } = self;
        let link = link.as_deref_mut().ok_or(Failure::NotConnected)?;
        if publish.confirm {
            link.select_confirms(&station).await?;
        }
        for _ in 0..publish.count {
            link.has_room(&station).await?;
            let (due, sent) = match &publish.throttle {
                Some(throttle) => {
                    let mut turn = throttle.enter();
                    link.serve(&station, |_, _, cx| turn.poll(cx, timer)).await?
                }
                None => {
                    let now = now_ns();
                    (now, now)
                }
            };
            station.publish(link, publish, &route, random, *published, due, sent);
            *published = published.wrapping_add(1);
        }
        link.sent(&station).await?;
        if publish.confirm { link.confirmed(&station).await } else { Ok(()) }
    }

    async fn wait(&mut self, time_ns: u64) -> Result<(), Failure> {
        let User { link, timer, station, .. } = self;
        let until = now_ns().saturating_add(time_ns);
        wait_for(link, station, |cx| timer.poll_until(cx, until)).await
    }

    async fn http_get(&mut self, get: &HttpGet) -> Result<(), Failure> {
        let asked = self.text(&get.url)?.into_owned();
        let User { link, station, .. } = self;
        let url = match (&station.crowd.management, asked.starts_with('/')) {
            (Some(management), true) => management.below(&asked),
            (None, true) => return Err(Failure::NoManagement),
            (_, false) => match (HttpUrl::parse(&asked)?, &station.crowd.https) {
                (url, Some(tls)) => url.trusting(tls.clone()),
                (url, None) => url,
            },
        };
        let asked_at = now_ns();
        let mut asking = pin!(http_client::get(&url, HTTP_TIMEOUT));
        let answer = wait_for(link, station, |cx| asking.as_mut().poll(cx)).await?;
        let mut recorder = station.local.recorder.borrow_mut();
        let shown = || amqp_client::without_passwords(&asked);
        match answer {
            Ok(answer) => {
                recorder.answered(&get.name, now_ns() - asked_at);
                let status = answer.status.as_u16();
                if status == get.status {
                    return Ok(());
                }
                recorder.counts.requests_failed += 1;
                Err(Failure::Status { url: shown(), status, expected: get.status })
            }
            Err(error) => {
                recorder.counts.requests_failed += 1;
                Err(Failure::Http { url: shown(), error })
            }
        }
    }
}

impl Station {
    /// Publishes one message, number `sequence` of its user.
    #[expect(clippy::too_many_arguments, reason = "all that one message is made of")]
    fn publish(
        &self,
        link: &mut Link,
        publish: &Publish,
        route: &Route,
        random: &mut Random,
        sequence: u32,
        due: u64,
        sent: u64,
    ) {
        let (body, properties) = &mut *self.scratch.borrow_mut();
        let len = size(&publish.sizes, random, sent.saturating_sub(self.start)).max(STAMP_LEN);
        body.clear();
        body.resize(len, 0);
        put_stamp(body, sequence, self.crowd.unit.stamp(sent));
        let priority = publish.properties.priority.as_ref().map(|priority| priority.draw(random).min(255.0) as u8);
        let has_origin = publish.properties.cluster_id.is_none();
        message::encode(&publish.properties, priority, publish.headers.as_ref(), has_origin, properties);
        if has_origin {
            Origin { publisher: NO_PUBLISHER, late_ns: sent.saturating_sub(due), sequence: None }.put(properties);
        }
        link.publish(route, properties, body, due, sent);
        self.local.recorder.borrow_mut().published(len, due, sent, publish.throttle.is_some());
    }
}

/// Waits for something while the connection, if there is one, is served.
async fn wait_for<T>(
    link: &mut Option<Box<Link>>,
    station: &Station,
    mut until: impl FnMut(&mut Context<'_>) -> Poll<T>,
) -> Result<T, Failure> {
    match link {
        Some(link) => link.serve(station, |_, _, cx| until(cx)).await,
        None => Ok(poll_fn(until).await),
    }
}

/// Counts a user among those at work, as long as it is.
struct AtWork(Rc<Gauges>);

impl AtWork {
    fn new(gauges: &Rc<Gauges>) -> Self {
        gauges.users.set(gauges.users.get() + 1);
        AtWork(Rc::clone(gauges))
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        self.0.users.set(self.0.users.get().saturating_sub(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a task of a user takes, whatever the script: it has room for the largest step.
    fn len_of<F>(_: fn(User) -> F) -> usize {
        size_of::<F>()
    }

    #[test]
    fn user_who_waits_is_small() {
        assert!(len_of(User::run) <= 1_280, "{}", len_of(User::run));
        // Beside the buffers, of 2 KiB for each direction while little happens.
        assert!(size_of::<Link>() <= 656, "{}", size_of::<Link>());
    }
}
