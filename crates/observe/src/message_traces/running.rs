//! The traces that run: into files, each written by a thread of its own. Live ones belong to their viewers.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use broker::Broker;
use broker::tap::{Kind, Kinds, Sink};
use parking_lot::Mutex;
use serde_json::Value;

use super::TRACE_COUNT_MAX;
use super::definition::Definition;
use super::files::{Directory, Limits, Log, TraceFile, is_file_of, is_name};
use super::filter::Filter;
use super::format::Format;
use super::live::{LiveLimits, LiveTrace};
use super::mailbox::Mailbox;
use super::sink::TraceSink;

/// How long a thread sleeps at most before it looks whether it is wanted.
const TIMEOUT: Duration = Duration::from_secs(1);
/// How long the end waits for all threads together: a disk may hang.
const STOP_TIMEOUT: Duration = Duration::from_secs(3);

/// All traces of a broker.
pub struct Traces {
    broker: Arc<Broker>,
    directory: Directory,
    limits: Limits,
    running: Mutex<BTreeMap<(String, String), Running>>,
}

/// A trace into files.
struct Running {
    definition: Definition,
    sink: Arc<dyn Sink>,
    mailbox: Arc<Mailbox>,
    state: Arc<State>,
    thread: Option<JoinHandle<()>>,
}

/// How a trace fares.
#[derive(Debug, Default)]
struct State {
    /// Why it has ended without being stopped.
    error: Mutex<Option<String>>,
    written: telemetry::Counter,
    missed: telemetry::Counter,
}

/// A trace, as it is shown.
#[derive(Debug, Clone)]
pub struct TraceView {
    /// What was asked for.
    pub definition: Definition,
    /// Why nothing more is written.
    pub error: Option<String>,
    /// Records that were written.
    pub written_count: u64,
    /// Things that were not, because too much happened.
    pub missed_count: u64,
}

/// Why there is no trace.
#[derive(Debug, thiserror::Error)]
pub enum CreateError {
    /// There are as many as may be.
    #[error("{TRACE_COUNT_MAX} traces to files are running, which is the maximum: end one first")]
    TooMany,
    /// There is one of this name.
    #[error("a trace with this name already exists: delete it first")]
    IsThere,
    /// No file can have that name.
    #[error("invalid file name '{0}': it must have 1 to 200 bytes, no '/', and no '.' at its start")]
    Name(String),
    /// There is no such vhost.
    #[error("no vhost '{0}'")]
    Vhost(String),
    /// The file cannot be written.
    #[error("cannot write {path}: {error}")]
    File {
        /// Which.
        path: String,
        /// Why.
        error: io::Error,
    },
    /// There can be no thread more.
    #[error("cannot start a thread: {0}")]
    Thread(io::Error),
}

impl std::fmt::Debug for Traces {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Traces").field("directory", &self.directory).finish_non_exhaustive()
    }
}

impl Traces {
    /// Those of a broker. The ones that ran before are continued by [`Traces::resume`].
    #[must_use]
    pub fn new(broker: Arc<Broker>, directory: Directory, limits: Limits) -> Arc<Self> {
        Arc::new(Traces { broker, directory, limits, running: Mutex::default() })
    }

    /// Where files are.
    #[must_use]
    pub fn directory(&self) -> &Directory {
        &self.directory
    }

    /// Continues the traces that were written down. A trace that cannot continue is logged.
    pub fn resume(self: &Arc<Self>) {
        let read = self.directory.read_definitions();
        let definitions = match read {
            Ok(None) => return,
            Ok(Some(bytes)) => serde_json::from_slice::<Vec<Value>>(&bytes).map_err(io::Error::other),
            Err(error) => Err(error),
        };
        match definitions {
            Err(error) => tracing::warn!(%error, "reading the list of message traces failed; none is resumed"),
            Ok(all) => {
                all.iter().for_each(|value| self.resume_one(value));
                self.tidy();
            }
        }
    }

    fn resume_one(self: &Arc<Self>, value: &Value) {
        let Some(definition) = Definition::from_json(value) else {
            return tracing::warn!(%value, "invalid entry in the list of message traces; it is not resumed");
        };
        let (vhost, name) = (definition.vhost.clone(), definition.name.clone());
        match self.start(definition) {
            Ok(()) => tracing::info!(vhost, name, "message trace resumed"),
            Err(error) => tracing::warn!(vhost, name, %error, "resuming a message trace failed"),
        }
    }

    /// Starts a trace, and writes down that there is one.
    pub fn create(self: &Arc<Self>, definition: Definition) -> Result<(), CreateError> {
        let (vhost, name) = (definition.vhost.clone(), definition.name.clone());
        self.start(definition)?;
        self.write_down();
        self.tidy();
        tracing::info!(vhost, name, "message trace started");
        Ok(())
    }

    /// The files, each with whether its trace has ended.
    pub fn files(&self) -> io::Result<Vec<(TraceFile, bool)>> {
        let running = self.running_names();
        let is_ended = |file: &TraceFile| !running.iter().any(|name| is_file_of(&file.name, name));
        Ok(self.directory.list()?.into_iter().map(|file| (file.clone(), is_ended(&file))).collect())
    }

    /// How long files may be, and how many.
    #[must_use]
    pub fn limits(&self) -> Limits {
        self.limits
    }

    fn running_names(&self) -> Vec<String> {
        self.running.lock().values().map(|trace| trace.definition.name.clone()).collect()
    }

    /// Deletes the oldest files of traces that have ended, where there are more than may be.
    fn tidy(&self) {
        let running = self.running_names();
        let limit = self.limits.ended_len_max;
        match self.directory.keep_within(limit, &running) {
            Ok(deleted) if deleted.is_empty() => {}
            Ok(deleted) => {
                tracing::info!(?deleted, limit, "files of ended message traces deleted because of their total size")
            }
            Err(error) => tracing::warn!(%error, "checking the files of ended message traces failed"),
        }
    }

    fn start(self: &Arc<Self>, definition: Definition) -> Result<(), CreateError> {
        if !is_name(&definition.name) {
            return Err(CreateError::Name(definition.name));
        }
        if !self.broker.has_vhost(&definition.vhost) {
            return Err(CreateError::Vhost(definition.vhost));
        }
        let mut running = self.running.lock();
        if running.values().any(|other| other.definition.name == definition.name) {
            return Err(CreateError::IsThere);
        }
        if running.len() >= TRACE_COUNT_MAX {
            return Err(CreateError::TooMany);
        }
        let log = Log::open(&self.directory, &definition.name, self.limits).map_err(|error| CreateError::File {
            path: self.directory.path().join(format!("{}.log", definition.name)).display().to_string(),
            error,
        })?;
        let kinds = match definition.format {
            Format::Events => Kinds::ALL,
            Format::Text | Format::Json => Kinds::of(&[Kind::Published, Kind::Delivered, Kind::Got]),
        };
        let filter = Filter { vhost: Some(definition.vhost.clone()), ..definition.filter.clone() };
        let body_len_max = definition.body_len_max.unwrap_or(u64::MAX);
        let sink = TraceSink::new(kinds, filter, definition.pattern.clone(), body_len_max);
        let (mailbox, state) = (sink.mailbox.clone(), Arc::<State>::default());
        let writer = Writer {
            log,
            format: definition.format,
            node: self.broker.options().node.clone(),
            mailbox: mailbox.clone(),
            state: state.clone(),
            traces: Arc::downgrade(self),
            sink: sink.clone(),
        };
        let thread = std::thread::Builder::new().name("warren-trace".to_owned());
        let thread = thread.spawn(move || writer.run()).map_err(CreateError::Thread)?;
        self.broker.taps().add(sink.clone());
        if definition.pattern.is_some() {
            self.broker.trace_vhost(&definition.vhost, true);
        }
        let key = (definition.vhost.clone(), definition.name.clone());
        running.insert(key, Running { definition, sink, mailbox, state, thread: Some(thread) });
        Ok(())
    }

    /// Ends a trace; its files stay. Says whether it was there.
    pub fn stop(&self, vhost: &str, name: &str) -> bool {
        let mut running = self.running.lock();
        let Some(trace) = running.remove(&(vhost.to_owned(), name.to_owned())) else { return false };
        self.broker.taps().remove(&trace.sink);
        trace.mailbox.close();
        let is_last =
            !running.values().any(|other| other.definition.vhost == vhost && other.definition.pattern.is_some());
        drop(running);
        // As by RabbitMQ, also if a user has switched it on.
        if is_last && trace.definition.pattern.is_some() {
            self.broker.trace_vhost(vhost, false);
        }
        self.write_down();
        tracing::info!(vhost, name, "message trace ended");
        self.tidy();
        true
    }

    /// Which exist is to be known after a restart. Where that cannot be written, it is logged: the traces themselves continue.
    fn write_down(&self) {
        let running = self.running.lock();
        let all: Vec<Value> = running.values().map(|trace| trace.definition.to_json()).collect();
        if let Err(error) = self.directory.write_definitions(Value::Array(all).to_string().as_bytes()) {
            tracing::warn!(%error, "writing the list of message traces failed: they will not be resumed after a restart");
        }
    }

    /// All traces into files.
    #[must_use]
    pub fn list(&self) -> Vec<TraceView> {
        self.running.lock().values().map(Running::view).collect()
    }

    /// One of them.
    #[must_use]
    pub fn find(&self, vhost: &str, name: &str) -> Option<TraceView> {
        self.running.lock().get(&(vhost.to_owned(), name.to_owned())).map(Running::view)
    }

    /// Begins a live trace. The owner of the viewers bounds how many there may be.
    #[must_use]
    pub fn watch(&self, filter: Filter, body_len_max: u64, limits: LiveLimits) -> LiveTrace {
        let sink = TraceSink::new(Kinds::ALL, filter, None, body_len_max);
        LiveTrace::begin(self.broker.clone(), sink, limits)
    }

    /// Ends all of them, for the end of the broker: they continue when it starts again.
    pub fn end(&self) {
        let mut running = std::mem::take(&mut *self.running.lock());
        for trace in running.values() {
            self.broker.taps().remove(&trace.sink);
            trace.mailbox.close();
        }
        let until = Instant::now() + STOP_TIMEOUT;
        while running.values().any(Running::is_alive) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(2));
        }
        for trace in running.values_mut() {
            match trace.thread.take() {
                Some(thread) if thread.is_finished() => drop(thread.join()),
                Some(_) => tracing::warn!(
                    name = trace.definition.name,
                    "disk of a message trace hung, and the end of the trace is lost"
                ),
                None => {}
            }
        }
    }
}

impl Running {
    fn is_alive(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }

    fn view(&self) -> TraceView {
        TraceView {
            definition: self.definition.clone(),
            error: self.state.error.lock().clone(),
            written_count: self.state.written.get(),
            missed_count: self.state.missed.get(),
        }
    }
}

/// The thread of a trace.
struct Writer {
    log: Log,
    format: Format,
    node: String,
    mailbox: Arc<Mailbox>,
    state: Arc<State>,
    traces: Weak<Traces>,
    sink: Arc<TraceSink>,
}

impl Writer {
    fn run(mut self) {
        let mut out = Vec::new();
        loop {
            let taken = self.mailbox.wait_all(TIMEOUT);
            let count = taken.items().len() as u64;
            out.clear();
            for record in taken.items() {
                self.format.write(record, &self.node, &mut out);
            }
            if taken.missed_count > 0 {
                self.state.missed.add(taken.missed_count);
                self.format.write_missed(taken.missed_count, &mut out);
            }
            if !out.is_empty()
                && let Err(error) = self.log.append(&out)
            {
                return self.give_up(&error);
            }
            self.state.written.add(count);
            if taken.is_closed && count == 0 {
                return;
            }
        }
    }

    /// A disk that is full or read-only ends the trace, and nothing else.
    fn give_up(&self, error: &io::Error) {
        let sentence = format!("the trace ended, because its file could not be written: {error}");
        tracing::warn!(%error, "message trace ended because its file could not be written");
        *self.state.error.lock() = Some(sentence);
        if let Some(traces) = self.traces.upgrade() {
            let sink: Arc<dyn Sink> = self.sink.clone();
            traces.broker.taps().remove(&sink);
        }
    }
}
