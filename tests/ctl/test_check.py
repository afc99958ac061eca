"""`warren ctl check` of a broker that runs, and of files."""

import json
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
