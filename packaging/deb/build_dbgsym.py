#!/usr/bin/env python3
"""Makes the Debian package of the program's debug information: `make package`.

    packaging/deb/build_dbgsym.py [--binary target/dist/warren] [--output target/packages]

The program of the package `warren` has the table of symbols alone. With this one installed, `warren profile` also names functions that the compiler has
inlined, and debuggers know lines: both find the file by the program's build ID. Needs dpkg-deb, objcopy and readelf. The version is that of the
binary.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import build  # noqa: E402

NAME = "warren-dbgsym"
CONTROL = f"""Package: {NAME}
Version: @VERSION@
Architecture: @ARCH@
Maintainer: @MAINTAINER@
Installed-Size: @SIZE@
Depends: warren (= @VERSION@)
Section: debug
Priority: optional
Description: debug information of warren
 With it `warren profile` names functions that the compiler has inlined, and
 debuggers show lines.
"""


def build_id(binary: Path) -> str:
    found = re.search(r"Build ID: ([0-9a-f]+)", build.run("readelf", "-n", str(binary)))
    if not found:
        sys.exit(f"{binary} has no build ID")
    return found[1]


def stage(binary: Path, tree: Path) -> None:
    """The file of debug information, where debuggers look for it: by the build ID."""
    identity = build_id(binary)
    symbols = tree / "usr/lib/debug/.build-id" / identity[:2] / f"{identity[2:]}.debug"
    symbols.parent.mkdir(parents=True)
    build.run("objcopy", "--only-keep-debug", str(binary), str(symbols))
    symbols.chmod(0o644)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=Path, default=build.ROOT / "target/dist/warren", help="(default: target/dist/warren)")
    parser.add_argument("--revision", type=int, default=1, help="of the package, behind the version (default: %(default)s)")
    parser.add_argument("--compression", default="xz", help="dpkg-deb's -Z (default: %(default)s)")
    parser.add_argument("--output", type=Path, default=build.ROOT / "target/packages", help="where the package goes (default: target/packages)")
    arguments = parser.parse_args()
    upstream, when = build.identify(parser, arguments.binary)
    version, architecture = f"{upstream}-{arguments.revision}", build.run("dpkg", "--print-architecture").strip()
    arguments.output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="warren-deb-") as folder:
        tree = Path(folder) / "tree"
        stage(arguments.binary, tree)
        documents = tree / "usr/share/doc" / NAME
        build.put(documents / "copyright", build.copyright_text(when))
        build.put(documents / "changelog.Debian.gz", build.squeezed(build.changelog_text(version, when).replace("warren (", f"{NAME} (", 1)))
        files = sorted(path for path in tree.rglob("*") if path.is_file())
        size = sum((path.stat().st_size + 1023) // 1024 for path in files)
        filled = {"VERSION": version, "ARCH": architecture, "MAINTAINER": build.MAINTAINER, "SIZE": str(size)}
        build.put(tree / "DEBIAN/control", re.sub(r"@(\w+)@", lambda name: filled[name[1]], CONTROL))
        build.put(tree / "DEBIAN/md5sums", build.run("md5sum", *(str(path.relative_to(tree)) for path in files), cwd=tree))
        for path in [tree, *tree.rglob("*")]:
            if path.is_dir():
                path.chmod(0o755)
        package = arguments.output / f"{NAME}_{version}_{architecture}.deb"
        pack = ["dpkg-deb", "--root-owner-group", f"-Z{arguments.compression}", "--build", str(tree), str(package)]
        subprocess.run(pack, check=True, capture_output=True)
    print(package)
    return 0


if __name__ == "__main__":
    sys.exit(main())
