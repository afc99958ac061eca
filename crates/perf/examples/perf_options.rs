//! Prints `docs/perf-options.md`.

use std::io::Write as _;

fn main() -> std::io::Result<()> {
    std::io::stdout().write_all(perf::perftest::render_reference().as_bytes())
}
