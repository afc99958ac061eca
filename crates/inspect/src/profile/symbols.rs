//! The names of functions, by their places in a file: from its debug information, which knows what was inlined, or else from its table
//! of symbols.

use std::collections::HashMap;

use object::{CompressionFormat, Object as _, ObjectSection, ObjectSegment as _, ObjectSymbol as _, SymbolKind};

type Reader<'a> = gimli::EndianSlice<'a, gimli::LittleEndian>;

/// The functions of one file.
pub(super) struct Symbols<'a> {
    file: &'a [u8],
    /// Of parts that are mapped: offset, length, and the address that the linker gave it.
    segments: Vec<(u64, u64, u64)>,
    /// Start, end and name of functions, by their starts.
    functions: Vec<(u64, u64, &'a str)>,
    inlined: Option<addr2line::Context<Reader<'a>>>,
    known: HashMap<u64, Vec<String>>,
}

impl<'a> Symbols<'a> {
    /// The functions of an ELF file, whose debug information may be in another. None: it is none.
    pub(super) fn of(file: &'a [u8], debug_file: Option<&'a [u8]>) -> Option<Symbols<'a>> {
        let elf = object::File::parse(file).ok()?;
        let debug = debug_file.and_then(|file| object::File::parse(file).ok());
        let segments = elf
            .segments()
            .map(|segment| (segment.file_range(), segment.address()))
            .map(|((offset, len), address)| (offset, len, address));
        let symbols = elf.symbols().chain(elf.dynamic_symbols());
        let mut functions: Vec<(u64, u64, &str)> = symbols
            .filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.size() > 0)
            .filter_map(|symbol| {
                Some((symbol.address(), symbol.address().saturating_add(symbol.size()), symbol.name().ok()?))
            })
            .collect();
        functions.sort_unstable();
        let section = |id: gimli::SectionId| -> Result<Reader<'a>, gimli::Error> {
            let of_debug = debug.as_ref().unwrap_or(&elf);
            let data = of_debug.section_by_name(id.name()).and_then(|section| plain_data(&section)).unwrap_or_default();
            Ok(Reader::new(data, gimli::LittleEndian))
        };
        let has_lines = debug.as_ref().unwrap_or(&elf).section_by_name(gimli::SectionId::DebugInfo.name()).is_some();
        let dwarf = has_lines.then(|| gimli::Dwarf::load(section).ok()).flatten();
        let inlined = dwarf.and_then(|dwarf| addr2line::Context::from_dwarf(dwarf).ok());
        Some(Symbols { file, segments: segments.collect(), functions, inlined, known: HashMap::new() })
    }

    /// The functions at an offset in the file, the innermost first: several where some were inlined into others. None are known of code
    /// that has no name.
    pub(super) fn at(&mut self, offset: u64) -> &[String] {
        if !self.known.contains_key(&offset) {
            let names = self
                .address(instruction_at(self.file, offset))
                .map(|address| self.look_up(address))
                .unwrap_or_default();
            self.known.insert(offset, names);
        }
        &self.known[&offset]
    }

    fn address(&self, offset: u64) -> Option<u64> {
        let holds = |&&(start, len, _): &&(u64, u64, u64)| offset.checked_sub(start).is_some_and(|within| within < len);
        self.segments.iter().find(holds).map(|(start, _, address)| offset - start + address)
    }

    fn look_up(&self, address: u64) -> Vec<String> {
        let frames = self.inlined.as_ref().and_then(|inlined| inlined.find_frames(address).skip_all_loads().ok());
        let mut names = Vec::new();
        if let Some(mut frames) = frames {
            while let Ok(Some(frame)) = frames.next() {
                let file = frame.location.as_ref().and_then(|location| location.file);
                let name = frame.function.and_then(|function| Some(demangled(&function.raw_name().ok()?)));
                names.push(name.map_or_else(|| "(unknown)".to_owned(), |name| with_module(name, file)));
            }
        }
        let Some(symbol) = self.symbol(address) else { return names };
        // Debug information has the outermost function by a shorter name, or not at all.
        names.pop();
        names.push(symbol);
        names
    }

    fn symbol(&self, address: u64) -> Option<String> {
        let place = self.functions.partition_point(|(start, ..)| *start <= address).checked_sub(1)?;
        let (_, end, name) = self.functions[place];
        (address < end).then(|| demangled(name))
    }
}

/// What a section says, unless it is compressed, as in files of other packages: those are named by their tables of symbols.
fn plain_data<'a>(section: &impl ObjectSection<'a>) -> Option<&'a [u8]> {
    let data = section.compressed_data().ok()?;
    (data.format == CompressionFormat::None).then_some(data.data)
}

/// The instruction that a thread is at whose next one is at an offset. A thread that is in the kernel has the call of the system behind it,
/// and what comes next is often a check of its result that was inlined there.
fn instruction_at(file: &[u8], offset: u64) -> u64 {
    let before = |len: usize| {
        let end = usize::try_from(offset).ok()?;
        file.get(end.checked_sub(len)?..end)
    };
    let is_behind_call = match () {
        () if cfg!(target_arch = "x86_64") => before(2) == Some(&[0x0f, 0x05]),
        () if cfg!(target_arch = "aarch64") => before(4) == Some(&[0x01, 0x00, 0x00, 0xd4]),
        () => false,
    };
    if is_behind_call { offset - 1 } else { offset }
}

/// A name as it is written in the source, without the compiler's hash.
fn demangled(name: &str) -> String {
    format!("{:#}", rustc_demangle::demangle(name))
}

/// The name of a function that was inlined, with its module: line tables have the name alone, so that all functions `new` would be one. The
/// module is that of the file that has the function's lines.
fn with_module(name: String, file: Option<&str>) -> String {
    let is_bare = !name.split('<').next().is_some_and(|own| own.contains("::"));
    match file.and_then(module_of).filter(|_| is_bare) {
        Some(module) => format!("{module}::{name}"),
        None => name,
    }
}

/// `core::result` of `/rustc/…/library/core/src/result.rs`, `tokio::runtime` of `…/tokio-1.54.1/src/runtime/mod.rs`.
fn module_of(file: &str) -> Option<String> {
    let (before, within) = file.rsplit_once("/src/")?;
    let directory = before.rsplit('/').next()?;
    let is_version = |(_, version): &(&str, &str)| version.starts_with(|first: char| first.is_ascii_digit());
    let package = directory.rsplit_once('-').filter(is_version).map_or(directory, |(package, _)| package);
    let modules = within.strip_suffix(".rs")?;
    let modules = match modules.rsplit_once('/') {
        Some((above, "mod")) => above,
        None if ["lib", "main", "mod"].contains(&modules) => "",
        _ => modules,
    };
    let parts = std::iter::once(package).chain(modules.split('/').filter(|part| !part.is_empty()));
    Some(parts.collect::<Vec<_>>().join("::").replace('-', "_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `fdatasync` was shown as `branch<(), Errno>`, and `pwritev` as `le`.
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn a_thread_in_the_kernel_is_at_the_call_of_the_system() {
        let file = [0x90, 0x0f, 0x05, 0x48, 0x05];
        let found: Vec<u64> = (0..=6).map(|offset| instruction_at(&file, offset)).collect();
        assert_eq!(found, [0, 1, 2, 2, 4, 5, 6]);
    }

    #[test]
    fn modules_are_read_from_the_paths_of_files() {
        for (file, expected) in [
            ("/rustc/0123/library/core/src/result.rs", "core::result"),
            ("/home/x/warren/crates/broker/src/session/publish.rs", "broker::session::publish"),
            ("/home/x/.cargo/registry/src/index-0123/tokio-1.54.1/src/runtime/mod.rs", "tokio::runtime"),
            ("/home/x/.cargo/registry/src/index-0123/tokio-util-0.7.1/src/lib.rs", "tokio_util"),
        ] {
            assert_eq!(module_of(file).as_deref(), Some(expected));
        }
        assert_eq!(module_of("main.c"), None);
        let file = Some("/rustc/0123/library/core/src/result.rs");
        assert_eq!(with_module("branch<(), a::Error>".to_owned(), file), "core::result::branch<(), a::Error>");
        assert_eq!(with_module("a::b<T>".to_owned(), file), "a::b<T>");
        assert_eq!(with_module("memcpy".to_owned(), None), "memcpy");
    }

    const NAME: &str = "tests::a_function_to_be_found";

    #[inline(never)]
    fn a_function_to_be_found(number: u64) -> u64 {
        std::hint::black_box(number) ^ 7
    }

    /// The first of these offsets at which a function is named that was inlined into another.
    fn inlined_at(program: &[u8], debug_file: Option<&[u8]>, offsets: impl Iterator<Item = u64>) -> Option<u64> {
        let mut symbols = Symbols::of(program, debug_file).unwrap();
        offsets.into_iter().find(|offset| symbols.at(*offset).len() > 1)
    }

    #[test]
    fn inlined_functions_are_named_by_a_debug_file_unless_it_is_compressed() {
        let folder = std::env::temp_dir().join(format!("warren-debug-file-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let own = std::fs::read_link("/proc/self/exe").unwrap();
        let made = |options: &[&str]| {
            let to = folder.join(options.join(""));
            let done = std::process::Command::new("objcopy").args(options).arg(&own).arg(&to).output();
            done.is_ok_and(|done| done.status.success()).then(|| std::fs::read(to).unwrap())
        };
        if let (Some(program), Some(debug), Some(compressed)) = (
            made(&["--strip-debug"]),
            made(&["--only-keep-debug"]),
            made(&["--only-keep-debug", "--compress-debug-sections"]),
        ) {
            let symbols = Symbols::of(&program, None).unwrap();
            let own = symbols.functions.iter().filter(|(_, _, name)| demangled(name).starts_with("inspect::"));
            let places = own.flat_map(|(start, end, _)| (*start..*end).step_by(16));
            let segment = |address: &u64| {
                let holds = |(_, len, start): &&(u64, u64, u64)| (*start..start + len).contains(address);
                symbols.segments.iter().find(holds).copied()
            };
            let offsets: Vec<u64> = places
                .filter_map(|at| segment(&at).map(|(offset, _, start)| at - start + offset))
                .take(20_000)
                .collect();
            assert_eq!(inlined_at(&program, None, offsets.iter().copied()), None);
            assert!(inlined_at(&program, Some(&debug), offsets.iter().copied()).is_some());
            assert_eq!(inlined_at(&program, Some(&compressed), offsets.iter().copied()), None);
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn functions_of_this_program_are_found_by_their_offsets() {
        assert_eq!(a_function_to_be_found(0), 7);
        let file = std::fs::read("/proc/self/exe").unwrap();
        let mut symbols = Symbols::of(&file, None).unwrap();
        let own = symbols.functions.iter().find(|(_, _, name)| demangled(name).ends_with(NAME)).copied();
        let (start, end, _) = own.expect("this function is in the table of symbols");
        let segment =
            *symbols.segments.iter().find(|(_, len, address)| (*address..address + len).contains(&start)).unwrap();
        let offset = |address: u64| address - segment.2 + segment.0;
        for address in [start, start + (end - start) / 2, end - 1] {
            let names = symbols.at(offset(address));
            assert!(names.last().unwrap().ends_with(NAME), "{names:?}");
        }
        assert!(symbols.at(u64::MAX).is_empty());
    }

    #[test]
    fn what_is_no_program_has_no_functions() {
        assert!(Symbols::of(b"", None).is_none());
        assert!(Symbols::of(b"\x7fELF\x02\x01\x01 and no more", None).is_none());
    }

    #[test]
    fn names_are_those_of_the_source() {
        assert_eq!(demangled("_ZN5queue4turn4Turn4next17h0123456789abcdefE"), "queue::turn::Turn::next");
        assert_eq!(demangled("memcpy"), "memcpy");
    }
}
