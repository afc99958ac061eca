#!/usr/bin/env python3
"""What a build costs: processor time and time of all of it, and the time of each crate, as a table in docs/dev/build.md.

    bench/build_costs.py [--profile release] [--write]    builds `warren` anew, in a folder of its own
    bench/build_costs.py --timings FILE.html              of a build that `cargo build --timings` has watched

The times of crates are those in which two jobs ran; they are more than the processor time of a build that has the machine to itself.
"""

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "dev" / "build.md"
BEGIN, END = "<!-- bench/build_costs.py writes this table -->", "<!-- to here -->"
ROW_COUNT = 20


def build(profile: str, folder: Path) -> tuple[Path, float, float]:
    """Builds, and returns the file with timings, and seconds of processors and of the clock."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), os.times().elapsed
    command = ["cargo", "build", "--profile", profile, "--locked", "-p", "warren", "--timings", "--target-dir", folder]
    subprocess.run(command, cwd=ROOT, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return folder / "cargo-timings" / "cargo-timing.html", cpu_s, os.times().elapsed - started


def units(timings: Path) -> list[dict]:
    """What was compiled."""
    match = re.search(r"const UNIT_DATA = (\[.*?\]);\n", timings.read_text(), re.DOTALL)
    if not match:
        raise SystemExit(f"{timings} has no timings of cargo's")
    return json.loads(match.group(1))


def own_crates() -> set[str]:
    return {path.name for path in (ROOT / "crates").iterdir() if path.is_dir()}


def lines_of(crate: str) -> int:
    return sum(len(path.read_text().splitlines()) for path in (ROOT / "crates" / crate / "src").rglob("*.rs"))


def table(all_units: list[dict]) -> str:
    """The costliest crates of ours, and the sum of others'."""
    ours, seconds, of_others = own_crates(), {}, 0.0
    for unit in all_units:
        if unit["name"] in ours:
            seconds[unit["name"]] = seconds.get(unit["name"], 0.0) + unit["duration"]
        else:
            of_others += unit["duration"]
    largest = sorted(seconds, key=seconds.get, reverse=True)
    rows = [(f"`{name}`", f"{lines_of(name):,}", f"{seconds[name]:.0f}") for name in largest[:ROW_COUNT]]
    rest = largest[ROW_COUNT:]
    rows.append((f"{len(rest)} others of ours", f"{sum(map(lines_of, rest)):,}", f"{sum(seconds[name] for name in rest):.0f}"))
    rows.append(("what others wrote", "", f"{of_others:.0f}"))
    return "\n".join(["| crate | lines, with tests | seconds |", "|---|---|---|", *(f"| {' | '.join(row)} |" for row in rows)])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--profile", default="release", help="one of Cargo.toml's (default: %(default)s)")
    parser.add_argument("--timings", type=Path, help="a file of cargo's, instead of a build")
    parser.add_argument("--write", action="store_true", help=f"the table into {PAGE.relative_to(ROOT)}")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        timings, figures = options.timings, ""
        if timings is None:
            timings, cpu_s, clock_s = build(options.profile, Path(folder))
            figures = f"{cpu_s / 60:.1f} minutes of processors, {clock_s / 60:.1f} of the clock, profile `{options.profile}`\n\n"
        text = figures + table(units(timings))
    print(text)
    if options.write:
        page = PAGE.read_text()
        start, end = page.index(BEGIN) + len(BEGIN), page.index(END)
        PAGE.write_text(f"{page[:start]}\n\n{text}\n\n{page[end:]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
