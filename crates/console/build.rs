//! Puts the console's files into the binary, each also compressed: what `make web` has made of `web/console`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use flate2::Compression;
use flate2::write::GzEncoder;

/// Folders below `web`, and by which paths their files are known.
const FOLDERS: [(&str, &str); 3] =
    [("console", "console"), ("console/style", "console/style"), ("vendor/console", "console")];
/// The fingerprint of the scripts that `make web` has seen.
const SOURCES: &str = "console/SOURCES";

fn main() {
    let web =
        PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo says where the crate is")).join("../../web");
    let output = PathBuf::from(env::var_os("OUT_DIR").expect("cargo says where to write to"));
    println!("cargo::rerun-if-changed=build.rs");
    // The folder of what is made is always there, and is watched as a whole: watching a folder that is not there would run this at each
    // build.
    for folder in ["console", "vendor"].map(|folder| web.join(folder)).iter().filter(|folder| folder.is_dir()) {
        println!("cargo::rerun-if-changed={}", folder.display());
    }
    let mut files = BTreeMap::new();
    for (folder, path) in FOLDERS {
        read_folder(&web.join(folder), path, folder.starts_with("vendor"), &mut files);
    }
    let seen = files.remove(SOURCES).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    if seen.is_some_and(|seen| seen != fingerprint(&web.join("console"))) {
        println!("cargo::warning=web/console has changed since the console was made: `make web` makes it again");
    }
    let mut source = String::from("static ASSETS: &[(&str, Asset)] = &[\n");
    for (index, (path, bytes)) in files.iter().enumerate() {
        let (plain, gzip) = (format!("{index}.plain"), format!("{index}.gz"));
        fs::write(output.join(&plain), bytes).expect("the output folder is cargo's own");
        fs::write(output.join(&gzip), compressed(bytes)).expect("the output folder is cargo's own");
        let (content_type, etag) = (content_type(path), format!("\"{:016x}\"", hash_of([&bytes[..]])));
        writeln!(
            source,
            "({path:?}, Asset {{ content_type: {content_type:?}, etag: {etag:?}, plain: include_bytes!(concat!(env!(\"OUT_DIR\"), \
             \"/{plain}\")), gzip: include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{gzip}\")) }}),"
        )
        .expect("text can be appended to text");
    }
    let version = format!("{:016x}", hash_of(files.iter().flat_map(|(path, bytes)| [path.as_bytes(), bytes])));
    writeln!(source, "];\n/// Another one for each build with other files.\npub const VERSION: &str = {version:?};")
        .expect("text can be appended to text");
    fs::write(output.join("assets.rs"), source).expect("the output folder is cargo's own");
}

/// The files of one folder, not of folders within it. Scripts are only those that were made.
fn read_folder(folder: &Path, path: &str, has_scripts: bool, files: &mut BTreeMap<String, Vec<u8>>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten().filter(|entry| entry.path().is_file()) {
        let name = entry.file_name().to_string_lossy().into_owned();
        if let Ok(bytes) = fs::read(entry.path())
            && (has_scripts || !name.ends_with(".js"))
        {
            files.insert(format!("{path}/{name}"), bytes);
        }
    }
}

/// The same as in `web/build.mjs`: over the paths and contents of all scripts.
fn fingerprint(folder: &Path) -> String {
    let mut files = BTreeMap::new();
    walk(folder, "", &mut files);
    let parts = files.iter().flat_map(|(path, bytes)| [path.as_bytes(), b"\n", &bytes[..]]);
    format!("{:016x}", hash_of(parts))
}

fn walk(folder: &Path, path: &str, files: &mut BTreeMap<String, Vec<u8>>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = format!("{path}{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            walk(&entry.path(), &format!("{name}/"), files);
        } else if name.ends_with(".js")
            && let Ok(bytes) = fs::read(entry.path())
        {
            files.insert(name, bytes);
        }
    }
}

fn content_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, ending)| ending) {
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("html") => "text/html; charset=utf-8",
        _ => "text/plain; charset=utf-8",
    }
}

fn compressed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("writing to memory cannot fail")
}

/// FNV-1a of 64 bits.
fn hash_of<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> u64 {
    let bytes = parts.into_iter().flatten();
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}
