"""A small disk for each node, which can be full and can hang: an ext4 in a file, mounted where only this process and its nodes see it.

The mounts are in a mount namespace of this process, so they are gone when it is, whatever ends it. A disk that hangs is a file system that is
frozen; what froze it thaws it when this process ends, since a frozen one would outlive it.
"""

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from network import CLONE_NEWNS, unshare

DISK_LEN = 768 << 20
TIMEOUT_S = 20


def why_impossible() -> str | None:
    """Why there can be no such disks here, if there cannot."""
    code = (
        "import sys, tempfile, pathlib; sys.path.insert(0, sys.argv[1]); import disks; disks.separate()\n"
        "with tempfile.TemporaryDirectory(prefix='warren-test-') as place:\n"
        "    disk = disks.Disk(pathlib.Path(place)); disk.hang(); disk.go_on(); disk.remove()"
    )
    done = subprocess.run([sys.executable, "-c", code, os.path.dirname(__file__)], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else done.stderr.strip().splitlines()[-1]


def separate() -> None:
    """What is mounted from here on is seen by this process and by what it starts."""
    unshare(CLONE_NEWNS)
    _run("mount", "--make-rprivate", "/")


class Disk:
    """One file system in a file of `place`, which takes as much of the real disk as is written to it."""

    def __init__(self, place: Path) -> None:
        self.image, self.path = place / "disk.img", place / "disk"
        self.freezer: subprocess.Popen | None = None
        self.path.mkdir()
        with open(self.image, "wb") as image:
            image.truncate(DISK_LEN)
        # Nothing is set aside for root, whom tests often run as.
        _run("mkfs.ext4", "-q", "-F", "-m", "0", "-E", "lazy_itable_init=1", str(self.image))
        _run("mount", "-o", "loop", str(self.image), str(self.path))

    @property
    def ballast(self) -> Path:
        return self.path / "ballast"

    def fill(self) -> None:
        """Takes all that is free."""
        with open(self.ballast, "wb") as file:
            # A little of what is free goes for the file's own description.
            for spare in (0, 1 << 12, 1 << 14, 1 << 16):
                state, size = os.statvfs(self.path), os.fstat(file.fileno()).st_size
                free = state.f_bavail * state.f_frsize - spare
                with suppress(OSError):
                    if free > 0:
                        os.posix_fallocate(file.fileno(), size, free)

    def empty(self) -> None:
        self.ballast.unlink(missing_ok=True)

    def hang(self) -> None:
        """From now on whatever writes or syncs waits."""
        script = 'fsfreeze -f "$0" || exit 1; echo frozen; read -r _; fsfreeze -u "$0"'
        self.freezer = subprocess.Popen(["sh", "-c", script, str(self.path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        if self.freezer.stdout.readline() != b"frozen\n":
            raise OSError(f"{self.path} cannot be frozen")

    def go_on(self) -> None:
        if self.freezer:
            with self.freezer as freezer:
                freezer.stdin.close()
                freezer.wait(TIMEOUT_S)
            self.freezer = None

    def remove(self) -> None:
        self.go_on()
        _run("umount", str(self.path))
        self.image.unlink()


def _run(*command: str) -> None:
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(f"{' '.join(command)}: {done.stderr.strip()}")
