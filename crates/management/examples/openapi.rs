//! Prints `docs/openapi.json`.

use std::io::Write as _;

fn main() -> std::io::Result<()> {
    writeln!(std::io::stdout(), "{:#}", management::openapi_description())
}
