//! One line of the picture: text in colours, and never a character that commands the terminal.

use std::fmt::Write as _;

/// A terminal's colours, by their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Colour {
    Red = 1,
    Green = 2,
    Yellow = 3,
    Blue = 4,
    Magenta = 5,
    Cyan = 6,
    Grey = 8,
}

/// How a piece of text looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Style {
    colour: Option<Colour>,
    is_bold: bool,
}

impl Style {
    pub(super) const PLAIN: Style = Style { colour: None, is_bold: false };
    pub(super) const BOLD: Style = Style { colour: None, is_bold: true };

    pub(super) const fn of(colour: Colour) -> Self {
        Style { colour: Some(colour), is_bold: false }
    }

    pub(super) const fn bold(self) -> Self {
        Style { is_bold: true, ..self }
    }
}

/// Pieces of text, one after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Line {
    spans: Vec<(String, Style)>,
}

impl Line {
    /// The line with a piece of text at its end, less its control characters.
    pub(super) fn with(mut self, text: &str, style: Style) -> Self {
        let text: String = text.chars().filter(|char| !char.is_control()).collect();
        self.spans.push((human::printable(&text).into_owned(), style));
        self
    }

    /// Its columns.
    pub(super) fn width(&self) -> usize {
        self.spans.iter().map(|(text, _)| text.chars().count()).sum()
    }

    /// Writes what fits into `width` columns.
    pub(super) fn write(&self, width: usize, has_colours: bool, output: &mut String) {
        let mut room = width;
        for (text, style) in &self.spans {
            let end = text.char_indices().nth(room).map_or(text.len(), |(end, _)| end);
            let text = &text[..end];
            room -= text.chars().count();
            let colour = style.colour.filter(|_| has_colours);
            if style.is_bold {
                output.push_str("\x1b[1m");
            }
            if let Some(colour) = colour {
                let _ = write!(output, "\x1b[38;5;{}m", colour as u8);
            }
            output.push_str(text);
            if style.is_bold || colour.is_some() {
                output.push_str("\x1b[0m");
            }
        }
    }
}
