//! Colours of blocks: warm for work, blue for waiting, grey for what is no function; for a comparison red and blue.

use crate::diff::Change;
use crate::frame::{Frame, Kind};

/// A change of so much of the whole has the full colour.
const FULL_CHANGE: f64 = 0.1;

pub(super) fn of_frame(frame: Option<&Frame>) -> String {
    let Some(frame) = frame else { return "rgb(210,210,210)".to_owned() };
    // Functions of a crate look alike, and the same function always looks the same.
    let krate = hash(frame.name().trim_start_matches('<').split("::").next().unwrap_or_default());
    let own = hash(frame.name());
    let spread = |from: u64, range: u64, by: u64| from + by % range;
    let (red, green, blue) = match frame.kind() {
        Kind::Thread => (190, 200, 190),
        Kind::Label => (205, 220, 200),
        Kind::Work => (spread(215, 40, own), spread(100, 120, krate), spread(40, 50, krate / 120)),
        Kind::Waiting => (spread(90, 40, own), spread(145, 35, krate), spread(215, 30, own / 40)),
    };
    format!("rgb({red},{green},{blue})")
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 255")]
pub(super) fn of_change(change: Change) -> String {
    let strength = (change.growth().abs() / FULL_CHANGE).min(1.0);
    let rest = (245.0 - 165.0 * strength) as u8;
    match change.growth() {
        growth if growth.abs() < 0.0005 => "rgb(235,235,235)".to_owned(),
        growth if growth > 0.0 => format!("rgb(255,{rest},{rest})"),
        _ => format!("rgb({rest},{rest},255)"),
    }
}

/// FNV-1a.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)) >> 8
}
