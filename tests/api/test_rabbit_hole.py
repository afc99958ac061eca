"""The specs of rabbit-hole, the HTTP client for Go that Terraform's provider and Kubernetes' operators use, as their authors wrote them.

They name RabbitMQ's own ports, and so run in a network namespace with a broker of their own (own_ports.py). Nothing of them is kept in the
repository.
"""

import json
import shutil
import subprocess
from functools import cache
from pathlib import Path

import own_ports
import pytest
from blackbox import environment

MODULE, VERSION = "github.com/michaelklishin/rabbit-hole/v3", "v3.5.0"
TIMEOUT_S = 600

# Specs that do not hold here, by the end of their names, and why.
DIFFERENT = {
    "declares a shovel using AMQP 1.0 protocol": "AMQP 1.0 is not spoken",
    "deletes one topic permissions": "permissions are of exchanges that exist, as on RabbitMQ 4.3",
}


@cache
def program() -> Path | str:
    """The specs as a program, or why they cannot be had."""
    if not shutil.which("go"):
        return "go not found"
    if why := own_ports.why_impossible():
        return why
    folder = environment.OUTPUT / f"rabbit-hole-{VERSION}"
    output = folder / "specs"

    def make() -> None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "go.mod").write_text("module specs\n")
        for command in (["go", "get", "-t", f"{MODULE}@{VERSION}"], ["go", "test", "-c", "-o", str(output), MODULE]):
            subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)

    try:
        environment.make_once(folder, VERSION, make)
    except subprocess.CalledProcessError as why:
        return why.stderr
    return output


def name_of(spec) -> str:
    return " ".join([*spec["ContainerHierarchyTexts"], spec["LeafNodeText"]])


@pytest.mark.timeout(2 * TIMEOUT_S)
def test_its_specs_hold(pytestconfig, tmp_path):
    if pytestconfig.option.url or pytestconfig.option.peer:
        pytest.skip("they are run against a broker of their own")
    specs = program()
    if isinstance(specs, str):
        pytest.skip(f"rabbit-hole's specs cannot be had: {specs}")
    report = tmp_path / "report.json"
    command = own_ports.command("rabbit-hole", str(specs), f"-ginkgo.json-report={report}", "-ginkgo.no-color")
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    assert report.exists(), done.stdout + done.stderr
    ran = [spec for spec in json.loads(report.read_text())[0]["SpecReports"] if spec["State"] in ("passed", "failed", "panicked", "timedout")]
    assert len(ran) > 150, done.stdout
    failed = {name_of(spec): spec["Failure"]["Message"] for spec in ran if spec["State"] != "passed"}
    unexpected = {name: why for name, why in failed.items() if not name.endswith(tuple(DIFFERENT))}
    assert not unexpected, "\n".join(f"{name}: {why}" for name, why in unexpected.items())
    assert len(failed) == len(DIFFERENT), f"only these fail: {list(failed)}"
