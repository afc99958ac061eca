//! The fuzz targets' checks on mutated inputs, as many as a test run has time for.
//!
//! `AMQP_FUZZ_ROUNDS` sets how many for each target, `AMQP_FUZZ_SEED` where they begin. A failure names the seed of the
//! one input. For coverage-guided fuzzing see `fuzz/Cargo.toml`.

use crate::checks;
use crate::golden;
use crate::methods;
use crate::random::Random;
use crate::tables;
use amqp::FrameKind;
use std::panic::{AssertUnwindSafe, catch_unwind};

const ROUNDS: u64 = 200_000;

/// Octets that lie at the edges of lengths, types and flags.
const EDGES: &[u8] = &[0, 1, 2, 3, 0x7F, 0x80, 0xCE, 0xFE, 0xFF, b'A', b'F', b'S', b'V', b'l', b't', b'x'];

fn number_from_env(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |value| value.parse().expect("a number"))
}

fn check_mutations(corpus: &[Vec<u8>], check: fn(&[u8])) {
    assert!(!corpus.is_empty(), "mutations need something to begin with");
    corpus.iter().for_each(|input| check(input));
    let first_seed = number_from_env("AMQP_FUZZ_SEED", 0);
    for seed in first_seed..first_seed + number_from_env("AMQP_FUZZ_ROUNDS", ROUNDS) {
        let mut random = Random::from_seed(seed);
        let input = mutated(corpus, &mut random);
        if catch_unwind(AssertUnwindSafe(|| check(&input))).is_err() {
            panic!("failed with AMQP_FUZZ_SEED={seed}, input {input:02x?}");
        }
    }
}

fn mutated(corpus: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut input = corpus[random.below(corpus.len())].clone();
    for _ in 0..=random.below(4) {
        let at = random.below(input.len() + 1);
        match random.below(7) {
            0 => input.truncate(at),
            1 => input.insert(at, EDGES[random.below(EDGES.len())]),
            2 => input.extend(random.bytes(at % 8)),
            3 if at < input.len() => drop(input.remove(at)),
            4 if at < input.len() => input[at] ^= 1 << random.below(8),
            5 if at < input.len() => input[at] = EDGES[random.below(EDGES.len())],
            _ => {
                let other = &corpus[random.below(corpus.len())];
                let from = random.below(other.len() + 1);
                input.truncate(at);
                input.extend_from_slice(&other[from..]);
            }
        }
    }
    input
}

#[test]
fn mutated_frames_are_frames_or_errors() {
    let corpus: Vec<Vec<u8>> = golden::recordings().iter().flat_map(|file| file.frames()).collect();
    check_mutations(&corpus, checks::frame);
}

#[test]
fn mutated_methods_are_methods_or_errors() {
    let mut corpus = methods::one_of_each();
    corpus.extend(golden::payloads(FrameKind::Method));
    check_mutations(&corpus, checks::method);
}

#[test]
fn mutated_headers_are_headers_or_errors() {
    let mut corpus = golden::payloads(FrameKind::Header);
    corpus.push(crate::properties::payload_with_everything());
    check_mutations(&corpus, checks::header);
}

#[test]
fn mutated_tables_are_tables_or_errors() {
    check_mutations(&tables::samples(), checks::table);
}
