#!/usr/bin/env python3
"""Builds the image of a program that is built already, by buildah, without a registry: `make image`.

    packaging/image/build.py [--binary target/static/warren] [--tag warren:VERSION] [--archive target/packages/warren-image.tar]
    packaging/image/build.py --rabbitmq ...                  the image by RabbitMQ's names, warren-rabbitmq:VERSION

The Dockerfile's part of the image says what it is; only what the parts before it build is taken from here. With --archive it is written as an
archive for `docker load` and `podman load`, too.
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


@dataclass(frozen=True)
class Flavour:
    """Which of the Dockerfile's images: its name, the line with which its part begins, and what lays out its files."""

    name: str
    begins: str
    rootfs: str
    needs: tuple[str, ...] = ()


PLAIN = Flavour("warren", "FROM scratch\n", "rootfs")
RABBITMQ = Flavour("warren-rabbitmq", "FROM scratch AS rabbitmq\n", "rabbitmq-rootfs", ("busybox",))


def part(flavour: Flavour) -> str:
    """The Dockerfile's part of an image, whose files are those of the folder that it is built in."""
    text = (ROOT / "Dockerfile").read_text().partition(flavour.begins)[2].partition("\nFROM ")[0]
    return "FROM scratch\n" + re.sub(r"--from=\S+ ", "", re.sub(r" /rootfs[a-z-]*/", " ./", text))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=Path, default=ROOT / "target/static/warren", help="(default: target/static/warren)")
    parser.add_argument("--rabbitmq", action="store_true", help="the image by RabbitMQ's names")
    parser.add_argument("--tag", help="(default: warren: or warren-rabbitmq:, and the version)")
    parser.add_argument("--archive", type=Path, help="a file to write the image to")
    parser.add_argument("--buildah-option", action="append", default=[], metavar="OPTION", help="such as --storage-driver=vfs; may be repeated")
    arguments = parser.parse_args()
    if not arguments.binary.exists():
        parser.error(f"{arguments.binary} is missing; `make static` builds it")
    flavour = RABBITMQ if arguments.rabbitmq else PLAIN
    if missing := [program for program in ("buildah", "strip", "objdump", *flavour.needs) if not shutil.which(program)]:
        parser.error(f"{', '.join(missing)} not found: apt-get install buildah binutils busybox-static, or docker build .")
    version = subprocess.run([arguments.binary, "--version"], check=True, capture_output=True, text=True).stdout.split()[-1]
    tag = arguments.tag or f"{flavour.name}:{version}"
    buildah = ["buildah", *arguments.buildah_option]
    with tempfile.TemporaryDirectory(prefix="warren-image-") as folder:
        context, dockerfile = Path(folder) / "rootfs", Path(folder) / "Dockerfile"
        subprocess.run([HERE / flavour.rootfs, arguments.binary, context], check=True)
        dockerfile.write_text(part(flavour))
        # Docker's format: OCI's has no health check.
        subprocess.run([*buildah, "build", "--format", "docker", "--isolation", "chroot", "--layers=false", "--tag", tag, "--file", dockerfile, context], check=True)
    if arguments.archive:
        arguments.archive.parent.mkdir(parents=True, exist_ok=True)
        arguments.archive.unlink(missing_ok=True)
        subprocess.run([*buildah, "push", tag, f"docker-archive:{arguments.archive}:{tag}"], check=True)
        print(arguments.archive)
    print(tag)
    return 0


if __name__ == "__main__":
    sys.exit(main())
