//! Content after `basic.publish`: one header frame, then body frames until the body is as long as the header says.

use super::Violation;
use crate::content::BASIC_CLASS_ID;
use crate::frame::FrameKind;
use crate::reply::ReplyCode;

/// How much of a message's content has come. A value: a server that has to look at a frame again keeps the one from before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ContentProgress {
    /// Bytes of the body that are still to come; `None` while the header is.
    body_left: Option<u64>,
}

impl ContentProgress {
    /// The header has come, and announces so many bytes of body.
    #[inline]
    #[must_use]
    pub fn with_header(body_len: u64) -> Self {
        ContentProgress { body_left: Some(body_len) }
    }

    /// Whether a frame of this kind may come next.
    #[inline]
    pub fn check(self, kind: FrameKind) -> Result<(), Violation> {
        match (kind, self.body_left) {
            (FrameKind::Header, None) | (FrameKind::Body, Some(_)) => Ok(()),
            _ => Err(self.violation()),
        }
    }

    /// A part of the body has come.
    #[inline]
    pub fn after_body(self, part_len: usize) -> Result<Self, Violation> {
        match self.body_left.and_then(|left| left.checked_sub(part_len as u64)) {
            Some(left) => Ok(ContentProgress { body_left: Some(left) }),
            None => Err(Violation::new(ReplyCode::FrameError, "content body frame exceeds remaining content size")),
        }
    }

    /// Bytes of the body that are still to come, as far as is known.
    #[inline]
    #[must_use]
    pub fn body_left(self) -> Option<u64> {
        self.body_left
    }

    /// Whether nothing is missing.
    #[inline]
    #[must_use]
    pub fn is_complete(self) -> bool {
        self.body_left == Some(0)
    }

    /// What is said where anything else comes than what is expected next.
    #[cold]
    #[must_use]
    pub fn violation(self) -> Violation {
        match self.body_left {
            None => Violation::new(
                ReplyCode::UnexpectedFrame,
                format!("expected content header for class {BASIC_CLASS_ID}, got non content header frame instead"),
            ),
            Some(_) => {
                Violation::new(ReplyCode::UnexpectedFrame, "expected content body, got non content body frame instead")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_refused(progress: ContentProgress, kind: FrameKind, text: &str) {
        assert_eq!(progress.check(kind), Err(Violation::new(ReplyCode::UnexpectedFrame, text.to_owned())));
    }

    #[test]
    fn a_header_comes_first_and_then_bodies_only() {
        let expected_header = "expected content header for class 60, got non content header frame instead";
        let begun = ContentProgress::default();
        assert_eq!(begun.check(FrameKind::Header), Ok(()));
        check_refused(begun, FrameKind::Body, expected_header);
        check_refused(begun, FrameKind::Method, expected_header);
        let expected_body = "expected content body, got non content body frame instead";
        let with_header = ContentProgress::with_header(3);
        assert_eq!(with_header.check(FrameKind::Body), Ok(()));
        check_refused(with_header, FrameKind::Header, expected_body);
        check_refused(with_header, FrameKind::Method, expected_body);
    }

    #[test]
    fn content_is_complete_with_the_last_byte_and_never_longer() {
        assert!(!ContentProgress::default().is_complete());
        assert!(ContentProgress::with_header(0).is_complete());
        let after_two = ContentProgress::with_header(3).after_body(2).expect("shorter");
        assert_eq!((after_two.is_complete(), after_two.body_left()), (false, Some(1)));
        assert!(after_two.after_body(1).expect("just as long").is_complete());
        let too_long = Violation::new(ReplyCode::FrameError, "content body frame exceeds remaining content size");
        assert_eq!(after_two.after_body(2), Err(too_long.clone()));
        assert_eq!(ContentProgress::default().after_body(1), Err(too_long));
    }
}
