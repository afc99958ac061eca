//! What a viewer gets of what was seen.

use crate::modules::Module;
use crate::session::Summary;
use crate::work::Work;

/// What a viewer wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// The next sample.
    More,
    /// No more just now: samples wait in the ring.
    Later,
    /// No more: the session ends.
    Nothing,
}

/// One look at a thread.
#[derive(Debug)]
pub struct Sample<'a> {
    /// The thread's number, as the kernel has it.
    pub thread: u32,
    /// What it worked on.
    pub work: Work,
    /// How many times the thread has worked as long as from one look to the next, since it was seen last.
    pub count: u16,
    /// The innermost first: a module by its place, and an offset in its file; None for what is in no file.
    pub stack: &'a [Option<(usize, u64)>],
    /// Whether there was more of the stack.
    pub is_cut: bool,
}

/// Called by the session's thread.
pub trait Viewer: Send {
    /// What it wants now.
    fn wish(&mut self) -> Wish;

    /// The modules of the process, before anything else.
    fn modules(&mut self, modules: &[Module]);

    /// A thread that is looked at from now on, or how it calls itself by now.
    fn thread(&mut self, number: u32, name: &str);

    /// A sample.
    fn sample(&mut self, sample: &Sample<'_>);

    /// For now there is no more.
    fn flush(&mut self);

    /// That was all.
    fn ended(&mut self, summary: &Summary);
}
