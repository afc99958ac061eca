#!/usr/bin/env python3
"""Makes the Debian package of RabbitMQ's names: `make package`.

    packaging/deb/build_compat.py [--binary target/dist/warren] [--output target/packages]

It has no program of its own: rabbitmqctl and so on are links to /usr/bin/warren, and rabbitmq-server.service is another name of its unit. Needs
dpkg-deb. The version is that of the binary.
"""

import argparse
import datetime
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import build  # noqa: E402

NAME = "warren-rabbitmq-compat"
NAMES = (HERE.parent / "rabbitmq" / "names").read_text().split()
# Which page tells of a name.
PAGES = {name: "warren-serve" if name == "rabbitmq-server" else "warren-ctl" for name in NAMES}


def link(path: Path, target: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)


def stage(tree: Path, version: str, when: datetime.datetime) -> None:
    for name in NAMES:
        link(tree / "usr/sbin" / name, "../bin/warren")
        link(tree / f"usr/share/man/man8/{name}.8.gz", f"../man1/{PAGES[name]}.1.gz")
    link(tree / "lib/systemd/system/rabbitmq-server.service", "warren.service")
    documents = tree / "usr/share/doc" / NAME
    build.put(documents / "copyright", build.copyright_text(when))
    build.put(documents / "changelog.Debian.gz", build.squeezed(build.changelog_text(version, when).replace("warren (", f"{NAME} (", 1)))
    build.put(tree / "usr/share/lintian/overrides" / NAME, (HERE / "compat-lintian-overrides").read_bytes())


def describe(tree: Path, version: str) -> None:
    files = sorted(path for path in tree.rglob("*") if path.is_file() and not path.is_symlink())
    filled = {"VERSION": version, "MAINTAINER": build.MAINTAINER, "SIZE": str(sum((path.stat().st_size + 1023) // 1024 for path in files))}
    build.put(tree / "DEBIAN/control", re.sub(r"@(\w+)@", lambda name: filled[name[1]], (HERE / "compat-control.in").read_text()))
    build.put(tree / "DEBIAN/md5sums", build.run("md5sum", *(str(path.relative_to(tree)) for path in files), cwd=tree))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=Path, default=build.ROOT / "target/dist/warren", help="(default: target/dist/warren)")
    parser.add_argument("--revision", type=int, default=1, help="of the package, behind the version (default: %(default)s)")
    parser.add_argument("--output", type=Path, default=build.ROOT / "target/packages", help="where the package goes (default: target/packages)")
    arguments = parser.parse_args()
    upstream, when = build.identify(parser, arguments.binary)
    version = f"{upstream}-{arguments.revision}"
    arguments.output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="warren-deb-") as folder:
        tree = Path(folder) / "tree"
        tree.mkdir(mode=0o755)
        stage(tree, version, when)
        describe(tree, version)
        for path in tree.rglob("*"):
            if path.is_dir():
                path.chmod(0o755)
        package = arguments.output / f"{NAME}_{version}_all.deb"
        subprocess.run(["dpkg-deb", "--root-owner-group", "-Zgzip", "--build", str(tree), str(package)], check=True, capture_output=True)
    print(package)
    return 0


if __name__ == "__main__":
    sys.exit(main())
