//! Numbers and texts, read from bytes and checked before every read, and written.

use crate::wire::error::FrameError;

/// What is left to be read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn array<const LEN: usize>(&mut self) -> Result<[u8; LEN], FrameError> {
        let (taken, rest) = self.0.split_first_chunk::<LEN>().ok_or(FrameError::Short)?;
        self.0 = rest;
        Ok(*taken)
    }

    pub(crate) fn bytes(&mut self, len: usize) -> Result<&'a [u8], FrameError> {
        let (taken, rest) = self.0.split_at_checked(len).ok_or(FrameError::Short)?;
        self.0 = rest;
        Ok(taken)
    }

    /// All that is left.
    pub(crate) fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }

    pub(crate) fn end(&self) -> Result<(), FrameError> {
        if self.0.is_empty() { Ok(()) } else { Err(FrameError::Long) }
    }

    pub(crate) fn u8(&mut self) -> Result<u8, FrameError> {
        self.array().map(u8::from_le_bytes)
    }

    pub(crate) fn u16(&mut self) -> Result<u16, FrameError> {
        self.array().map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, FrameError> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, FrameError> {
        self.array().map(u64::from_le_bytes)
    }

    pub(crate) fn u128(&mut self) -> Result<u128, FrameError> {
        self.array().map(u128::from_le_bytes)
    }

    /// A text with its length before it, in two bytes.
    pub(crate) fn text(&mut self, len_max: usize) -> Result<&'a str, FrameError> {
        let len = usize::from(self.u16()?);
        if len > len_max {
            return Err(FrameError::Impossible("length of a text"));
        }
        std::str::from_utf8(self.bytes(len)?).map_err(|_| FrameError::Impossible("text"))
    }
}

/// Appends a text with its length before it, cut at a character if it is longer than `len_max`, which two bytes can say.
pub(crate) fn put_text(to: &mut Vec<u8>, text: &str, len_max: usize) {
    let text = &text[..text.floor_char_boundary(len_max.min(usize::from(u16::MAX)))];
    to.extend_from_slice(&(text.len() as u16).to_le_bytes());
    to.extend_from_slice(text.as_bytes());
}
