//! Where each block of a flame graph is, which colour it has, and what it says.

use crate::diff::{Change, share};
use crate::frame::{Frame, Kind};
use crate::tree::{Node, Tree};

use super::colour;

/// What is narrower than this part of the whole is not drawn: a tenth of a pixel.
const SHARE_MIN: f64 = 0.1 / 1180.0;

/// One block.
#[derive(Debug)]
pub(super) struct Block {
    /// 0 is the whole.
    pub(super) level: usize,
    /// Its left border and its width, in parts of the whole.
    pub(super) start: f64,
    pub(super) width: f64,
    pub(super) kind: Kind,
    pub(super) name: String,
    /// Name and figures.
    pub(super) says: String,
    pub(super) fill: String,
}

/// What a block says and its colour, by its frame, its figures, and those of the same place in an earlier profile.
type Draw<'a> = dyn Fn(Option<&Frame>, &Node<'_>, Option<&Node<'_>>) -> (String, String) + 'a;

/// All blocks of a graph, a block before those on it.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    pub(super) all: Vec<Block>,
    pub(super) level_count: usize,
}

impl Blocks {
    pub(super) fn of_profile(tree: &Tree<'_>) -> Blocks {
        let says = |name: &str, node: &Node<'_>| {
            let percent = share(node.total, tree.root.total) * 100.0;
            let mut says = format!("{name}: {}, {percent:.2}%", tree.unit.show(node.total));
            if node.own > 0 && node.own < node.total {
                says.push_str(&format!(", {} of it alone", tree.unit.show(node.own)));
            }
            if node.calls > 0 {
                says.push_str(&format!(", {} {}", node.calls, if node.calls == 1 { "call" } else { "calls" }));
            }
            says
        };
        let draw = |frame: Option<&Frame>, node: &Node<'_>, _: Option<&Node<'_>>| {
            let name = frame.map_or("all", Frame::name);
            (says(name, node), colour::of_frame(frame))
        };
        Blocks::of(&tree.root, None, &draw)
    }

    /// Widths are those of `after`.
    pub(super) fn of_diff(before: &Tree<'_>, after: &Tree<'_>) -> Blocks {
        let draw = |frame: Option<&Frame>, node: &Node<'_>, earlier: Option<&Node<'_>>| {
            let change = Change {
                before: share(earlier.map_or(0, |node| node.total), before.root.total),
                after: share(node.total, after.root.total),
            };
            let name = frame.map_or("all", Frame::name);
            let (was, is) = (change.before * 100.0, change.after * 100.0);
            (format!("{name}: {was:.2}% before, {is:.2}% now, {:+.2}", is - was), colour::of_change(change))
        };
        Blocks::of(&after.root, Some(&before.root), &draw)
    }

    fn of(root: &Node<'_>, earlier: Option<&Node<'_>>, draw: &Draw<'_>) -> Blocks {
        let mut blocks = Blocks::default();
        if root.total > 0 {
            blocks.add(Place { level: 0, start: 0.0, whole: root.total }, None, root, earlier, draw);
        }
        blocks
    }

    fn add(
        &mut self,
        place: Place,
        frame: Option<&Frame>,
        node: &Node<'_>,
        earlier: Option<&Node<'_>>,
        draw: &Draw<'_>,
    ) {
        let width = share(node.total, place.whole);
        if width < SHARE_MIN {
            return;
        }
        let (says, fill) = draw(frame, node, earlier);
        let (kind, name) = frame.map_or((Kind::Label, "all"), |frame| (frame.kind(), frame.name()));
        let name = name.to_owned();
        self.all.push(Block { level: place.level, start: place.start, width, kind, name, says, fill });
        self.level_count = self.level_count.max(place.level + 1);
        let mut start = place.start;
        for (frame, child) in &node.children {
            let earlier = earlier.and_then(|node| node.children.get(frame));
            self.add(Place { level: place.level + 1, start, ..place }, Some(frame), child, earlier, draw);
            start += share(child.total, place.whole);
        }
    }
}

#[derive(Clone, Copy)]
struct Place {
    level: usize,
    start: f64,
    whole: u64,
}
