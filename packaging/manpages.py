#!/usr/bin/env python3
"""Writes man pages of what the commands say of themselves.

    packaging/manpages.py target/dist/warren FOLDER

`warren --help` names the commands, `warren COMMAND --help` has the page of one, and so on through commands of commands; `warren ctl help` and
`warren perf help` are asked by their own grammar. warren.conf(5) and warren-proxy.conf(5) are made of docs/configuration.md and
docs/proxy-configuration.md. What a help text says is what a page says: nothing is written twice.
"""

import datetime
import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
USAGE = re.compile(r"^usage:\s*(.*)$", re.IGNORECASE)
HEADING = re.compile(r"^(\S.*):$")
# A term, two blanks or more, and what it means.
ENTRY = re.compile(r"^( +)(\S.*?)(?: {2,}(\S.*))?$")
# Commands that have a grammar of their own, and what is asked of them.
PERF_COMMANDS = ("run", "compare", "report", "agent")
PAGES_OF_FILES = {
    "warren.conf": ("docs/configuration.md", "the configuration of the broker"),
    "warren-proxy.conf": ("docs/proxy-configuration.md", "the configuration of warren proxy"),
}


@dataclass
class Page:
    """A page of section 1, or of section 5 for a file."""

    name: str
    summary: str
    body: list[str]
    section: int = 1
    see: list[str] = field(default_factory=list)

    def text(self, version: str, date: str) -> str:
        see = ", ".join(f"\\fB{escaped(name)}\\fR({section})" for name, section in map(split_name, self.see))
        head = [f'.TH "{self.name.upper()}" "{self.section}" "{date}" "warren {version}" "Warren"', ".nh", ".ad l", ".SH NAME", f"{escaped(self.name)} \\- {escaped(self.summary)}"]
        tail = [".SH SEE ALSO", see] if see else []
        return "\n".join([*head, *self.body, *tail]) + "\n"


def split_name(name: str) -> tuple[str, int]:
    return name, 5 if name.endswith(".conf") else 1


def escaped(text: str) -> str:
    """Text for troff: no escapes, options with true hyphens, no line that is taken for a request."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("`", "\\(ga").replace("'", "\\(aq")
    return f"\\&{text}" if text.startswith(".") else text


def asked(*command: str) -> str:
    # COLUMNS is not looked at where there is no terminal: the width is clap's own.
    done = subprocess.run(command, capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL, env={**os.environ, "NO_COLOR": "1"})
    return done.stdout.rstrip()


def of_help(text: str) -> tuple[str, list[str]]:
    """A help text's summary, and its page."""
    summary, out = "", []
    lines = text.splitlines()
    at = 0
    described = []
    while at < len(lines) and not USAGE.match(lines[at]) and not HEADING.match(lines[at]):
        described.append(lines[at])
        at += 1
    described = "\n".join(described).strip()
    if described:
        summary = " ".join(described.split("\n\n")[0].split())
    usages = []
    if at < len(lines) and (usage := USAGE.match(lines[at])):
        usages.append(usage[1])
        at += 1
        while at < len(lines) and lines[at].startswith("       ") and lines[at].strip():
            usages.append(lines[at].strip())
            at += 1
    if usages:
        out += [".SH SYNOPSIS", *(line for usage in usages for line in (f"\\fB{escaped(usage)}\\fR", ".br"))][:-1]
    rest = lines[at:]
    if described or (rest and not all(HEADING.match(line) for line in rest[:1])):
        out.append(".SH DESCRIPTION")
    out += sections([*described.splitlines(), ""]) + sections(rest)
    if not summary:
        prose = [line for line in rest if line and not line.startswith(" ") and not HEADING.match(line)]
        summary = " ".join(prose[:1]) or "see below"
    return re.split(r"(?<=[a-z0-9])\. ", summary)[0].rstrip(".:"), out


def sections(lines: list[str]) -> list[str]:
    """Headings, lists of terms, examples and prose."""
    out: list[str] = []
    prose: list[str] = []
    is_prose_open = False
    term_indent = None

    def flush() -> None:
        nonlocal prose
        if prose:
            out.extend([".PP", escaped(" ".join(prose))])
            prose = []

    for number, line in enumerate(lines):
        if not line.strip():
            flush()
            term_indent = None if not out or out[-1] == "" else term_indent
        elif heading := HEADING.match(line):
            flush()
            # A sentence that ends with a colon is no heading.
            if len(heading[1]) < 60 and (number == 0 or not lines[number - 1].strip()):
                out.append(f".SH {escaped(heading[1].upper())}")
            else:
                prose.append(line)
            term_indent = None
        elif not line.startswith(" "):
            prose.append(line)
        else:
            flush()
            entry = ENTRY.match(line)
            indent = len(entry[1])
            if term_indent is not None and indent > term_indent + 8:
                out.append(escaped(line.strip()))
            else:
                term_indent = max(indent, term_indent or 0)
                out += [".TP", f"\\fB{escaped(entry[2])}\\fR", *([escaped(entry[3])] if entry[3] else [])]
    flush()
    return out


def subcommands(text: str) -> list[str]:
    """The names below `Commands:` in a help text."""
    behind = text.split("\nCommands:\n", 1)
    if len(behind) < 2:
        return []
    block = behind[1].split("\n\n", 1)[0]
    return [name for name in re.findall(r"^  ([a-z_-]+)", block, re.MULTILINE) if name != "help"]


def of_command(binary: str, words: tuple[str, ...], summary: str = "") -> list[Page]:
    """The page of a command, and of those below it."""
    text = asked(binary, *words, "--help")
    below = subcommands(text)
    own, body = of_help(text)
    name = "-".join(("warren", *words))
    pages = [Page(name, summary or own, body)]
    for each in below:
        if words or each not in ("ctl", "perf"):
            pages += of_command(binary, (*words, each), summary_of(text, each))
    parent = "-".join(("warren", *words[:-1])) if words else None
    pages[0].see = [*([parent] if parent else []), *("-".join((name, each)) for each in below)]
    return pages


def summary_of(text: str, command: str) -> str:
    """What a list of commands says of one, over as many lines as it takes."""
    found = re.search(rf"^  {re.escape(command)} +(\S.*(?:\n {{6,}}\S.*)*)", text, re.MULTILINE)
    return " ".join(found[1].split()).split(". ")[0] if found else ""


def of_ctl(binary: str, summary: str) -> Page:
    """`warren ctl`: what its help says, and then each command."""
    text = asked(binary, "ctl", "help")
    _, body = of_help(text)
    body = [".SH SYNOPSIS", "\\fBwarren ctl\\fR [\\fIOPTION\\fR...] \\fICOMMAND\\fR [\\fIARGUMENT\\fR...]", *body]
    names = [name.strip() for name in re.findall(r"^  ([a-z][a-z_0-9]*(?: [a-z][a-z_0-9]*)?) {2,}\S", text, re.MULTILINE)]
    shared: list[str] = []
    body.append(".SH COMMANDS ONE BY ONE")
    for name in names:
        told = asked(binary, "ctl", "help", *name.split())
        own, _, rest = told.partition("\nOptions of every command:")
        usage, *lines = own.strip().splitlines()
        if "explains one" in own:
            continue
        body += [f".SS {escaped(name)}", f"\\fB{escaped(usage)}\\fR", *sections_within(lines)]
        if rest and not shared and usage.startswith("warren ctl list_"):
            shared = [".SH OPTIONS OF EVERY COMMAND", *sections(rest.strip("\n").splitlines())]
    return Page("warren-ctl", summary, body + shared, see=["warren", "warren-serve"])


def sections_within(lines: list[str]) -> list[str]:
    """The same with headings as plain paragraphs, for what is itself within a section."""
    return [line.replace(".SH ", ".PP\n", 1) if line.startswith(".SH ") else line for line in sections(lines)]


def of_perf(binary: str, summary: str) -> Page:
    """`warren perf`: its commands, PerfTest's options, and its commands one by one."""
    _, first = of_help(asked(binary, "perf", "help"))
    _, options = of_help(asked(binary, "perf", "--help"))
    body = [".SH DESCRIPTION", *(line for line in first if line != ".SH DESCRIPTION"), *(line for line in options if line != ".SH DESCRIPTION")]
    for each in PERF_COMMANDS:
        usage, *lines = asked(binary, "perf", each, "--help").splitlines()
        usage = escaped(USAGE.sub(r"\1", usage))
        body += [f".SH WARREN PERF {each.upper()}", f"\\fB{usage}\\fR", *sections_within(lines)]
    return Page("warren-perf", summary, body, see=["warren", "warren-ping"])


def of_file(name: str, path: str, summary: str) -> Page:
    """A page of keys, of a document's tables and prose."""
    body = [".SH DESCRIPTION"]
    is_example = False
    for line in (ROOT / path).read_text().splitlines()[1:]:
        if line.startswith("```"):
            body.append(".fi" if is_example else ".PP\n.nf")
            is_example = not is_example
        elif is_example:
            body.append(escaped(line) or "\\&")
        elif line.startswith("## "):
            body.append(f".SH {escaped(plain(line[3:]).upper())}")
        elif line.startswith("|") and not re.match(r"^\|[-| ]+\|$|^\| (key|not honoured) \|", line):
            key, value, *more = [plain(cell) for cell in re.split(r"(?<!\\)\|", line.strip("|"))]
            default = [f"Default: {more[0]}."] if len(more) > 1 and more[0] else []
            body += [".TP", f"\\fB{escaped(key)}\\fR", escaped(" ".join([f"({value})", *more[-1:], *default]))]
        elif line.startswith(("* ", "- ")) or re.match(r"^\d\. ", line):
            body += [".IP \\(bu 2", escaped(plain(line.split(" ", 1)[1]))]
        elif line.startswith("|") or line.startswith("<!--"):
            continue
        else:
            body.append(escaped(plain(line)) if line.strip() else ".PP")
    return Page(name, summary, body, section=5, see=["warren-proxy" if "proxy" in name else "warren-serve"])


def plain(text: str) -> str:
    """Markdown as text."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    # Two asterisks are bold, but not between backquotes.
    text = re.sub(r"(`[^`]*`)|\*\*", lambda found: found[1] or "", text)
    return text.replace("`", "").replace("\\|", "|").strip()


def pages(binary: str) -> list[Page]:
    text = asked(binary, "--help")
    found = of_command(binary, ())
    found.append(of_ctl(binary, summary_of(text, "ctl")))
    found.append(of_perf(binary, summary_of(text, "perf")))
    found += [of_file(name, *rest) for name, rest in PAGES_OF_FILES.items()]
    for page in found:
        page.see += {"warren-serve": ["warren.conf"], "warren-proxy": ["warren-proxy.conf"]}.get(page.name, [])
    return found


def write(binary: str, folder: Path) -> list[Path]:
    """Writes all pages below a folder, as `man1/warren.1` and so on."""
    version = asked(binary, "--version").split()[-1]
    epoch = int(os.environ.get("SOURCE_DATE_EPOCH") or Path(binary).stat().st_mtime)
    date = datetime.datetime.fromtimestamp(epoch, datetime.UTC).strftime("%Y-%m-%d")
    written = []
    for page in pages(binary):
        path = folder / f"man{page.section}" / f"{page.name}.{page.section}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page.text(version, date))
        written.append(path)
    return written


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    for path in write(sys.argv[1], Path(sys.argv[2])):
        print(path)
