//! The files whose code this process runs, and where they are in its memory.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use crate::signal::Layout;

/// A part of a file that is mapped as code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Module {
    /// The file, or the kernel's name for what is none.
    pub path: String,
    /// What its linker called it: files with the same one are the same.
    pub build_id: Option<String>,
    start: u64,
    end: u64,
    /// Where the part begins in the file.
    offset: u64,
}

/// All of them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Modules {
    /// By their addresses, which do not overlap.
    pub(crate) all: Vec<Module>,
    pub(crate) layout: Option<Layout>,
}

impl Modules {
    /// Those of this process, now.
    pub(crate) fn read() -> io::Result<Modules> {
        let program = fs::read_link("/proc/self/exe").unwrap_or_default();
        let mut modules = Modules::parse(&fs::read_to_string("/proc/self/maps")?, &program.to_string_lossy());
        for module in &mut modules.all {
            // The program's own file may have been replaced; this link leads to it all the same.
            let is_program = Path::new(&module.path) == program;
            let path = if is_program { Path::new("/proc/self/exe") } else { Path::new(&module.path) };
            module.build_id = build_id(path).ok().flatten();
        }
        Ok(modules)
    }

    fn parse(maps: &str, program: &str) -> Modules {
        let lines: Vec<Line<'_>> = maps.lines().filter_map(Line::parse).collect();
        let main_stack_end = lines.iter().find(|line| line.path == "[stack]").map(|line| line.end);
        let mut all: Vec<Module> = lines
            .iter()
            .filter(|line| line.is_code && !line.path.is_empty())
            .map(|line| Module {
                path: line.path.to_owned(),
                build_id: None,
                start: line.start,
                end: line.end,
                offset: line.offset,
            })
            .collect();
        all.sort_unstable_by_key(|module| module.start);
        let mut of_program = all.iter().filter(|module| module.path == program);
        let first = of_program.next().cloned();
        let last = of_program.next_back().cloned().or_else(|| first.clone());
        let layout = first.zip(last).map(|(first, last)| Layout {
            main_stack_end: main_stack_end.unwrap_or(0),
            code_start: first.start,
            code_end: last.end,
        });
        Modules { all, layout }
    }

    /// The module of an address, by its place, and the offset in its file.
    pub(crate) fn find(&self, address: u64) -> Option<(usize, u64)> {
        let place = self.all.partition_point(|module| module.start <= address).checked_sub(1)?;
        let module = &self.all[place];
        (address < module.end).then(|| (place, address - module.start + module.offset))
    }
}

/// A line of `/proc/self/maps`: `start-end rwxp offset device inode path`.
struct Line<'a> {
    start: u64,
    end: u64,
    is_code: bool,
    offset: u64,
    path: &'a str,
}

impl Line<'_> {
    fn parse(line: &str) -> Option<Line<'_>> {
        let mut rest = line;
        let mut word = || {
            let (word, after) = rest.trim_start().split_once(' ').unwrap_or((rest.trim_start(), ""));
            rest = after;
            word
        };
        let (range, rights, offset) = (word(), word(), word());
        word();
        word();
        let (start, end) = range.split_once('-')?;
        let number = |text: &str| u64::from_str_radix(text, 16).ok();
        Some(Line {
            start: number(start)?,
            end: number(end)?,
            is_code: rights.as_bytes().get(2) == Some(&b'x'),
            offset: number(offset)?,
            path: rest.trim_start(),
        })
    }
}

/// How much of a file is read for its notes.
const NOTES_LEN_MAX: u64 = 64 << 10;

/// What the linker of an ELF file (64 bits, little-endian) called it, in hexadecimal. None: nothing, or it is no such file.
pub fn build_id(path: &Path) -> io::Result<Option<String>> {
    const PROGRAM_HEADER_LEN: u64 = 56;
    const NOTE: u32 = 4;
    let mut file = File::open(path)?;
    let mut header = [0; 64];
    if file.read_exact(&mut header).is_err() || header[..6] != *b"\x7fELF\x02\x01" {
        return Ok(None);
    }
    let (table, count) = (u64_at(&header, 32), u16::from_le_bytes([header[56], header[57]]));
    for number in 0..u64::from(count) {
        let mut header = [0; PROGRAM_HEADER_LEN as usize];
        file.seek(SeekFrom::Start(table.saturating_add(number * PROGRAM_HEADER_LEN)))?;
        file.read_exact(&mut header)?;
        if u32_at(&header, 0) != NOTE {
            continue;
        }
        file.seek(SeekFrom::Start(u64_at(&header, 8)))?;
        let mut notes = Vec::new();
        (&mut file).take(u64_at(&header, 32).min(NOTES_LEN_MAX)).read_to_end(&mut notes)?;
        if let Some(id) = build_id_in(&notes) {
            return Ok(Some(id));
        }
    }
    Ok(None)
}

/// Notes are `| name len u32 | content len u32 | kind u32 | name … | content … |`, the last two filled up to words.
fn build_id_in(mut notes: &[u8]) -> Option<String> {
    const BUILD_ID: u32 = 3;
    while notes.len() >= 12 {
        let (name_len, len) = (u32_at(notes, 0) as usize, u32_at(notes, 4) as usize);
        let kind = u32_at(notes, 8);
        let name = notes.get(12..12_usize.checked_add(name_len)?)?;
        let content = notes.get(12 + name_len.next_multiple_of(4)..)?;
        if kind == BUILD_ID && name == b"GNU\0" {
            return Some(content.get(..len)?.iter().map(|byte| format!("{byte:02x}")).collect());
        }
        notes = content.get(len.next_multiple_of(4)..)?;
    }
    None
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|word| word.try_into().ok()).map_or(0, u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).and_then(|word| word.try_into().ok()).map_or(0, u64::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "\
55d0c0000000-55d0c0100000 r--p 00000000 08:01 1234                       /usr/bin/my broker
55d0c0100000-55d0c0300000 r-xp 00100000 08:01 1234                       /usr/bin/my broker
55d0c0300000-55d0c0400000 rw-p 00300000 08:01 1234                       /usr/bin/my broker
7f0000000000-7f0000010000 rw-p 00000000 00:00 0
7f1000000000-7f1000100000 r-xp 00028000 08:01 99                         /lib/libc.so.6
7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0                          [stack]
7ffc00100000-7ffc00102000 r-xp 00000000 00:00 0                          [vdso]
";

    #[test]
    fn an_address_is_an_offset_in_a_file() {
        let modules = Modules::parse(MAPS, "/usr/bin/my broker");
        let paths: Vec<&str> = modules.all.iter().map(|module| module.path.as_str()).collect();
        assert_eq!(paths, ["/usr/bin/my broker", "/lib/libc.so.6", "[vdso]"]);
        assert_eq!(modules.find(0x55d0_c010_0010), Some((0, 0x10_0010)));
        assert_eq!(modules.find(0x7f10_0000_0000), Some((1, 0x2_8000)));
        for elsewhere in [0, 0x55d0_c000_0010, 0x55d0_c030_0000, 0x7f00_0000_0010, u64::MAX] {
            assert_eq!(modules.find(elsewhere), None);
        }
        let layout = modules.layout.unwrap();
        let seen = (layout.main_stack_end, layout.code_start, layout.code_end);
        assert_eq!(seen, (0x7ffc_0002_1000, 0x55d0_c010_0000, 0x55d0_c030_0000));
    }

    #[test]
    fn this_program_is_found_in_its_own_memory() {
        let modules = Modules::read().unwrap();
        let (place, _) = modules.find(this_program_is_found_in_its_own_memory as *const () as u64).unwrap();
        assert_eq!(Path::new(&modules.all[place].path), std::env::current_exe().unwrap());
        let id = modules.all[place].build_id.clone();
        assert_eq!(id, build_id(&std::env::current_exe().unwrap()).unwrap());
    }

    #[test]
    fn a_build_id_is_one_of_the_notes() {
        let mut notes = Vec::new();
        for (name, kind, content) in [(b"GNU\0", 1_u32, [9_u8; 5].as_slice()), (b"GNU\0", 3, &[0xab, 0x01, 0xff])] {
            notes.extend(4_u32.to_le_bytes());
            notes.extend((content.len() as u32).to_le_bytes());
            notes.extend(kind.to_le_bytes());
            notes.extend(name);
            notes.extend(content);
            notes.resize(notes.len().next_multiple_of(4), 0);
        }
        assert_eq!(build_id_in(&notes).as_deref(), Some("ab01ff"));
        for len in 0..notes.len() - 1 {
            assert_eq!(build_id_in(&notes[..len]), None, "{len}");
        }
        assert_eq!(build_id_in(&[0xff; 40]), None);
        assert_eq!(build_id(Path::new("/proc/self/maps")).unwrap(), None);
    }
}
