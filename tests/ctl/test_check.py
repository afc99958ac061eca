"""`warren ctl check` of a broker that runs, and of files."""

import json
import os
import shlex
import subprocess
from pathlib import Path

import pytest

PUBLISHED = Path(__file__).resolve().parents[1] / "definitions" / "published"


def found(said) -> dict:
    return json.loads(said.out)


def objects(report: dict, severity: str) -> str:
    places = [place for finding in report["findings"] if finding["severity"] == severity for place in finding["places"]]
    return " ".join(place["object"] for place in places)


def test_a_broker_that_runs_is_checked(ctl, broker, api, vhost):
    queue = {"durable": True, "arguments": {"x-queue-mode": "lazy"}}
    assert api.ask("PUT", "queues", vhost, "lazy", body=queue)[0] == 201
    said = ctl("check", broker.management_url, "--format", "json")
    assert said.err == ""
    report = found(said)
    # What other tests have left on a broker that all share is not for this one to say.
    assert said.status == (1 if report["verdict"] == "refused" else 0)
    assert f"queue 'lazy' in '{vhost}'" in objects(report, "different")
    assert report["sources"][0]["kind"] == "broker" and "guest:" not in said.out
    assert report["works"]["users"] >= 1 and report["works"]["virtual hosts"] >= 1
    assert any(" is " in note for note in report["notes"])


def test_plugins_and_streams_of_a_rabbitmq_are_found(ctl, broker, api, vhost):
    if broker.is_warren:
        pytest.skip("it has neither")
    assert api.ask("PUT", "queues", vhost, "stream", body={"durable": True, "arguments": {"x-queue-type": "stream"}})[0] == 201
    report = found(ctl("check", broker.management_url, "--format", "json"))
    assert report["verdict"] == "refused" and f"queue 'stream' in '{vhost}'" in objects(report, "refused")
    assert report["works"]["plugins"] >= 1


def test_without_a_word_the_broker_that_ctl_asks_is_checked(ctl, broker):
    assert "a running broker" in ctl("check").out


def test_files_are_checked_without_a_broker(ctl):
    def check(*names, url="http://127.0.0.1:1"):
        return ctl("check", *[str(PUBLISHED / name) for name in names], url=url)

    said = check("enabled_plugins.docker", "docker-image.conf", "export-3.10.json")
    assert (said.status, said.err) == (0, ""), said
    assert said.out.rstrip().endswith("Nothing is refused.")
    said = check("streams-3.11.json")
    assert said.status == 1 and "--skip-unsupported" in said.out
    said = check("no-such-file.json")
    assert said.status == 65 and said.out == "" and "no-such-file.json" in said.err
    said = ctl("check", "-", input="a: b\n", url="http://127.0.0.1:1")
    assert said.status == 65 and "--kind" in said.err
    assert ctl("check", "http://127.0.0.1:1").status == 69


def peak_memory(command: list[str], out: Path) -> tuple[int, int]:
    """Runs a program: how it ended, and the most bytes of memory that it had at a time."""
    with out.open("wb") as file:
        process = subprocess.Popen(command, stdout=file, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, usage.ru_maxrss * 1024


@pytest.mark.parametrize("format", ["table", "json"])
def test_a_check_of_many_queues_takes_less_than_twice_their_size(pytestconfig, tmp_path, format):
    count = 150_000

    def queue(number: int) -> dict:
        arguments = {"x-queue-type": "classic", "x-queue-mode": "lazy", "x-max-length": 100_000}
        return {"name": f"queue.{number}", "vhost": "/", "durable": True, "auto_delete": False, "arguments": arguments}

    def binding(number: int) -> dict:
        return {"source": "amq.topic", "vhost": "/", "destination": f"queue.{number}", "destination_type": "queue",
                "routing_key": f"key.{number}", "arguments": {}}  # fmt: skip

    file, out = tmp_path / "definitions.json", tmp_path / "out"
    document = {"vhosts": [{"name": "/"}], "queues": list(map(queue, range(count))), "bindings": list(map(binding, range(count)))}
    file.write_text(json.dumps(document))
    command = shlex.split(pytestconfig.option.ctl_command)
    status, little = peak_memory([*command, "check", "--kind", "env", "/dev/null"], out)
    assert status == 0
    status, much = peak_memory([*command, "check", str(file), "--format", format], out)
    assert status == 0
    # Each of them has something said of it, and JSON names all of them.
    assert (f"{count:,} queues" if format == "table" else f"queue.{count - 1}'") in out.read_text()
    taken = (much - little) / file.stat().st_size
    assert taken < 2, f"{taken:.2f} times the size of the file"
