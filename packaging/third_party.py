#!/usr/bin/env python3
"""Writes the licences of what is built into the binary: crates by Cargo.lock, and the console's modules.

    packaging/third_party.py > THIRD-PARTY

Each licence's text stands once, below the names of all that it is for. Needs cargo, and the sources that a build has fetched.
"""

import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
IS_TEXT = re.compile(r"^(licen[cs]e|copying|notice|unlicense)", re.IGNORECASE)


def built_in() -> list[dict]:
    """The packages that the binary is made of, but for our own."""
    cargo = ["cargo", "--locked", "--offline"]
    tree = subprocess.run([cargo[0], "tree", *cargo[1:], "-p", "warren", "-e", "normal", "--prefix", "none", "-f", "{p}"], cwd=ROOT, capture_output=True, text=True, check=True)
    used = {tuple(line.split()[:2]) for line in tree.stdout.splitlines() if line}
    version = subprocess.run(["rustc", "-vV"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    # What other platforms need has not been fetched by a build.
    host = next(line.removeprefix("host: ") for line in version.splitlines() if line.startswith("host: "))
    told = subprocess.run([cargo[0], "metadata", *cargo[1:], "--format-version", "1", "--filter-platform", host], cwd=ROOT, capture_output=True, text=True, check=True)
    packages = json.loads(told.stdout)["packages"]
    found = [package for package in packages if package["source"] and (package["name"], f"v{package['version']}") in used]
    return sorted(found, key=lambda package: (package["name"], package["version"]))


def texts(package: dict) -> list[str]:
    """The licence texts in a package's sources, and in those of C that it brings."""
    folder = Path(package["manifest_path"]).parent
    files = [path for path in [*folder.iterdir(), *folder.glob("c_src/*/*")] if path.is_file() and IS_TEXT.match(path.name)]
    return [path.read_text(errors="replace").strip() for path in sorted(files)]


def document() -> str:
    packages = built_in()
    out = ["Warren's program contains the following packages of others, under the licences that are named.", ""]
    out += [f"{package['name']} {package['version']}: {package['license'] or 'see below'}" for package in packages]
    by_text: dict[str, tuple[str, list[str]]] = {}
    for package in packages:
        for text in texts(package):
            key = hashlib.sha256(" ".join(text.split()).encode()).hexdigest()
            by_text.setdefault(key, (text, []))[1].append(package["name"])
    for text, names in by_text.values():
        out += ["", "-" * 78, "", ", ".join(sorted(set(names))) + ":", "", text]
    console = ROOT / "web" / "vendor" / "console" / "LICENSES.txt"
    if console.exists():
        out += ["", "-" * 78, "", "The console and reports:", "", console.read_text().strip()]
    return "\n".join(out) + "\n"


if __name__ == "__main__":
    sys.stdout.write(document())
