#!/usr/bin/env python3
"""Makes RPM packages of a binary that is built, by rpmbuild: `make package-rpm`.

    packaging/rpm/build.py [--binary target/dist/warren] [--output target/packages]

The files are those of the Debian packages, where Fedora and its relatives have theirs. Needs rpmbuild (dnf install rpm-build, apt-get install rpm)
and strip. The version is that of the binary.
"""

import argparse
import datetime
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE.parent / "deb"))

import build as deb  # noqa: E402
import build_compat as deb_compat  # noqa: E402
import build_dbgsym as deb_dbgsym  # noqa: E402

UNITS = "usr/lib/systemd/system"
# Modes and owners that are not those of all others: directories and files of the configuration may have a password in them.
OWNED = {
    "etc/warren": "%dir %attr(0750,root,warren)",
    "etc/warren/conf.d": "%dir %attr(0750,root,warren)",
    "etc/warren/warren.conf": "%config(noreplace) %attr(0640,root,warren)",
    "etc/sysconfig/warren": "%config(noreplace) %attr(0640,root,warren)",
    "var/lib/warren": "%dir %attr(0750,warren,warren)",
}


def stage(binary: Path, tree: Path, version: str, when: datetime.datetime) -> None:
    """The files of all packages: Debian's, at other places."""
    deb.stage(binary, tree, version, when)
    deb_compat.stage(tree, version, when)
    deb_dbgsym.stage(binary, tree)
    (tree / UNITS).mkdir(parents=True)
    for unit in sorted((tree / "lib/systemd/system").iterdir()):
        shutil.move(unit, tree / UNITS / unit.name)
    (tree / "etc/sysconfig").mkdir()
    shutil.move(tree / "etc/default/warren", tree / "etc/sysconfig/warren")
    unit = tree / UNITS / "warren.service"
    unit.write_text(unit.read_text().replace("/etc/default/warren", "/etc/sysconfig/warren"))
    for leftover in ("lib", "etc/default", "usr/share/lintian"):
        shutil.rmtree(tree / leftover)
    for debians in tree.rglob("changelog.Debian.gz"):
        debians.unlink()


def package_of(name: str) -> str:
    """The package that has a file: the part of the package's name behind `warren-`."""
    base = Path(name).name
    if name.startswith("usr/lib/debug/"):
        return "debuginfo"
    if base.removesuffix(".8.gz") in deb_compat.NAMES or base == "rabbitmq-server.service" or deb_compat.NAME in name:
        return "rabbitmq-compat"
    return ""


def listed(tree: Path, package: str) -> str:
    """What a package has, a line for each file."""
    lines = []
    for path in sorted(tree.rglob("*")):
        name = str(path.relative_to(tree))
        if package_of(name) != package:
            continue
        if name in OWNED:
            lines.append(f"{OWNED[name]} /{name}")
        elif path.is_symlink() or path.is_file():
            lines.append(f"/{name}")
        elif path.name in ("warren", deb_compat.NAME) and "share/doc" in name:
            lines.append(f"%dir /{name}")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=Path, default=ROOT / "target/dist/warren", help="(default: target/dist/warren)")
    parser.add_argument("--release", type=int, default=1, help="of the package, behind the version (default: %(default)s)")
    parser.add_argument("--compression", default="w19.zstdio", help="of the files, as rpmbuild's _binary_payload (default: %(default)s)")
    parser.add_argument("--output", type=Path, default=ROOT / "target/packages", help="where the packages go (default: target/packages)")
    arguments = parser.parse_args()
    if missing := [program for program in ("rpmbuild", "strip", "objcopy", "objdump", "readelf") if not shutil.which(program)]:
        parser.error(f"{', '.join(missing)} not found: dnf install rpm-build binutils, or apt-get install rpm binutils")
    version, when = deb.identify(parser, arguments.binary)
    arguments.output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="warren-rpm-") as name:
        folder = Path(name)
        tree = folder / "tree"
        tree.mkdir(mode=0o755)
        stage(arguments.binary, tree, version, when)
        # A version may have a hyphen here, and none there.
        filled = {
            "VERSION": version.replace("-", "~"), "RELEASE": str(arguments.release), "ARCH": os.uname().machine, "TREE": str(tree),
            "FILES": listed(tree, ""), "COMPAT_FILES": listed(tree, "rabbitmq-compat"), "DEBUGINFO_FILES": listed(tree, "debuginfo"),
        }  # fmt: skip
        spec = folder / "warren.spec"
        spec.write_text(re.sub(r"@([A-Z_]+)@", lambda found: filled[found[1]], (HERE / "warren.spec.in").read_text()))
        settings = {"_topdir": folder / "rpmbuild", "_binary_payload": arguments.compression, "use_source_date_epoch_as_buildtime": 1, "_buildhost": "localhost"}
        define = [word for key, value in settings.items() for word in ("--define", f"{key} {value}")]
        done = subprocess.run(["rpmbuild", "-bb", *define, str(spec)], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            print(done.stdout + done.stderr, file=sys.stderr)
            return 1
        for package in sorted((folder / "rpmbuild/RPMS").rglob("*.rpm")):
            shutil.copy(package, arguments.output / package.name)
            print(arguments.output / package.name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
