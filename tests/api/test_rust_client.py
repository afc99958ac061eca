"""The integration tests of rabbitmq_http_client, the HTTP client for Rust that the newer `rabbitmqadmin` is made of, as its authors wrote them.

They name RabbitMQ's own ports, and so run in a network namespace with a broker of their own (own_ports.py). Cargo fetches them when they run;
nothing of them is kept in the repository.
"""

import json
import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

import own_ports
import pytest
from blackbox import environment

CRATE, VERSION = "rabbitmq_http_client", "0.93.0"
BUILD_TIMEOUT_S, TIMEOUT_S = 1800, 900

# Tests that do not hold here, as a part of their names, and why.
DIFFERENT = {
    "stream": "there are no streams",
    "amqp10_shovel": "AMQP 1.0 is not spoken",
    "health_check_protocol_listener_succeeds": "it asks for a listener of streams, after those of AMQP and HTTP, which it finds",
}


def build(folder: Path) -> None:
    """Copies the crate as cargo has fetched it, and builds its tests, each with its own lock."""
    (folder / "src").mkdir(parents=True, exist_ok=True)
    (folder / "src" / "lib.rs").touch()
    (folder / "Cargo.toml").write_text(f'[workspace]\n[package]\nname = "fetch"\nedition = "2024"\n[dependencies]\n{CRATE} = "={VERSION}"\n')

    def cargo(*words: str, cwd: Path = folder) -> str:
        # Debug information and optimization take longer than the tests.
        variables = {**os.environ, "CARGO_TARGET_DIR": str(folder / "target"), "CARGO_PROFILE_DEV_DEBUG": "0", "CARGO_INCREMENTAL": "0"}
        unoptimized = ["--config", 'profile.dev.package."*".opt-level=0']
        command = ["cargo", *words, *(unoptimized if words[0] == "test" else [])]
        return subprocess.run(command, cwd=cwd, env=variables, capture_output=True, text=True, check=True, timeout=BUILD_TIMEOUT_S).stdout

    packages = json.loads(cargo("metadata", "--format-version=1"))["packages"]
    fetched = next(Path(package["manifest_path"]).parent for package in packages if package["name"] == CRATE)
    crate = folder / "crate"
    shutil.rmtree(crate, ignore_errors=True)
    shutil.copytree(fetched, crate)
    # It is no member of the workspace that this folder lies in.
    with open(crate / "Cargo.toml", "a") as manifest:
        manifest.write("\n[workspace]\n")
    built = cargo("test", "--locked", "--all-features", "--test=integration", "--no-run", "--message-format=json", cwd=crate)
    programs = [made["executable"] for made in map(json.loads, built.splitlines()) if made.get("executable")]
    shutil.copy2(programs[-1], folder / "integration")


@cache
def program() -> Path | str:
    """The tests as a program, or why they cannot be had."""
    if not shutil.which("cargo"):
        return "cargo not found"
    if why := own_ports.why_impossible():
        return why
    folder = environment.OUTPUT / f"{CRATE}-{VERSION}"
    try:
        environment.make_once(folder, VERSION, lambda: build(folder))
    except subprocess.CalledProcessError as why:
        return why.stderr
    return folder / "integration"


@pytest.mark.timeout(BUILD_TIMEOUT_S + TIMEOUT_S)
def test_its_tests_hold(pytestconfig):
    if pytestconfig.option.url or pytestconfig.option.peer:
        pytest.skip("they are run against a broker of their own")
    if not pytestconfig.option.long:
        pytest.skip("they take long to build and to run: run with --long")
    tests = program()
    if isinstance(tests, str):
        pytest.skip(f"the tests of {CRATE} cannot be had: {tests}")
    command = own_ports.command("rust", str(tests), "--test-threads=1")
    done = subprocess.run(command, cwd=tests.parent / "crate", capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    outcomes = dict(re.findall(r"^test (\S+) \.\.\. (ok|FAILED)$", done.stdout, re.MULTILINE))
    assert len(outcomes) > 250, done.stdout + done.stderr
    failed = [name for name, outcome in outcomes.items() if outcome != "ok"]
    unexpected = [name for name in failed if not any(part in name for part in DIFFERENT)]
    assert not unexpected, done.stdout
    for part in DIFFERENT:
        assert any(part in name for name in failed), f"'{part}' holds"
