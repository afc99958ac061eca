//! Recordings of real sessions with RabbitMQ (`tests/golden`, made by `record.py` there): every frame decodes, and
//! encodes to the bytes that were recorded.

use amqp::content::{self, ContentHeader};
use amqp::frame::{self, PROTOCOL_HEADER};
use amqp::{Frame, FrameKind, Method};
use std::path::{Path, PathBuf};

/// One session.
pub(crate) struct Recording {
    path: PathBuf,
    lines: Vec<Line>,
}

struct Line {
    number: usize,
    is_client: bool,
    bytes: Vec<u8>,
}

impl Recording {
    /// Everything sent, except protocol headers.
    pub(crate) fn frames(&self) -> Vec<Vec<u8>> {
        self.lines.iter().filter(|line| !line.is_protocol_header()).map(|line| line.bytes.clone()).collect()
    }

    /// In these a client did wrong on purpose.
    fn is_of_an_error(&self) -> bool {
        self.path.to_string_lossy().contains("-error-")
    }
}

impl Line {
    fn is_protocol_header(&self) -> bool {
        self.bytes.starts_with(b"AMQP")
    }
}

pub(crate) fn recordings() -> Vec<Recording> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "hex"))
        .collect();
    paths.sort();
    paths.into_iter().map(read).collect()
}

/// All payloads of a kind that can be decoded.
pub(crate) fn payloads(kind: FrameKind) -> Vec<Vec<u8>> {
    let frames = recordings().into_iter().flat_map(|recording| recording.frames());
    let mut payloads = Vec::new();
    for bytes in frames {
        if let Ok(Some((frame, _))) = frame::decode_frame(&bytes, 0)
            && frame.kind == kind
        {
            payloads.push(frame.payload.to_vec());
        }
    }
    payloads
}

fn read(path: PathBuf) -> Recording {
    let text = std::fs::read_to_string(&path).unwrap();
    let mut lines = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let number = at + 1;
        if line.starts_with('#') || line.trim().is_empty() {
            continue;
        }
        let (is_client, hex) = match line.split_once(' ') {
            Some(("C", hex)) => (true, hex),
            Some(("S", hex)) => (false, hex),
            _ => panic!("{}:{number}: neither C nor S", path.display()),
        };
        lines.push(Line { number, is_client, bytes: bytes_of_hex(hex.trim()) });
    }
    Recording { path, lines }
}

pub(crate) fn bytes_of_hex(hex: &str) -> Vec<u8> {
    assert!(hex.len().is_multiple_of(2), "odd number of hex digits");
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hex digits")).collect()
}

/// The frame decoded to the values in it, and encoded again from these.
fn encoded_again(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let (frame, consumed) = frame::decode_frame(bytes, 0).map_err(|error| error.to_string())?.ok_or("frame is torn")?;
    if consumed != bytes.len() {
        return Err(format!("frame ends after {consumed} bytes"));
    }
    let Frame { channel, payload, .. } = frame;
    let mut out = Vec::new();
    match frame.kind {
        FrameKind::Method => {
            let method = Method::decode(payload).map_err(|error| error.to_string())?;
            frame::put_method(&mut out, channel, &method);
        }
        FrameKind::Header => {
            let header = ContentHeader::decode(payload).map_err(|error| error.to_string())?;
            content::put_header(&mut out, channel, &header);
        }
        // Some clients send one for an empty body; we never do.
        FrameKind::Body if payload.is_empty() => frame::put_frame(&mut out, &frame),
        FrameKind::Body => content::put_body_frames(&mut out, channel, payload, bytes.len() as u32),
        FrameKind::Heartbeat => frame::put_heartbeat(&mut out),
    }
    Ok(out)
}

#[test]
fn recorded_frames_decode_and_encode_to_the_same_bytes() {
    let recordings = recordings();
    assert!(!recordings.is_empty(), "there are recordings");
    for recording in &recordings {
        for line in recording.lines.iter().filter(|line| !line.is_protocol_header()) {
            let at = format!("{}:{}", recording.path.display(), line.number);
            match encoded_again(&line.bytes) {
                Ok(again) => assert_eq!(again, line.bytes, "{at}"),
                Err(error) => assert!(line.is_client && recording.is_of_an_error(), "{at}: {error}"),
            }
        }
    }
}

#[test]
fn recorded_sessions_begin_with_a_protocol_header() {
    for recording in recordings() {
        let first = recording.lines.first().expect("a recording is not empty");
        assert!(first.is_client && (first.bytes == PROTOCOL_HEADER || recording.is_of_an_error()));
    }
}
