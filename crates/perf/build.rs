//! Puts uPlot, which draws the report's charts, into the binary if `make web` has fetched it. Without it, reports have tables.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

const FILES: [(&str, &str); 3] =
    [("UPLOT_SCRIPT", "uPlot.iife.min.js"), ("UPLOT_STYLE", "uPlot.min.css"), ("UPLOT_LICENSE", "LICENSE")];

fn main() {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo says where the crate is"));
    let folder = here.join("../../web/vendor");
    // The folder is always there, and is watched as a whole. Watching a file that is not there would run this, and compile
    // the crate, at each build.
    println!("cargo::rerun-if-changed=build.rs");
    if folder.is_dir() {
        println!("cargo::rerun-if-changed={}", folder.display());
    }
    let vendor = folder.join("uplot");
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
    fs::read(path).is_ok_and(|bytes| !bytes.is_empty() && String::from_utf8(bytes).is_ok())
}
