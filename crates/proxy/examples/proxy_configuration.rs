//! Prints `docs/proxy-configuration.md`.

use std::io::Write as _;

fn main() -> std::io::Result<()> {
    std::io::stdout().write_all(proxy::config::render_reference().as_bytes())
}
