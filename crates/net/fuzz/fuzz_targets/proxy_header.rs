//! Any bytes as a header of the PROXY protocol.

#![no_main]

#[path = "../checks.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|input: &[u8]| checks::proxy_header(input));
