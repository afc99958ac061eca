//! The names of functions, by their places in a file: from its debug information, which knows what was inlined, or else from its table
//! of symbols.

use std::collections::HashMap;

use object::{Object as _, ObjectSection as _, ObjectSegment as _, ObjectSymbol as _, SymbolKind};

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
    /// The functions of an ELF file. None: it is none.
    pub(super) fn of(file: &'a [u8]) -> Option<Symbols<'a>> {
        let elf = object::File::parse(file).ok()?;
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
            let data = elf.section_by_name(id.name()).and_then(|section| section.data().ok()).unwrap_or_default();
            Ok(Reader::new(data, gimli::LittleEndian))
        };
        let has_lines = elf.section_by_name(gimli::SectionId::DebugInfo.name()).is_some();
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
                let name = frame.function.and_then(|function| Some(demangled(&function.raw_name().ok()?)));
                names.push(name.unwrap_or_else(|| "(unknown)".to_owned()));
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

    const NAME: &str = "tests::a_function_to_be_found";

    #[inline(never)]
    fn a_function_to_be_found(number: u64) -> u64 {
        std::hint::black_box(number) ^ 7
    }

    #[test]
    fn functions_of_this_program_are_found_by_their_offsets() {
        assert_eq!(a_function_to_be_found(0), 7);
        let file = std::fs::read("/proc/self/exe").unwrap();
        let mut symbols = Symbols::of(&file).unwrap();
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
        assert!(Symbols::of(b"").is_none());
        assert!(Symbols::of(b"\x7fELF\x02\x01\x01 and no more").is_none());
    }

    #[test]
    fn names_are_those_of_the_source() {
        assert_eq!(demangled("_ZN5queue4turn4Turn4next17h0123456789abcdefE"), "queue::turn::Turn::next");
        assert_eq!(demangled("memcpy"), "memcpy");
    }
}
