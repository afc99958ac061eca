//! Threads that generate load. Each has a runtime of its own, and what runs on it shares nothing with the others: no
//! lock, no atomic, no wake-up across threads for a message.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::thread::JoinHandle;

use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::LocalSet;

use super::control::Control;
use super::pacer::Pacer;
use super::recorder::{CollectedInterval, Recorder};

/// What is open and at work on one thread.
#[derive(Debug, Default)]
pub(crate) struct Gauges {
    pub(crate) connections: Cell<u32>,
    pub(crate) blocked: Cell<u32>,
    pub(crate) users: Cell<u32>,
    /// Of the connections, those that do nothing.
    pub(crate) idle: Cell<u32>,
    /// Told when `idle` changes.
    pub(crate) changed: Notify,
}

/// What tasks of one thread share.
#[derive(Clone, Debug)]
pub(crate) struct Local {
    pub(crate) pacer: Rc<Pacer>,
    pub(crate) recorder: Rc<RefCell<Recorder>>,
    pub(crate) gauges: Rc<Gauges>,
    pub(crate) control: Control,
}

impl Local {
    /// Counts a connection that was opened.
    pub(crate) fn opened(&self) {
        self.recorder.borrow_mut().counts.connections_opened += 1;
        self.gauges.connections.set(self.gauges.connections.get() + 1);
    }

    /// Counts a connection that is no longer open.
    pub(crate) fn closed(&self) {
        self.gauges.connections.set(self.gauges.connections.get().saturating_sub(1));
    }
}

type Task = Box<dyn FnOnce(Local) -> Pin<Box<dyn Future<Output = ()>>> + Send>;

enum Job {
    Spawn(Task),
    Collect(oneshot::Sender<CollectedInterval>),
}

/// A thread that generates load.
#[derive(Debug)]
pub(crate) struct Worker {
    jobs: mpsc::UnboundedSender<Job>,
    thread: JoinHandle<io::Result<()>>,
}

impl std::fmt::Debug for Job {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Job::Spawn(_) => "Spawn",
            Job::Collect(_) => "Collect",
        })
    }
}

impl Worker {
    /// Starts a thread, and waits until it can work. It ends when this is [`join`](Self::join)ed and all that was spawned on it has ended.
    /// `nice` lets other programs go first, from 0 to 19.
    pub(crate) fn start(name: String, nice: Option<i32>, control: Control) -> io::Result<Self> {
        let (jobs, receiver) = mpsc::unbounded_channel();
        let (tell_begun, begun) = std::sync::mpsc::channel();
        let thread = std::thread::Builder::new().name(name).spawn(move || run(receiver, nice, control, &tell_begun))?;
        let worker = Worker { jobs, thread };
        match begun.recv() {
            Ok(()) => Ok(worker),
            // It has ended, and its result says why.
            Err(_) => worker.join().and(Err(io::ErrorKind::Other.into())),
        }
    }

    /// Runs a task on the thread.
    pub(crate) fn spawn<F: Future<Output = ()> + 'static>(&self, task: impl FnOnce(Local) -> F + Send + 'static) {
        // A thread that has ended has put the reason into its result, which is looked at when it is joined.
        let _ = self.jobs.send(Job::Spawn(Box::new(|local| Box::pin(task(local)))));
    }

    /// Takes what the thread has measured; `None` if it has ended.
    pub(crate) async fn collect(&self) -> Option<CollectedInterval> {
        let (sender, receiver) = oneshot::channel();
        self.jobs.send(Job::Collect(sender)).ok()?;
        receiver.await.ok()
    }

    /// Waits for all tasks, and for the thread.
    pub(crate) fn join(self) -> io::Result<()> {
        drop(self.jobs);
        self.thread.join().unwrap_or_else(|_| Err(io::Error::other("a thread of the load generator failed")))
    }
}

fn run(
    mut jobs: mpsc::UnboundedReceiver<Job>,
    nice: Option<i32>,
    control: Control,
    tell_begun: &std::sync::mpsc::Sender<()>,
) -> io::Result<()> {
    if let Some(nice) = nice {
        // On Linux it is the thread's, whatever the name says.
        rustix::process::setpriority_process(None, nice)?;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let tasks = LocalSet::new();
    tasks.block_on(&runtime, async {
        let pacer = Pacer::new()?;
        let driver = tokio::task::spawn_local(Rc::clone(&pacer).run());
        let recorder = Rc::new(RefCell::new(Recorder::new()));
        let local = Local { pacer, recorder, gauges: Rc::default(), control };
        let mut spawned = Vec::new();
        // The starting thread waits for that.
        let _ = tell_begun.send(());
        while let Some(job) = jobs.recv().await {
            match job {
                Job::Spawn(task) => spawned.push(tokio::task::spawn_local(task(local.clone()))),
                Job::Collect(sender) => {
                    let collected = CollectedInterval::take(&mut local.recorder.borrow_mut(), &local.gauges);
                    // The asking task may have given up.
                    let _ = sender.send(collected);
                }
            }
        }
        for task in spawned {
            if let Err(error) = task.await {
                std::panic::resume_unwind(error.into_panic());
            }
        }
        driver.abort();
        Ok(())
    })
}
