"""Clocks on the wall that can be moved, one for each node.

The kernel has one such clock for all its processes, and no namespace for it. So a node is started with a library before all others that adds
to what it reads; it is made of `clock.c`, where there is a C compiler.
"""

import shutil
import struct
import subprocess
from pathlib import Path

from blackbox import environment

SOURCE = Path(__file__).resolve().parent / "clock.c"


def library() -> Path | None:
    """The library, or None where there is no compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        return None
    folder = environment.OUTPUT / "clock"

    def make() -> None:
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", str(folder / "clock.so"), str(SOURCE), "-ldl"], check=True)

    environment.make_once(folder, SOURCE.read_text(), make)
    return folder / "clock.so"


class Clock:
    """One node's."""

    def __init__(self, path: Path, library: Path) -> None:
        self.path, self.library = path, library
        self.move(0.0)

    def move(self, shift_s: float) -> None:
        """From now on it is so many seconds ahead of the true time."""
        # In place: the node has it mapped.
        with open(self.path, "r+b" if self.path.exists() else "w+b") as file:
            file.write(struct.pack("=q", int(shift_s * 1e9)))

    @property
    def variables(self) -> dict[str, str]:
        """What the node is started with."""
        return {"LD_PRELOAD": str(self.library), "CLOCK_SHIFT": str(self.path)}
