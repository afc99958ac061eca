//! Where the time of calls went: a tree of what they called and waited for, with counts and times. Bounded, whatever is called.

use std::borrow::Cow;
use std::collections::HashMap;

/// How many different frames a tree has at most.
pub(super) const NODE_COUNT_MAX: usize = 4_096;

/// What a frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FrameKind {
    /// A call.
    Call,
    /// What another task did meanwhile, for which this one waited.
    Elsewhere,
    /// A wait for a lock.
    Lock,
    /// A wait for the disk.
    Disk,
    /// A wait for a peer.
    Socket,
    /// A wait for another task, which is not known better.
    Task,
}

impl FrameKind {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            FrameKind::Call => "call",
            FrameKind::Elsewhere => "elsewhere",
            FrameKind::Lock => "lock",
            FrameKind::Disk => "disk",
            FrameKind::Socket => "socket",
            FrameKind::Task => "task",
        }
    }

    /// Whether the task does nothing meanwhile.
    #[must_use]
    pub fn is_waiting(self) -> bool {
        self != FrameKind::Call
    }
}

/// A frame under the frames that it was called from. Own times of a tree add up to the times of its roots.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// The frame that it was called from, by its place in the list; none of a root.
    pub parent: Option<u32>,
    /// What it is.
    pub kind: FrameKind,
    /// Its name; of a wait, what was waited for, and which call held it.
    pub name: Cow<'static, str>,
    /// How often.
    pub count: u64,
    /// How long in all, in nanoseconds.
    pub total_ns: u64,
    /// How long without what it called, in nanoseconds.
    pub own_ns: u64,
    /// The task that was waited for, the last time.
    pub holder: Option<Box<str>>,
}

/// The frames of a profile.
#[derive(Debug, Default)]
pub struct Tree {
    nodes: Vec<Node>,
    known: HashMap<(Option<u32>, FrameKind, Cow<'static, str>), u32>,
    /// Frames for which there was no room.
    lost_count: u64,
}

impl Tree {
    /// All frames; a frame's parent is before it.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// How often a frame found no room.
    #[must_use]
    pub fn lost_count(&self) -> u64 {
        self.lost_count
    }

    /// The frame of a name under another. None: there is no room for it, nor for what is below it.
    pub(super) fn child(&mut self, parent: Option<u32>, kind: FrameKind, name: Cow<'static, str>) -> Option<u32> {
        let key = (parent, kind, name);
        if let Some(node) = self.known.get(&key) {
            return Some(*node);
        }
        let place = u32::try_from(self.nodes.len()).ok().filter(|place| (*place as usize) < NODE_COUNT_MAX);
        let Some(place) = place else {
            self.lost_count += 1;
            return None;
        };
        let node = Node { parent, kind, name: key.2.clone(), count: 0, total_ns: 0, own_ns: 0, holder: None };
        self.nodes.push(node);
        self.known.insert(key, place);
        Some(place)
    }

    /// A frame ended after a time, of which a part was that of frames below.
    pub(super) fn add(&mut self, node: u32, total_ns: u64, below_ns: u64) {
        if let Some(node) = self.nodes.get_mut(node as usize) {
            node.count += 1;
            node.total_ns += total_ns;
            node.own_ns += total_ns.saturating_sub(below_ns);
        }
    }

    /// Notes the holder that was waited for.
    pub(super) fn set_holder(&mut self, node: u32, holder: &str) {
        if let Some(node) = self.nodes.get_mut(node as usize)
            && node.holder.as_deref() != Some(holder)
        {
            node.holder = Some(holder.into());
        }
    }
}

/// The frames of one task that are open in a tree, and the times of those that have ended below each.
#[derive(Debug, Default)]
pub(super) struct Cursor {
    open: Vec<Open>,
}

#[derive(Debug)]
struct Open {
    node: Option<u32>,
    start_ns: u64,
    below_ns: u64,
}

impl Cursor {
    /// A frame begins.
    pub(super) fn enter(&mut self, tree: &mut Tree, kind: FrameKind, name: Cow<'static, str>, now_ns: u64) {
        let node = match self.open.last() {
            None => tree.child(None, kind, name),
            // What has no room has none for what is below it.
            Some(Open { node: None, .. }) => None,
            Some(Open { node, .. }) => tree.child(*node, kind, name),
        };
        self.open.push(Open { node, start_ns: now_ns, below_ns: 0 });
    }

    /// The innermost frame ends. Says how long it took, and its place.
    pub(super) fn exit(&mut self, tree: &mut Tree, now_ns: u64) -> Option<(Option<u32>, u64)> {
        let Open { node, start_ns, below_ns } = self.open.pop()?;
        let total_ns = now_ns.saturating_sub(start_ns);
        if let Some(node) = node {
            tree.add(node, total_ns, below_ns.min(total_ns));
        }
        if let Some(above) = self.open.last_mut() {
            above.below_ns += total_ns;
        }
        Some((node, total_ns))
    }

    /// A frame that is over: it took so long.
    pub(super) fn note(&mut self, tree: &mut Tree, kind: FrameKind, name: Cow<'static, str>, total_ns: u64) {
        self.enter(tree, kind, name, 0);
        self.exit(tree, total_ns);
    }

    pub(super) fn depth(&self) -> usize {
        self.open.len()
    }

    /// The place of the innermost frame.
    pub(super) fn innermost(&self) -> Option<u32> {
        self.open.last().and_then(|open| open.node)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn enter(cursor: &mut Cursor, tree: &mut Tree, name: &'static str, now_ns: u64) {
        cursor.enter(tree, FrameKind::Call, Cow::Borrowed(name), now_ns);
    }

    #[track_caller]
    fn check(tree: &Tree, expected: &[(&str, Option<u32>, u64, u64, u64)]) {
        let shown: Vec<_> = tree
            .nodes()
            .iter()
            .map(|node| (&*node.name, node.parent, node.count, node.total_ns, node.own_ns))
            .collect();
        assert_eq!(shown, expected);
    }

    #[test]
    fn own_time_is_what_is_not_below() {
        let (mut tree, mut cursor) = (Tree::default(), Cursor::default());
        for start in [0, 1_000] {
            enter(&mut cursor, &mut tree, "list", start);
            enter(&mut cursor, &mut tree, "sort", start + 10);
            cursor.exit(&mut tree, start + 40);
            cursor.note(&mut tree, FrameKind::Lock, Cow::Borrowed("lock"), 50);
            cursor.exit(&mut tree, start + 100);
        }
        check(&tree, &[("list", None, 2, 200, 40), ("sort", Some(0), 2, 60, 60), ("lock", Some(0), 2, 100, 100)]);
    }

    #[test]
    fn own_times_add_up_to_the_roots() {
        let (mut tree, mut cursor) = (Tree::default(), Cursor::default());
        let names = ["a", "b", "c"];
        // A walk that descends twice where it ascends once, and ends at the top.
        let mut now_ns = 0;
        for step in 0_usize..300 {
            now_ns += (step as u64 * 7) % 13;
            if step % 3 == 2 {
                cursor.exit(&mut tree, now_ns);
            } else {
                enter(&mut cursor, &mut tree, names[step % 3], now_ns)
            }
        }
        while cursor.exit(&mut tree, now_ns).is_some() {}
        let own: u64 = tree.nodes().iter().map(|node| node.own_ns).sum();
        let roots: u64 = tree.nodes().iter().filter(|node| node.parent.is_none()).map(|node| node.total_ns).sum();
        assert_eq!(own, roots);
        assert_eq!(roots, now_ns);
    }

    #[test]
    fn a_tree_does_not_grow_for_ever() {
        let (mut tree, mut cursor) = (Tree::default(), Cursor::default());
        for number in 0..NODE_COUNT_MAX as u64 + 10 {
            cursor.note(&mut tree, FrameKind::Call, Cow::Owned(number.to_string()), 1);
        }
        assert_eq!((tree.nodes().len(), tree.lost_count()), (NODE_COUNT_MAX, 10));
    }
}
