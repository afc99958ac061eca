#!/usr/bin/env python3
"""Opens the console, reports of `warren perf`, and flame graphs in a headless Chromium.

    tests/browser/run.py
    tests/browser/run.py --screenshots target/screenshots    leaves pictures of all pages there
    tests/browser/run.py --pictures docs/images/console      takes the pictures of docs/console.md
    tests/browser/run.py --only 'palette'                    scenarios of the console by a regular expression, and nothing else

The console is that of a broker which the scenarios start, with WARREN_BINARY or what `cargo test` has built. Reports and graphs are of invented results, which examples of the crates `perf` and `profile` write (`cargo test` builds them). What is missing (Node, npm, Chromium) is said, and the
tests are skipped then. CHROMIUM names the browser if it has another name than the usual ones.
"""

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

BROWSER = Path(__file__).resolve().parent
ROOT = BROWSER.parent.parent
sys.path.insert(0, str(BROWSER.parent))

from blackbox import environment  # noqa: E402

OUTPUT = environment.OUTPUT / "browser"
# What opens pages, and the example that writes them.
SUITES = {"reports": "sample_reports", "flames": "sample_flames"}
TIMEOUT_S = 600
CONSOLE_TIMEOUT_S = 1800


def missing() -> list[str]:
    """What is needed and not there."""
    absent = [tool for tool in ("node", "npm") if not shutil.which(tool)]
    browsers = ("chromium", "chromium-browser", "google-chrome")
    if not os.environ.get("CHROMIUM") and not any(shutil.which(browser) for browser in browsers):
        absent.append("chromium")
    return absent


def chromium() -> str:
    """The browser to use."""
    named = os.environ.get("CHROMIUM")
    found = (shutil.which(browser) for browser in ("chromium", "chromium-browser", "google-chrome"))
    return named or next(path for path in found if path)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--screenshots", type=Path, help="a folder for pictures of all pages")
    parser.add_argument("--pictures", type=Path, help="a folder for the pictures of docs/console.md, and nothing else")
    parser.add_argument("--only", help="scenarios of the console whose names this regular expression finds")
    arguments = parser.parse_args()
    if absent := missing():
        print(f"SKIPPED browser: {' and '.join(absent)} not found", flush=True)
        return 0
    if not (ROOT / "web" / "vendor" / "uplot" / "uPlot.iife.min.js").exists():
        print("SKIPPED browser: neither the console nor uPlot is built in; run `make web` first", flush=True)
        return 0

    modules = OUTPUT / "modules"
    modules.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json", *(f"{suite}.mjs" for suite in SUITES)):
        shutil.copy(BROWSER / name, modules)
    shutil.rmtree(modules / "console", ignore_errors=True)
    shutil.copytree(BROWSER / "console", modules / "console")
    subprocess.run(["npm", "ci", "--no-audit", "--no-fund"], cwd=modules, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True, timeout=TIMEOUT_S)
    if arguments.pictures:
        command = ["node", str(OUTPUT / "modules" / "console" / "pictures.mjs"), str(environment.WARREN), str(arguments.pictures.resolve())]
        return subprocess.run(command, stdin=subprocess.DEVNULL, env={**os.environ, "CHROMIUM": chromium()}, check=False, timeout=TIMEOUT_S).returncode
    status = open_console(arguments.screenshots, arguments.only)
    if arguments.only:
        return status
    return max(status, *(open_pages(suite, example, arguments.screenshots) for suite, example in SUITES.items()))


def open_console(screenshots: Path | None, only: str | None) -> int:
    """Goes through the console with a broker of its own."""
    print("console (chromium)", flush=True)
    command = ["node", str(OUTPUT / "modules" / "console" / "main.mjs"), str(environment.WARREN), str(screenshots.resolve()) if screenshots else "-", *([only] if only else [])]
    return subprocess.run(command, stdin=subprocess.DEVNULL, env={**os.environ, "CHROMIUM": chromium()}, check=False, timeout=CONSOLE_TIMEOUT_S).returncode


def open_pages(suite: str, example: str, screenshots: Path | None) -> int:
    """Has the example write its pages, and opens them."""
    program = environment.TARGET / "debug" / "examples" / example
    if not program.exists():
        print(f"{program} is missing; `cargo test --workspace --no-run` builds it", flush=True)
        return 1
    pages = OUTPUT / suite
    subprocess.run([program, pages], cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True, timeout=TIMEOUT_S)
    print(f"{suite} (chromium)", flush=True)
    command = ["node", str(OUTPUT / "modules" / f"{suite}.mjs"), str(pages)]
    if screenshots:
        command.append(str(screenshots.resolve()))
    variables = {**os.environ, "CHROMIUM": chromium()}
    return subprocess.run(command, stdin=subprocess.DEVNULL, env=variables, check=False, timeout=TIMEOUT_S).returncode


if __name__ == "__main__":
    sys.exit(main())
