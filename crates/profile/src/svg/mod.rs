//! Flame graphs, each one SVG file that needs nothing else: a browser opens it, shows names and figures under the mouse, widens what is
//! clicked, and finds functions by a part of their names.
//!
//! The root is below. The width of a block is its share of the whole; left and right mean nothing, blocks stand by name.

mod blocks;
mod colour;
mod page;

use crate::diff::Diff;
use crate::frame::Kind;
use crate::stacks::Profile;
use crate::tree::Tree;

use blocks::Blocks;
use page::{Legend, Page};

/// The flame graph of a profile. What was waited for is blue.
pub fn flame_graph(profile: &Profile) -> String {
    let tree = Tree::of(profile);
    let blocks = Blocks::of_profile(&tree);
    let waits = blocks.all.iter().any(|block| block.kind == Kind::Waiting);
    let legend: &[Legend] = match waits {
        true => {
            &[Legend { fill: "rgb(240,150,70)", text: "working" }, Legend { fill: "rgb(110,160,225)", text: "waiting" }]
        }
        false => &[],
    };
    Page { title: profile.title(), notes: profile.notes(), legend, blocks: &blocks }.draw()
}

/// The flame graph of the second of two profiles, in red what grew and in blue what fell since the first.
pub fn flame_diff(diff: &Diff<'_>) -> String {
    let (before, after) = (Tree::of(diff.before), Tree::of(diff.after));
    let blocks = Blocks::of_diff(&before, &after);
    let legend = [
        Legend { fill: "rgb(255,110,110)", text: "takes more" },
        Legend { fill: "rgb(120,120,255)", text: "takes less" },
    ];
    let title = format!("{} → {}", diff.before.title(), diff.after.title());
    Page { title: &title, notes: diff.after.notes(), legend: &legend, blocks: &blocks }.draw()
}

#[cfg(test)]
mod tests;
