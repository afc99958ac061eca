"""Which program is under test, where the tests build things, and the Python environment with pinned packages."""

import fcntl
import hashlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", TESTS.parent / "target")).resolve()
OUTPUT = Path(os.environ.get("WARREN_TESTS_OUTPUT", TARGET / "tests"))
WARREN = Path(os.environ.get("WARREN_BINARY", TARGET / "debug" / "warren")).resolve()
"""The program under test: by default the one that `cargo test --workspace` has built beside the Rust tests."""


@contextmanager
def locked(name: str) -> Iterator[Path]:
    """Whatever several suites share, one at a time: no other process is inside `locked` with that name. Gives the lock's file."""
    OUTPUT.mkdir(parents=True, exist_ok=True)
    path = OUTPUT / f".{name}.lock"
    with open(path, "a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield path


def make_once(output: Path, wanted: str, make: Callable[[], None]) -> None:
    """Runs `make`, which fills `output`, unless it was filled from just that before; one suite makes it, the others wait."""
    stamp = output / "made-from"
    with locked(output.name):
        if not stamp.exists() or stamp.read_text() != wanted:
            stamp.unlink(missing_ok=True)
            make()
            output.mkdir(parents=True, exist_ok=True)
            stamp.write_text(wanted)


def digest(folder: Path) -> str:
    """A hash of the files below a folder."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return hashlib.sha256(b"".join(str(path.relative_to(folder)).encode() + path.read_bytes() for path in files)).hexdigest()


def python(requirements: Path = TESTS / "requirements.txt") -> str:
    """A Python that has the packages of that file; its virtual environment is made when missing or outdated."""
    venv = OUTPUT / ("venv" if requirements.parent == TESTS else f"venv-{requirements.parent.name}-{requirements.stem}")
    executable = str(venv / "bin" / "python")

    def make() -> None:
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(venv)], check=True)
        subprocess.run([executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", str(requirements)], check=True)

    wanted = hashlib.sha256((TESTS / "requirements.txt").read_bytes() + requirements.read_bytes() + sys.version.encode()).hexdigest()
    make_once(venv, wanted, make)
    return executable


def pytest(paths: list[Path], options: list[str], requirements: Path = TESTS / "requirements.txt") -> int:
    """Runs pytest over `paths`; its exit status."""
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run([python(requirements), "-m", "pytest", "-c", str(TESTS / "pytest.ini"), *options, *map(str, paths)], cwd=TESTS, env=environment, check=False).returncode
