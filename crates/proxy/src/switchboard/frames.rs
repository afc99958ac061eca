//! Frames as they came, for another channel and another side.

use amqp::content::put_body_frames;
use amqp::frame::{FRAME_HEAD_LEN, Frame, FrameKind, decode_frame, put_frame};

/// Appends whole frames under another channel number. What is longer than the other side takes is cut.
pub(crate) fn put_frames(out: &mut Vec<u8>, frames: &[u8], channel: u16, frame_len_max: u32) {
    let mut at = 0;
    let start = out.len();
    out.extend_from_slice(frames);
    let number = channel.to_be_bytes();
    while let Some(head) = frames.get(at..at + FRAME_HEAD_LEN) {
        let payload_len = u32::from_be_bytes([head[3], head[4], head[5], head[6]]) as usize;
        let len = FRAME_HEAD_LEN + payload_len + 1;
        if len > frame_len_max as usize && head[0] == FrameKind::Body as u8 {
            out.truncate(start + at);
            put_cut(out, &frames[at..], channel, frame_len_max);
            return;
        }
        out[start + at + 1..start + at + 3].copy_from_slice(&number);
        at += len;
    }
}

/// The longest of these frames that cannot be cut.
pub(crate) fn uncuttable_len(frames: &[u8]) -> usize {
    let (mut at, mut longest) = (0, 0);
    while let Some(head) = frames.get(at..at + FRAME_HEAD_LEN) {
        let len = FRAME_HEAD_LEN + u32::from_be_bytes([head[3], head[4], head[5], head[6]]) as usize + 1;
        if head[0] != FrameKind::Body as u8 {
            longest = longest.max(len);
        }
        at += len;
    }
    longest
}

/// As [`put_frames`], for frames of which one is too long.
fn put_cut(out: &mut Vec<u8>, frames: &[u8], channel: u16, frame_len_max: u32) {
    let mut at = 0;
    while let Ok(Some((frame, len))) = decode_frame(&frames[at..], 0) {
        if frame.kind == FrameKind::Body {
            put_body_frames(out, channel, frame.payload, frame_len_max);
        } else {
            put_frame(out, &Frame { channel, ..frame });
        }
        at += len;
    }
}
