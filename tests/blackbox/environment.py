"""Where the tests build things, and the Python environment with pinned packages."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
OUTPUT = Path(os.environ.get("WARREN_TESTS_OUTPUT", TESTS.parent / "target" / "tests"))


def python(requirements: Path = TESTS / "requirements.txt") -> str:
    """A Python that has the packages of that file; its virtual environment is made when missing or outdated."""
    wanted = hashlib.sha256((TESTS / "requirements.txt").read_bytes() + requirements.read_bytes() + sys.version.encode()).hexdigest()
    venv = OUTPUT / ("venv" if requirements.parent == TESTS else f"venv-{requirements.parent.name}-{requirements.stem}")
    stamp, executable = venv / "made-from", str(venv / "bin" / "python")
    if not stamp.exists() or stamp.read_text() != wanted:
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(venv)], check=True)
        subprocess.run([executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", str(requirements)], check=True)
        stamp.write_text(wanted)
    return executable


def pytest(paths: list[Path], options: list[str], requirements: Path = TESTS / "requirements.txt") -> int:
    """Runs pytest over `paths`; its exit status."""
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run([python(requirements), "-m", "pytest", "-c", str(TESTS / "pytest.ini"), *options, *map(str, paths)], cwd=TESTS, env=environment, check=False).returncode
