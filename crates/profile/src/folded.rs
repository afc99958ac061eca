//! Folded stacks: `root;…;leaf 12`, one stack a line, as flamegraph.pl, speedscope and others read them.
//!
//! Frames that are not functions which work carry a mark behind their name: `_[t]` a thread, `_[l]` a kind of work, `_[w]` what was
//! waited for. Other programs show it as a part of the name.

use std::fmt::{self, Write};

use crate::frame::{Frame, Kind};
use crate::stacks::{Cost, Profile, Unit};

const MARKED: &[Kind] = &[Kind::Thread, Kind::Label, Kind::Waiting];

/// A line that is no stack.
#[derive(Debug, PartialEq, Eq)]
pub struct FoldedError {
    line: usize,
}

impl fmt::Display for FoldedError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "line {} is not a folded stack: frames with ';' between them, a space, and a whole number",
            self.line
        )
    }
}

impl std::error::Error for FoldedError {}

impl Profile {
    /// Its stacks, one a line. How often functions were called is not part of this form.
    pub fn to_folded(&self) -> String {
        let mut text = String::new();
        for (stack, cost) in self.stacks() {
            for (position, frame) in stack.iter().enumerate() {
                text.push_str(if position == 0 { "" } else { ";" });
                text.push_str(frame.name());
                text.push_str(frame.kind().mark());
            }
            let _ = writeln!(text, " {}", cost.weight);
        }
        text
    }

    /// Stacks from lines, ours or another program's.
    pub fn from_folded(title: &str, text: &str) -> Result<Profile, FoldedError> {
        let mut profile = Profile::new(title, Unit::Samples { period_ns: 0 });
        for (position, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let error = || FoldedError { line: position + 1 };
            let (stack, weight) = line.trim_end().rsplit_once(' ').ok_or_else(error)?;
            let weight = weight.parse().map_err(|_| error())?;
            let stack: Vec<Frame> = stack.split(';').map(frame).collect();
            profile.add(&stack, Cost { weight, calls: 0 });
        }
        Ok(profile)
    }
}

fn frame(text: &str) -> Frame {
    let marked = MARKED.iter().find_map(|kind| Some((*kind, text.strip_suffix(kind.mark())?)));
    let (kind, name) = marked.unwrap_or((Kind::Work, text));
    Frame::new(kind, name)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_stack_is_one_line_with_its_root_first() {
        let mut profile = Profile::new("", Unit::Nanoseconds);
        let stack =
            [Frame::thread("io 1"), Frame::label("journal"), Frame::work("<[u8; 4]>::sum"), Frame::waiting("lock")];
        profile.add(&stack, Cost { weight: 12, calls: 3 });
        assert_eq!(profile.to_folded(), "io 1_[t];journal_[l];<[u8, 4]>::sum;lock_[w] 12\n");
    }

    #[test]
    fn lines_of_other_programs_are_read() {
        let profile = Profile::from_folded("", "java;a b;c_[k] 3\r\n\nmain 4\n").unwrap();
        assert_eq!(profile.to_folded(), "java;a b;c_[k] 3\nmain 4\n");
    }

    #[test]
    fn what_is_no_stack_is_said_with_its_line() {
        for text in ["a;b 1\nwhat", "a;b 1\na 1.5", "a;b 1\na -2", "a 1\n12"] {
            assert_eq!(Profile::from_folded("", text).unwrap_err(), FoldedError { line: 2 }, "{text}");
        }
    }

    fn any_frame() -> impl Strategy<Value = Frame> {
        let kinds = [Kind::Thread, Kind::Label, Kind::Work, Kind::Waiting];
        // A name that ends as a mark does is read as one; no function's does.
        let name = any::<String>().prop_filter("no mark", |name| !name.ends_with(']') && !name.contains('\u{85}'));
        (proptest::sample::select(kinds.to_vec()), name).prop_map(|(kind, name)| Frame::new(kind, &name))
    }

    proptest! {
        #[test]
        fn what_was_written_is_read_again(
            stacks in proptest::collection::vec((proptest::collection::vec(any_frame(), 1..6), 1..u64::MAX / 64), 0..20),
        ) {
            let mut profile = Profile::new("", Unit::Samples { period_ns: 0 });
            for (stack, weight) in &stacks {
                profile.add(stack, Cost { weight: *weight, calls: 0 });
            }
            let again = Profile::from_folded("", &profile.to_folded()).unwrap();
            prop_assert_eq!(profile.stacks(), again.stacks());
        }

        #[test]
        fn no_text_is_too_much(text in "[a-z;_\\[\\]tlw 0-9\\n]{0,200}") {
            let _ = Profile::from_folded("", &text);
        }
    }
}
