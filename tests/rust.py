#!/usr/bin/env python3
"""Builds the tests of the workspace, and runs their programs some at a time: many of them wait more than they calculate.

    tests/rust.py                   all, as CI does
    tests/rust.py --jobs 1          one after the other, as `cargo test` does

The output of a program that fails is shown whole, of the others what they sum up. The exit status is 0 when all passed.
"""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ["cargo", "test", "--workspace", "--locked", "--no-run", "--message-format=json-render-diagnostics"]
# The longest, as they were measured, longest first: none of them is left over at the end.
LONG = ["warren it", "cluster it", "store", "member", "profile it", "broker", "proxy it", "warren", "management"]
JOBS = 3


@dataclass(frozen=True)
class Program:
    """A program of tests, and the folder of its package: there `cargo test` runs it."""

    name: str
    path: str
    folder: Path

    def run(self) -> tuple[int, str, float]:
        began_at = time.monotonic()
        environment = {**os.environ, "CARGO_MANIFEST_DIR": str(self.folder)}
        process = subprocess.Popen(
            [self.path], cwd=self.folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        )  # fmt: skip
        RUNNING.add(process)
        output, _ = process.communicate()
        RUNNING.discard(process)
        return process.returncode, output, time.monotonic() - began_at


RUNNING: set[subprocess.Popen] = set()


def end(*_: object) -> None:
    """Leaves no program running that this one has started."""
    for process in list(RUNNING):
        process.kill()
    os._exit(143)


def build() -> list[Program]:
    done = subprocess.run(BUILD, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.returncode)
    programs = []
    for line in done.stdout.splitlines():
        message = json.loads(line)
        if message.get("reason") != "compiler-artifact" or not message["profile"]["test"] or not message["executable"]:
            continue
        folder = Path(message["manifest_path"]).parent
        package = folder.name
        name = package if message["target"]["name"] == package else f"{package} {message['target']['name']}"
        programs.append(Program(name, message["executable"], folder))
    return sorted(programs, key=lambda program: LONG.index(program.name) if program.name in LONG else len(LONG))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=JOBS, help="how many programs at a time (default: %(default)s)")
    arguments = parser.parse_args()
    programs, began_at = build(), time.monotonic()
    signal.signal(signal.SIGTERM, end)
    failed, test_count = [], 0
    with ThreadPoolExecutor(arguments.jobs) as pool:
        running = {pool.submit(program.run): program for program in programs}
        for each in as_completed(running):
            status, output, took_s = each.result()
            name = running[each].name
            summary = re.findall(r"^test result: .*$", output, re.MULTILINE)
            test_count += sum(int(count) for line in summary for count in re.findall(r"(\d+) passed", line))
            if status == 0 and summary:
                print(f"{took_s:6.1f} s  {name}: {summary[-1].removeprefix('test result: ')}", flush=True)
            else:
                failed.append(name)
                print(f"\n== {name}: FAILED with status {status} after {took_s:.0f} s\n{output}", flush=True)
    print(f"{time.monotonic() - began_at:6.1f} s  {test_count} tests of {len(programs)} programs passed, {len(failed)} programs failed: {', '.join(failed) or 'none'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
