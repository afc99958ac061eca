//! `warren plan`: options, files, machines and brokers around the arithmetic.
//!
//! Exit status: 0 done; 1 failed, or this does not fit the machine; 2 bad usage.

use std::io;
use std::path::{Path, PathBuf};

use command_line::{Mistake, Opt, Reader, Style, Word, list};
use perf::results::Results;

use crate::arithmetic::plan;
use crate::limits::Gaps;
use crate::setting::{Key, SETTINGS, Setting, find};
use crate::workload::{Description, Origin};
use crate::{file, live, machine, perf_results, render};

const FAILED: u8 = 1;
const USAGE: u8 = 2;

const INTRODUCTION: &str = "\
usage: warren plan [FILE] [OPTION…]

Calculates the network, disk, memory and processors that a workload needs, and shows the arithmetic of every line.
FILE describes the workload in TOML, with options by their names and _ for -, such as `rate = 20000`.

";

/// What an option does.
#[derive(Clone, Copy)]
enum Meaning {
    From,
    Run,
    Url,
    Here,
    DataDir,
    Json,
    Set,
    Help,
    Setting(&'static Setting),
}

/// Options that are no settings.
const OPTIONS: &[Opt<Meaning>] = &[
    Opt::valued("from", "FILE", Meaning::From, "take the workload from results of warren perf (--json)"),
    Opt::valued("run", "LABEL", Meaning::Run, "select one of several runs"),
    Opt::valued(
        "url",
        "URL",
        Meaning::Url,
        "take it from a running broker: its HTTP API, http://user:password@host:15672, or unix:PATH",
    ),
    Opt::flag(
        "here",
        Meaning::Here,
        "examine this machine, and report for each line whether it fits; measures the disk for some seconds",
    ),
    Opt::valued("data-dir", "DIR", Meaning::DataDir, "where the broker's data will be, for --here"),
    Opt::flag("json", Meaning::Json, "one JSON object instead of text"),
    Opt::valued("set", "KEY=VALUE", Meaning::Set, "the same as --KEY VALUE"),
    Opt::flag("help", Meaning::Help, "print this").also(&["h", "?"]),
];

/// Every setting as an option.
fn settings() -> impl Iterator<Item = Opt<Meaning>> {
    SETTINGS.iter().map(|setting| {
        Opt::valued(setting.name, "", Meaning::Setting(setting), setting.help).or(setting.default.unwrap_or_default())
    })
}

/// How a command ended that did not do what it was to.
#[derive(Debug)]
struct Failure {
    status: u8,
    text: String,
}

impl Failure {
    fn usage(text: impl Into<String>) -> Self {
        Failure { status: USAGE, text: text.into() }
    }

    fn failed(text: impl Into<String>) -> Self {
        Failure { status: FAILED, text: text.into() }
    }
}

/// What a command line says.
#[derive(Debug, Default)]
struct Words {
    description: Description,
    file: Option<PathBuf>,
    from: Option<PathBuf>,
    run: Option<String>,
    url: Option<String>,
    data_dir: Option<PathBuf>,
    is_here: bool,
    is_json: bool,
    wants_help: bool,
}

/// Runs the command: its words, without `warren plan`. Returns the exit status.
#[must_use]
pub fn main(words: &[String]) -> u8 {
    match parse(words).and_then(run) {
        Ok(status) => status,
        Err(Failure { status, text }) => {
            // It may be about what a file or a broker says.
            eprintln!("warren plan: {}", human::printable(&text));
            status
        }
    }
}

fn run(words: Words) -> Result<u8, Failure> {
    if words.wants_help {
        return print(&help()).map(|()| 0);
    }
    let is_json = words.is_json;
    let (description, gaps) = gather(words)?;
    let workload = description.resolve().map_err(Failure::usage)?;
    let sheet = plan(&workload, &gaps);
    print(&if is_json { render::json(&sheet) } else { render::text(&sheet) })?;
    Ok(if sheet.fits() == Some(false) { FAILED } else { 0 })
}

/// What is said, and what is found: options before the file, the file before results, a broker and the machine.
fn gather(words: Words) -> Result<(Description, Gaps), Failure> {
    let mut description = words.description;
    if let Some(path) = &words.file {
        let text = std::fs::read_to_string(path)
            .map_err(|error| Failure::failed(format!("cannot read {}: {error}", path.display())))?;
        description.merge(file::read(&text, &path.display().to_string()).map_err(Failure::failed)?);
    }
    if let Some(path) = &words.from {
        description.merge(from_results(path, words.run.as_deref())?);
    }
    if let Some(url) = &words.url {
        let is_rate_said = description.is_said(Key::Rate) || description.is_said(Key::Throughput);
        description.merge(live::ask(url, is_rate_said).map_err(Failure::failed)?);
    }
    let mut gaps = Gaps::new();
    if words.is_here {
        // What contradicts itself need not wait for the disk.
        description.clone().resolve().map_err(Failure::usage)?;
        let found = machine::look(words.data_dir).map_err(Failure::failed)?;
        description.merge(found.description);
        gaps = found.gaps;
    }
    Ok((description, gaps))
}

fn from_results(path: &Path, label: Option<&str>) -> Result<Description, Failure> {
    let results = Results::load(path).map_err(|error| Failure::failed(error.to_string()))?;
    perf_results::describe(&results, label, &path.display().to_string()).map_err(Failure::failed)
}

fn parse(words: &[String]) -> Result<Words, Failure> {
    let options: Vec<_> = OPTIONS.iter().copied().chain(settings()).collect();
    let mut parsed = Words::default();
    for word in Reader::new(&options, Style::Gnu, words) {
        match word.map_err(misread)? {
            Word::Bare(word, _) => take_file(&mut parsed, word)?,
            Word::Option(said) => take(&mut parsed, said.option.means, said.value())?,
        }
    }
    check(&parsed).map(|()| parsed)
}

fn take_file(parsed: &mut Words, word: &str) -> Result<(), Failure> {
    match parsed.file.replace(word.into()) {
        None => Ok(()),
        Some(first) => {
            Err(Failure::usage(format!("one file describes a workload, not both {} and {word}", first.display())))
        }
    }
}

fn take(parsed: &mut Words, meaning: Meaning, value: &str) -> Result<(), Failure> {
    match meaning {
        Meaning::From => parsed.from = Some(value.into()),
        Meaning::Run => parsed.run = Some(value.to_owned()),
        Meaning::Url => parsed.url = Some(value.to_owned()),
        Meaning::Here => parsed.is_here = true,
        Meaning::DataDir => parsed.data_dir = Some(value.into()),
        Meaning::Json => parsed.is_json = true,
        Meaning::Help => parsed.wants_help = true,
        Meaning::Setting(setting) => set(&mut parsed.description, setting, value)?,
        Meaning::Set => {
            let (key, value) = value
                .split_once('=')
                .ok_or_else(|| Failure::usage(format!("--set requires KEY=VALUE, and '{value}' has no '='")))?;
            let setting = find(key.trim()).ok_or_else(|| unknown_key(key.trim()))?;
            set(&mut parsed.description, setting, value)?;
        }
    }
    Ok(())
}

fn set(description: &mut Description, setting: &Setting, value: &str) -> Result<(), Failure> {
    description.read(setting, value, Origin::Option).map_err(Failure::usage)
}

fn check(words: &Words) -> Result<(), Failure> {
    let sentence = match words {
        _ if words.wants_help => return Ok(()),
        Words { from: Some(_), url: Some(_), .. } => "--from and --url exclude each other: both describe the workload",
        Words { run: Some(_), from: None, .. } => "--run selects from results: it requires --from",
        Words { data_dir: Some(_), is_here: false, .. } => {
            "--data-dir is the place where --here measures the disk: it requires --here"
        }
        _ => return Ok(()),
    };
    Err(Failure::usage(sentence))
}

fn misread(mistake: Mistake) -> Failure {
    match &mistake {
        Mistake::Unknown { closest, .. } => unknown(&mistake.to_string(), closest.as_deref()),
        _ => Failure::usage(mistake.to_string()),
    }
}

fn unknown_key(key: &str) -> Failure {
    unknown(&format!("unknown key '{key}'"), human::closest(key, SETTINGS.iter().map(|setting| setting.name)))
}

fn unknown(sentence: &str, closest: Option<&str>) -> Failure {
    let hint = closest.map_or("see warren plan --help".to_owned(), |near| format!("did you mean '{near}'?"));
    Failure::usage(format!("{sentence}; {hint}"))
}

fn help() -> String {
    let settings: Vec<_> = settings().collect();
    let [own, settings] = [OPTIONS, &settings].map(|options| list(options, usize::MAX));
    format!("{INTRODUCTION}{own}\nThe workload and the machines:\n\n{settings}")
}

/// Writes to standard output. A reader that has stopped to read, as `head` does, has read enough.
fn print(text: &str) -> Result<(), Failure> {
    print_to(io::stdout().lock(), text)
}

/// What is printed may be a file's words, or a broker's: a terminal is to show them, not to obey.
fn print_to(mut out: impl io::Write, text: &str) -> Result<(), Failure> {
    match out.write_all(human::printable(text).as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::failed(format!("cannot write: {error}")))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_shown() {
        let mut out = Vec::new();
        assert!(print_to(&mut out, "a plan for \u{1b}[2J\u{202e}\n").is_ok());
        assert_eq!(String::from_utf8(out).unwrap(), "a plan for \\u001b[2J\\u202e\n");
    }

    fn parsed(line: &str) -> Result<Words, Failure> {
        parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[track_caller]
    fn check_refused(line: &str, expected: &str) {
        let failure = parsed(line).unwrap_err();
        assert_eq!((failure.status, failure.text.as_str()), (USAGE, expected));
    }

    #[test]
    fn options_stand_anywhere_and_are_settings_or_words() {
        let words =
            parsed("--rate 5 orders.toml --body=4KiB --here --data-dir /data --set load_balancers=2 --json").unwrap();
        assert_eq!(words.file.as_deref(), Some(Path::new("orders.toml")));
        assert_eq!(words.data_dir.as_deref(), Some(Path::new("/data")));
        assert!(words.is_here && words.is_json && !words.wants_help);
        let workload = words.description.resolve().unwrap();
        assert_eq!(workload.value(Key::Rate), 5.0);
        assert_eq!(workload.value(Key::Body), 4_096.0);
        assert_eq!(workload.value(Key::LoadBalancers), 2.0);
    }

    #[test]
    fn what_is_unknown_or_contradicts_is_refused_with_a_sentence() {
        check_refused("--rat 5", "unknown option '--rat'; did you mean '--rate'?");
        check_refused("-x", "unknown option '-x'; see warren plan --help");
        check_refused("--rate", "option '--rate' needs a value");
        check_refused("--json=yes", "option '--json' takes no value");
        check_refused("--set rate", "--set requires KEY=VALUE, and 'rate' has no '='");
        check_refused("--set rat=1", "unknown key 'rat'; did you mean 'rate'?");
        check_refused("--body 5XB", "body must be a size such as 4KiB or 2MB, not '5XB'");
        check_refused("a.toml b.toml", "one file describes a workload, not both a.toml and b.toml");
        check_refused("--from a --url b", "--from and --url exclude each other: both describe the workload");
        check_refused("--run a", "--run selects from results: it requires --from");
        check_refused("--data-dir a", "--data-dir is the place where --here measures the disk: it requires --here");
    }

    #[test]
    fn help_has_every_option() {
        let help = help();
        for name in OPTIONS.iter().map(|option| option.long).chain(SETTINGS.iter().map(|setting| setting.name)) {
            assert!(help.contains(&format!("  --{name} ")), "{name}");
        }
    }
}
