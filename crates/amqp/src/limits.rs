//! Every number of the wire format that a reviewer would ask about.
//!
//! Frame lengths count the whole frame: header, payload and end octet. That is what `frame_max` means in
//! `connection.tune`.

/// What we offer as `frame_max` in `connection.tune`; negotiated down, never up. RabbitMQ's default.
pub const FRAME_LEN_MAX: u32 = 131_072;

/// The smallest `frame_max` that a client may ask for, and the bound until it has authenticated (RabbitMQ since 4.1).
pub const FRAME_LEN_MAX_INITIAL: u32 = 8_192;

/// The smallest `frame_max` that AMQP 0-9-1 allows.
const FRAME_LEN_MAX_LEAST: u32 = 4_096;

/// How much longer than negotiated RabbitMQ lets a frame be: some clients count the payload only. A server that wants to be
/// as lenient adds it to the bound given to [`decode_frame`](crate::frame::decode_frame).
pub const FRAME_LEN_FUDGE: u32 = 8;

/// The longest short string: its length is one octet.
pub const SHORT_STR_LEN_MAX: usize = 255;

/// How deep tables and arrays may nest, the outermost table being 1. The decoder recurses, so it needs an end; the
/// deepest table that RabbitMQ itself makes (`x-death` in headers, with its routing keys) has 4.
pub const TABLE_DEPTH_MAX: u32 = 64;

/// The longest field table, without its own length. Tables travel in one frame, so the frame's bound is the narrower one
/// wherever one was negotiated.
pub const TABLE_LEN_MAX: usize = 16 << 20;

const _: () = assert!(FRAME_LEN_MAX_LEAST <= FRAME_LEN_MAX_INITIAL && FRAME_LEN_MAX_INITIAL <= FRAME_LEN_MAX);
