//! The SVG file around the blocks.

use std::fmt::Write;

use super::blocks::{Block, Blocks};

/// All in pixels.
const WIDTH: f64 = 1200.0;
const MARGIN: f64 = 10.0;
const LEVEL_HEIGHT: usize = 17;
const HEAD_HEIGHT: usize = 48;
const LINE_HEIGHT: usize = 16;
const FOOT_HEIGHT: usize = 24;
/// Of a letter, on average, and what is left free around a name.
const LETTER_WIDTH: f64 = 6.6;
const PADDING: f64 = 3.0;

const STYLE: &str = "text{font:12px ui-monospace,monospace;fill:#111}.title{font-size:16px}.note{fill:#555}\
    .button{cursor:pointer;fill:#24c}.block{cursor:pointer}.block:hover rect{stroke:#000}.beneath{opacity:.5}.found rect{fill:#c3f}";

/// A colour and what it means.
#[derive(Debug)]
pub(super) struct Legend {
    pub(super) fill: &'static str,
    pub(super) text: &'static str,
}

/// All of a flame graph.
#[derive(Debug)]
pub(super) struct Page<'a> {
    pub(super) title: &'a str,
    pub(super) notes: &'a [String],
    pub(super) legend: &'a [Legend],
    pub(super) blocks: &'a Blocks,
}

impl Page<'_> {
    pub(super) fn draw(&self) -> String {
        let top = HEAD_HEIGHT + self.notes.len() * LINE_HEIGHT;
        let bottom = top + self.blocks.level_count.max(1) * LEVEL_HEIGHT;
        let height = bottom + FOOT_HEIGHT;
        let mut svg = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
             <svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\">\n\
             <title>{title}</title>\n<style>{STYLE}</style>\n\
             <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
             <text class=\"title\" x=\"{MARGIN}\" y=\"22\">{title}</text>\n",
            title = escaped(self.title),
        );
        self.draw_legend(&mut svg);
        for (line, note) in self.notes.iter().enumerate() {
            let y = 40 + line * LINE_HEIGHT;
            let _ = writeln!(svg, "<text class=\"note\" x=\"{MARGIN}\" y=\"{y}\">{}</text>", escaped(note));
        }
        let buttons = top - 8;
        let _ = write!(
            svg,
            "<text id=\"search\" class=\"button\" x=\"{MARGIN}\" y=\"{buttons}\">Search</text>\n\
             <text id=\"whole\" class=\"button\" x=\"80\" y=\"{buttons}\" visibility=\"hidden\">The whole</text>\n\
             <text id=\"found\" x=\"{}\" y=\"{buttons}\" text-anchor=\"end\"></text>\n\
             <text id=\"says\" x=\"{MARGIN}\" y=\"{}\"></text>\n<g id=\"blocks\">\n",
            WIDTH - MARGIN,
            bottom + 16,
        );
        if self.blocks.all.is_empty() {
            let _ = writeln!(svg, "<text x=\"{MARGIN}\" y=\"{}\">Nothing was seen.</text>", top + 13);
        }
        self.blocks.all.iter().for_each(|block| draw_block(&mut svg, block, bottom));
        let _ = write!(svg, "</g>\n<script><![CDATA[\n{}]]></script>\n</svg>\n", include_str!("flame.js"));
        svg
    }

    fn draw_legend(&self, svg: &mut String) {
        for (position, Legend { fill, text }) in self.legend.iter().enumerate() {
            #[expect(clippy::cast_precision_loss, reason = "there are two")]
            let x = WIDTH - MARGIN - 110.0 * (self.legend.len() - position) as f64;
            let _ = writeln!(
                svg,
                "<rect x=\"{x}\" y=\"11\" width=\"12\" height=\"12\" fill=\"{fill}\"/><text x=\"{}\" y=\"22\">{text}</text>",
                x + 17.0
            );
        }
    }
}

fn draw_block(svg: &mut String, block: &Block, bottom: usize) {
    let whole = WIDTH - 2.0 * MARGIN;
    let (x, width) = (MARGIN + block.start * whole, block.width * whole);
    let y = bottom - (block.level + 1) * LEVEL_HEIGHT;
    let _ = writeln!(
        svg,
        "<g class=\"block\"><title>{}</title><rect x=\"{x:.2}\" y=\"{y}\" width=\"{width:.2}\" height=\"{}\" rx=\"1\" fill=\"{}\"/>\
         <text x=\"{:.2}\" y=\"{}\">{}</text></g>",
        escaped(&block.says),
        LEVEL_HEIGHT - 1,
        block.fill,
        x + PADDING,
        y + 12,
        escaped(&cut(&block.name, width)),
    );
}

/// As much of a name as there is room for; what the script does when widths change.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a width of pixels")]
fn cut(name: &str, width: f64) -> String {
    let room = ((width - 2.0 * PADDING) / LETTER_WIDTH).max(0.0) as usize;
    match (name.chars().count() <= room, room) {
        (true, _) => name.to_owned(),
        (false, 0..3) => String::new(),
        (false, _) => name.chars().take(room - 2).chain("..".chars()).collect(),
    }
}

/// Text as XML wants it.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            // Not for XML, however they are written.
            '\u{fffe}' | '\u{ffff}' => escaped.push('?'),
            char if char.is_control() => escaped.push(' '),
            char => escaped.push(char),
        }
    }
    escaped
}
