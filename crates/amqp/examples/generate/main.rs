//! Writes `src/generated/` from `protocol/amqp0-9-1.txt`: `cargo run -p amqp --example generate`.

mod generator;

use std::io;
use std::path::Path;

fn main() -> io::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let protocol = std::fs::read_to_string(root.join("protocol/amqp0-9-1.txt"))?;
    for (name, text) in generator::generate(&protocol).map_err(io::Error::other)? {
        std::fs::write(root.join("src/generated").join(name), text)?;
    }
    Ok(())
}
