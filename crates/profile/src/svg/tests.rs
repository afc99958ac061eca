//! What a flame graph shows.

use super::*;
use crate::{Cost, Frame, Unit};

fn count(text: &str, part: &str) -> usize {
    text.matches(part).count()
}

#[test]
fn a_block_is_as_wide_as_its_share() {
    let profile = Profile::from_folded("load", "t_[t];a;b 3\nt_[t];c 1").unwrap();
    let svg = flame_graph(&profile);
    // The whole, the thread, a and b on it, c beside a.
    assert_eq!(count(&svg, "class=\"block\""), 5);
    assert!(svg.contains("<title>a: 3 samples, 75.00%</title><rect x=\"10.00\" y=\"65\" width=\"885.00\""), "{svg}");
    assert!(svg.contains("<title>c: 1 sample, 25.00%</title><rect x=\"895.00\" y=\"65\" width=\"295.00\""), "{svg}");
}

#[test]
fn what_was_waited_for_has_a_colour_of_its_own() {
    let mut profile = Profile::new("wall", Unit::Nanoseconds);
    profile.add(&[Frame::work("list")], Cost { weight: 1_000, calls: 2 });
    profile.add(&[Frame::work("list"), Frame::waiting("lock, held by import")], Cost { weight: 9_000, calls: 1 });
    let svg = flame_graph(&profile);
    assert!(svg.contains("<title>list: 10.0 µs, 100.00%, 1.00 µs of it alone, 2 calls</title>"), "{svg}");
    assert_eq!(count(&svg, ">waiting<"), 1);
    let fill = svg.split("lock, held by import: ").nth(1).unwrap().split("fill=\"rgb(").nth(1).unwrap();
    let numbers: Vec<u8> = fill.split(')').next().unwrap().split(',').map(|number| number.parse().unwrap()).collect();
    assert!(numbers[2] > numbers[0] && numbers[2] > numbers[1], "not blue: {numbers:?}");
    assert_eq!(count(&flame_graph(&Profile::from_folded("", "a 1").unwrap()), ">waiting<"), 0);
}

#[test]
fn what_grew_is_red_and_what_fell_is_blue() {
    let before = Profile::from_folded("a.folded", "x 50\ny 50").unwrap();
    let after = Profile::from_folded("b.folded", "x 900\ny 50\nz 50").unwrap();
    let svg = flame_diff(&Diff { before: &before, after: &after });
    let fill = |says: &str| svg.split(says).nth(1).unwrap().split("fill=\"").nth(1).unwrap().split('"').next().unwrap();
    assert_eq!(fill("x: 50.00% before, 90.00% now, +40.00"), "rgb(255,80,80)");
    assert_eq!(fill("y: 50.00% before, 5.00% now, -45.00"), "rgb(80,80,255)");
    assert_eq!(fill("z: 0.00% before, 5.00% now, +5.00"), "rgb(255,162,162)");
    assert_eq!(fill("all: 100.00% before, 100.00% now, +0.00"), "rgb(235,235,235)");
}

#[test]
fn names_cannot_break_the_file() {
    let mut profile = Profile::new("<b> & \u{7}]]>", Unit::Nanoseconds);
    profile.note("a < b");
    profile.add(&[Frame::work("<Vec<&str> as \"X\">::f\n\u{ffff}")], Cost { weight: 1, calls: 0 });
    let svg = flame_graph(&profile);
    let before_script = svg.split("<script>").next().unwrap();
    assert!(before_script.contains("&lt;Vec&lt;&amp;str&gt; as \"X\"&gt;::f ?: 1 ns"), "{before_script}");
    assert!(before_script.contains("<title>&lt;b&gt; &amp;  ]]&gt;</title>") && before_script.contains(">a &lt; b<"));
    assert_eq!(count(&svg, "]]>"), 1);
}

#[test]
fn what_cannot_be_seen_is_not_drawn() {
    let mut lines = String::from("wide 1000000\n");
    (0..1000).for_each(|number| lines.push_str(&format!("narrow{number} 1\n")));
    assert_eq!(count(&flame_graph(&Profile::from_folded("", &lines).unwrap()), "class=\"block\""), 2);
    assert!(flame_graph(&Profile::new("", Unit::Nanoseconds)).contains("Nothing was seen."));
}

#[test]
fn a_stack_without_end_is_drawn_to_its_512th_frame() {
    let stack = vec!["f"; 100_000].join(";");
    let svg = flame_graph(&Profile::from_folded("", &format!("{stack} 1")).unwrap());
    assert_eq!(count(&svg, "class=\"block\""), 513);
}
