//! Puts uPlot, which draws the report's charts, into the binary if `make web` has fetched it. Without it, reports have tables.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

const FILES: [(&str, &str); 3] =
    [("UPLOT_SCRIPT", "uPlot.iife.min.js"), ("UPLOT_STYLE", "uPlot.min.css"), ("UPLOT_LICENSE", "LICENSE")];

fn main() {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo says where the crate is"));
    let vendor = here.join("../../web/vendor/uplot");
    // A folder that is not there yet is watched too: cargo runs this again when it appears.
    println!("cargo::rerun-if-changed={}", vendor.display());
    let mut source = String::new();
    for (name, file) in FILES {
        let path = vendor.join(file);
        let value = match is_text(&path) {
            true => format!("Some(include_str!({:?}))", path.display().to_string()),
            false => "None".to_owned(),
        };
        writeln!(source, "pub(super) const {name}: Option<&str> = {value};").expect("text can be appended to text");
    }
    let output = PathBuf::from(env::var_os("OUT_DIR").expect("cargo says where to write to"));
    fs::write(output.join("uplot.rs"), source).expect("the output folder is cargo's own");
}

/// Whether it is there, and can be included.
fn is_text(path: &Path) -> bool {
    println!("cargo::rerun-if-changed={}", path.display());
    fs::read(path).is_ok_and(|bytes| !bytes.is_empty() && String::from_utf8(bytes).is_ok())
}
