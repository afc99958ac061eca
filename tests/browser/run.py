#!/usr/bin/env python3
"""Opens the console, reports of `warren perf`, and flame graphs in a headless Chromium.

    tests/browser/run.py
    tests/browser/run.py --screenshots target/screenshots    leaves pictures of all pages there
    tests/browser/run.py --pictures docs/images/console      takes the pictures of docs/console.md
    tests/browser/run.py --only 'palette'                    scenarios of the console by a regular expression, and nothing else
    tests/browser/run.py --firefox                           every page of the console in Firefox, and nothing else
    tests/browser/run.py --unless-passed                     of the console all scenarios only if it has changed since they passed last

The console is that of a broker which the scenarios start, with WARREN_BINARY or what `cargo test` has built. Reports and graphs are of invented results, which examples of the crates `perf` and `profile` write (`cargo test` builds them). What is missing (Node, npm, Chromium) is said, and the
tests are skipped then. CHROMIUM and FIREFOX name the browsers if they have other names than the usual ones.

When all scenarios have passed, the digest of the console's sources and of its tests is written into tests/browser/passed.txt, to be committed with them.
With --unless-passed, as CI has it, sources of that digest are tried with the scenarios of console/smoke.mjs only.
"""

import argparse
import hashlib
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
# What the console is made of, and what tries it.
CONSOLE = ("web/build.mjs", "web/package-lock.json", "web/console", "tests/browser/package-lock.json", "tests/browser/console")
PASSED = BROWSER / "passed.txt"


# The variables that name a browser, and its usual names.
BROWSERS = {"chromium": ("CHROMIUM", ("chromium", "chromium-browser", "google-chrome")), "firefox": ("FIREFOX", ("firefox", "firefox-esr"))}


def missing(browser: str) -> list[str]:
    """What is needed and not there."""
    absent = [tool for tool in ("node", "npm") if not shutil.which(tool)]
    return absent if path_of(browser) else [*absent, browser]


def path_of(browser: str) -> str | None:
    """Where the browser is, if it is installed."""
    variable, names = BROWSERS[browser]
    return os.environ.get(variable) or next((path for path in map(shutil.which, names) if path), None)


def chromium() -> str:
    """The browser to use."""
    path = path_of("chromium")
    assert path, "missing() has looked"
    return path


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--screenshots", type=Path, help="a folder for pictures of all pages")
    parser.add_argument("--pictures", type=Path, help="a folder for the pictures of docs/console.md, and nothing else")
    parser.add_argument("--only", help="scenarios of the console whose names this regular expression finds")
    parser.add_argument("--firefox", action="store_true", help="every page of the console in Firefox, and nothing else")
    parser.add_argument("--unless-passed", action="store_true", help="of the console all scenarios only if it has changed since they passed last, else some")
    arguments = parser.parse_args()
    if absent := missing("firefox" if arguments.firefox else "chromium"):
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
    if arguments.firefox:
        return open_firefox(arguments.screenshots)
    if arguments.only:
        return open_console(arguments.screenshots, arguments.only)
    digest = digest_of_console()
    if arguments.unless_passed and PASSED.exists() and PASSED.read_text().strip() == digest:
        print(f"the console is as it was when all of its scenarios passed ({PASSED.name}): a few are run", flush=True)
        status = open_console(arguments.screenshots, "smoke")
    else:
        status = open_console(arguments.screenshots, None)
        if status == 0:
            PASSED.write_text(f"{digest}\n")
    return max(status, *(open_pages(suite, example, arguments.screenshots) for suite, example in SUITES.items()))


def digest_of_console() -> str:
    """Of what `CONSOLE` names, with the names."""
    digest = hashlib.sha256()
    for name in CONSOLE:
        path = ROOT / name
        for file in sorted(each for each in path.rglob("*") if each.is_file()) if path.is_dir() else [path]:
            content = file.read_bytes()
            digest.update(f"{file.relative_to(ROOT).as_posix()} {len(content)}\n".encode())
            digest.update(content)
    return digest.hexdigest()


def open_console(screenshots: Path | None, only: str | None) -> int:
    """Goes through the console with a broker of its own."""
    print("console (chromium)", flush=True)
    command = ["node", str(OUTPUT / "modules" / "console" / "main.mjs"), str(environment.WARREN), str(screenshots.resolve()) if screenshots else "-", *([only] if only else [])]
    return subprocess.run(command, stdin=subprocess.DEVNULL, env={**os.environ, "CHROMIUM": chromium()}, check=False, timeout=CONSOLE_TIMEOUT_S).returncode


def open_firefox(screenshots: Path | None) -> int:
    """Goes through all pages of the console in Firefox, with a broker of its own."""
    print("console (firefox)", flush=True)
    command = ["node", str(OUTPUT / "modules" / "console" / "firefox.mjs"), str(environment.WARREN), str(path_of("firefox")), str(screenshots.resolve()) if screenshots else "-"]
    return subprocess.run(command, stdin=subprocess.DEVNULL, check=False, timeout=CONSOLE_TIMEOUT_S).returncode


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
