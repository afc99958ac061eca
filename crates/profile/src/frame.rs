//! A frame: one function of a stack, or what the stack belongs to.

/// What a frame stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// The thread or task that the stack belongs to. It comes first.
    Thread,
    /// The kind of work that the thread did. It comes before all functions.
    Label,
    /// A function that did something.
    Work,
    /// Something was waited for: a lock, a disk, a socket, another task.
    Waiting,
}

impl Kind {
    /// What marks a name in folded stacks, as flamegraph.pl's `_[k]` marks the kernel's.
    pub(crate) fn mark(self) -> &'static str {
        match self {
            Kind::Thread => "_[t]",
            Kind::Label => "_[l]",
            Kind::Work => "",
            Kind::Waiting => "_[w]",
        }
    }

    /// Whether time can be spent in it, which it cannot in a thread's name.
    pub fn is_function(self) -> bool {
        matches!(self, Kind::Work | Kind::Waiting)
    }
}

/// One frame of a stack.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Frame {
    name: String,
    kind: Kind,
}

impl Frame {
    /// A frame. What would break a line of folded stacks is replaced in its name: all forms are to show the same one.
    pub fn new(kind: Kind, name: &str) -> Frame {
        let clean = |char: char| match char {
            ';' => ',',
            char if char.is_control() => ' ',
            char => char,
        };
        let name = match name.is_empty() {
            true => "(unknown)".to_owned(),
            false => name.chars().map(clean).collect(),
        };
        Frame { name, kind }
    }

    /// A thread or a task.
    pub fn thread(name: &str) -> Frame {
        Frame::new(Kind::Thread, name)
    }

    /// A kind of work.
    pub fn label(name: &str) -> Frame {
        Frame::new(Kind::Label, name)
    }

    /// A function that did something.
    pub fn work(name: &str) -> Frame {
        Frame::new(Kind::Work, name)
    }

    /// What was waited for.
    pub fn waiting(name: &str) -> Frame {
        Frame::new(Kind::Waiting, name)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it stands for.
    pub fn kind(&self) -> Kind {
        self.kind
    }
}
