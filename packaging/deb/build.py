#!/usr/bin/env python3
"""Makes a Debian package of a binary that is built: `make package`.

    packaging/deb/build.py [--binary target/dist/warren] [--output target/packages]

Needs dpkg-deb and strip. The version is that of the binary, the architecture that of this machine. A binary that is linked statically depends
on no library; for another one dpkg-shlibdeps says on which. With SOURCE_DATE_EPOCH the same binary gives the same package.
"""

import argparse
import datetime
import gzip
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE.parent))

import manpages  # noqa: E402
import third_party  # noqa: E402

# DEBFULLNAME and DEBEMAIL say who makes it, as for Debian's own tools.
MAINTAINER = f"{os.environ.get('DEBFULLNAME', 'Warren maintainers')} <{os.environ.get('DEBEMAIL', 'maintainers@warren.example')}>"
SCRIPTS = ("postinst", "prerm", "postrm")
CONFFILES = ("etc/warren/warren.conf", "etc/default/warren")
COMPLETIONS = {
    "bash": "usr/share/bash-completion/completions/warren",
    "zsh": "usr/share/zsh/vendor-completions/_warren",
    "fish": "usr/share/fish/vendor_completions.d/warren.fish",
}
SYSTEM_PACKAGES = ("adduser", "init-system-helpers (>= 1.54)")
# What users read; pages for developers stay where the sources are.
DOCUMENTS = [path for path in sorted((ROOT / "docs").iterdir()) if path.is_file()]


def run(*command: str, **how) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True, **how).stdout


def put(path: Path, content: str | bytes, mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    path.chmod(mode)


def squeezed(text: str | bytes) -> bytes:
    """As gzip -9n: without a name and a time."""
    return gzip.compress(text.encode() if isinstance(text, str) else text, 9, mtime=0)


def linked_to(binary: Path) -> str:
    """The packages of the libraries that the binary needs; none where it is static."""
    if "NEEDED" not in run("objdump", "-p", str(binary)):
        return ""
    if not shutil.which("dpkg-shlibdeps"):
        versions = re.findall(r"GLIBC_(\d+)\.(\d+)", run("objdump", "-T", str(binary)))
        least = max((int(major), int(minor)) for major, minor in versions)
        return f"libc6 (>= {least[0]}.{least[1]}), libgcc-s1"
    with tempfile.TemporaryDirectory() as folder:
        put(Path(folder) / "debian" / "control", "Source: warren\n\nPackage: warren\nArchitecture: any\n")
        told = run("dpkg-shlibdeps", "-O", f"-e{binary.resolve()}", cwd=folder)
    return told.strip().partition("shlibs:Depends=")[2]


def copyright_text(when: datetime.datetime) -> str:
    return f"""Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: Warren
Comment: Licences of what is built into the program are in /usr/share/doc/warren/THIRD-PARTY.gz.

Files: *
Copyright: {when.year} the authors of Warren
License: Apache-2.0
 On Debian systems the full text of the Apache License, version 2.0, is in
 /usr/share/common-licenses/Apache-2.0.
"""


def changelog_text(version: str, when: datetime.datetime) -> str:
    date = when.strftime("%a, %d %b %Y %H:%M:%S +0000")
    return f"warren ({version}) unstable; urgency=medium\n\n  * Warren {version}: /usr/share/doc/warren/changelog.gz says what is new.\n\n -- {MAINTAINER}  {date}\n"


def stage(binary: Path, tree: Path, version: str, when: datetime.datetime) -> None:
    """All files of the package, below `tree`, and `DEBIAN` with what dpkg is told."""
    program = tree / "usr/bin/warren"
    program.parent.mkdir(parents=True)
    # The table of symbols stays: `warren profile` names functions by it.
    run("strip", "--strip-debug", "-o", str(program), str(binary))
    program.chmod(0o755)
    put(tree / "lib/systemd/system/warren.service", (HERE.parent / "warren.service").read_bytes())
    put(tree / "etc/warren/warren.conf", (HERE / "warren.conf").read_bytes(), 0o640)
    put(tree / "etc/default/warren", (HERE / "default").read_bytes(), 0o640)
    for folder in ("etc/warren/conf.d", "var/lib/warren"):
        (tree / folder).mkdir(parents=True)
        (tree / folder).chmod(0o750)
    (tree / "etc/warren").chmod(0o750)
    for shell, path in COMPLETIONS.items():
        put(tree / path, run(str(binary), "ctl", "completion", shell))
    for page in manpages.write(str(binary), tree / "usr/share/man"):
        put(page.with_name(f"{page.name}.gz"), squeezed(page.read_bytes()))
        page.unlink()
    documents = tree / "usr/share/doc/warren"
    put(documents / "copyright", copyright_text(when))
    put(documents / "changelog.gz", squeezed((ROOT / "CHANGELOG.md").read_bytes()))
    put(documents / "changelog.Debian.gz", squeezed(changelog_text(version, when)))
    put(documents / "THIRD-PARTY.gz", squeezed(third_party.document()))
    for document in DOCUMENTS:
        put(documents / "docs" / document.name, document.read_bytes())
    for folder in ("grafana", "prometheus"):
        for path in sorted(path for path in (HERE.parent / folder).iterdir() if path.suffix != ".py"):
            put(documents / "examples" / folder / path.name, path.read_bytes())
    put(tree / "usr/share/lintian/overrides/warren", (HERE / "lintian-overrides").read_bytes())


def describe(tree: Path, version: str, depends: str) -> None:
    """`DEBIAN`: what dpkg is told."""
    files = sorted(path for path in tree.rglob("*") if path.is_file() and not path.is_symlink())
    size = sum((path.stat().st_size + 1023) // 1024 for path in files)
    filled = {
        "VERSION": version,
        "ARCH": run("dpkg", "--print-architecture").strip(),
        "MAINTAINER": MAINTAINER,
        "SIZE": str(size),
        "DEPENDS": ", ".join(filter(None, [*SYSTEM_PACKAGES, depends])),
    }
    put(tree / "DEBIAN/control", re.sub(r"@(\w+)@", lambda name: filled[name[1]], (HERE / "control.in").read_text()))
    put(tree / "DEBIAN/conffiles", "".join(f"/{path}\n" for path in CONFFILES))
    named = [str(path.relative_to(tree)) for path in files if str(path.relative_to(tree)) not in CONFFILES]
    put(tree / "DEBIAN/md5sums", run("md5sum", *named, cwd=tree))
    for script in SCRIPTS:
        put(tree / "DEBIAN" / script, (HERE / script).read_bytes(), 0o755)


def identify(parser: argparse.ArgumentParser, binary: Path) -> tuple[str, datetime.datetime]:
    """The version of a binary, and the time that all files of its packages have. Ends with a message if it was not built."""
    if not binary.exists():
        parser.error(f"{binary} is missing; `make build` builds it")
    epoch = int(os.environ.setdefault("SOURCE_DATE_EPOCH", str(int(binary.stat().st_mtime))))
    return run(str(binary.resolve()), "--version").split()[-1], datetime.datetime.fromtimestamp(epoch, datetime.UTC)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=Path, default=ROOT / "target/dist/warren", help="(default: target/dist/warren)")
    parser.add_argument("--revision", type=int, default=1, help="of the package, behind the version (default: %(default)s)")
    parser.add_argument("--compression", default="xz", help="dpkg-deb's -Z (default: %(default)s)")
    parser.add_argument("--output", type=Path, default=ROOT / "target/packages", help="where the package goes (default: target/packages)")
    arguments = parser.parse_args()
    if missing := [program for program in ("dpkg-deb", "strip", "objdump") if not shutil.which(program)]:
        parser.error(f"{', '.join(missing)} not found: apt-get install dpkg binutils")
    upstream, when = identify(parser, arguments.binary)
    version = f"{upstream}-{arguments.revision}"
    arguments.output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="warren-deb-") as folder:
        tree = Path(folder) / "tree"
        tree.mkdir(mode=0o755)
        stage(arguments.binary, tree, version, when)
        describe(tree, version, linked_to(tree / "usr/bin/warren"))
        for path in tree.rglob("*"):
            if path.is_dir() and path.stat().st_mode & 0o777 not in (0o750,):
                path.chmod(0o755)
        package = arguments.output / f"warren_{version}_{run('dpkg', '--print-architecture').strip()}.deb"
        run("dpkg-deb", "--root-owner-group", f"-Z{arguments.compression}", "--build", str(tree), str(package))
    print(package)
    return 0


if __name__ == "__main__":
    sys.exit(main())
