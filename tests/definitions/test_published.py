"""Definitions as people publish them, imported without what is not supported: over HTTP, by `warren ctl`, and at the start.

What an import comes to is recorded beside each document's report, in `published/expected`: a status, then what was left out, or why nothing was
imported. `WARREN_RENDER=1` records it anew. Reports of `warren ctl check` are compared with the same records (`crates/ctl`), so that the check
says what the broker does.
"""

import json
import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from blackbox import environment
from blackbox.management import Management, segment

PUBLISHED = Path(__file__).parent / "published"
DOCUMENTS = sorted(path.name for path in PUBLISHED.glob("*.json"))
LISTS = ["users", "vhosts", "permissions", "topic_permissions", "parameters", "global_parameters", "policies", "exchanges", "queues", "bindings"]
# Made by the broker itself.
RESERVED = "amq."
# Of bindings without one of their ends, which refuse nothing.
PASSED_OVER = re.compile(r"is neither in the document nor on the broker$|: 'amq\.[^']*' was left out$")


def read(name):
    return json.loads((PUBLISHED / name).read_text())


def record(name) -> Path:
    return PUBLISHED / "expected" / f"{name}.import"


def single_vhost(document) -> str | None:
    """The vhost that a document has to be imported into, if it is of one only."""
    if document.get("rabbitmq_definition_format") == "single_virtual_host" or "users" not in document:
        return document.get("original_vhost_name", "/")
    return None


def left_out(told: list[str]) -> set[tuple[str, int]]:
    """What `queues, entry 3 (…): …` names."""
    found = set()
    for line in told:
        kind, _, rest = line.partition(", entry ")
        if rest:
            found.add((kind, int(rest.split()[0].rstrip(":"))))
    return found


def kept(document, told: list[str]):
    """By list, what is to be there."""
    without = left_out(told)
    return {kind: [entry for number, entry in enumerate(document.get(kind, []), 1) if (kind, number) not in without] for kind in LISTS}


@pytest.fixture
def importer(own_broker):
    """A fresh broker, and an operator whom no document knows: documents change the password of guest."""

    def start(settings=None):
        broker = own_broker(settings, management=True)
        broker.management.put("/users/operator", {"password": "operator", "tags": "administrator"}).expect(201)
        return broker, Management((broker.host, broker.management_port), "operator", "operator")

    return start


def check_there(management, document, told, vhost=None):
    """All that was not left out is there, and nothing of what was."""
    wanted, without = kept(document, told), left_out(told)
    for kind, path in (("queues", "queues"), ("exchanges", "exchanges"), ("policies", "policies")):
        there = {(row["vhost"], row["name"]) for row in management.get(f"/{path}").expect(200).json}
        for entry in wanted[kind]:
            if not entry["name"].startswith(RESERVED):
                assert (vhost or entry["vhost"], entry["name"]) in there, f"{kind}: {entry}"
        for kind_left, number in without:
            if kind_left == kind:
                entry = document[kind][number - 1]
                assert (vhost or entry["vhost"], entry["name"]) not in there, f"{kind}: {entry}"
    bindings = {(row["vhost"], row["source"], row["destination"], row["routing_key"]) for row in management.get("/bindings").expect(200).json}
    for entry in wanted["bindings"]:
        if entry["source"]:
            assert (vhost or entry["vhost"], entry["source"], entry["destination"], entry["routing_key"]) in bindings, entry
    for kind_left, number in without:
        if kind_left == "bindings":
            entry = document["bindings"][number - 1]
            assert (vhost or entry["vhost"], entry["source"], entry["destination"], entry["routing_key"]) not in bindings, entry
    users = {row["name"] for row in management.get("/users").expect(200).json}
    assert {entry["name"] for entry in wanted["users"]} <= users


@pytest.mark.parametrize("name", DOCUMENTS)
def test_all_but_what_is_refused_is_imported_over_http(importer, name):
    _, management = importer()
    document = read(name)
    vhost = single_vhost(document)
    if vhost is not None:
        management.put(f"/vhosts/{segment(vhost)}").expect(201, 204)
    path = "/definitions" if vhost is None else f"/definitions/{segment(vhost)}"
    answer = management.post(f"{path}?skip_unsupported=true", document).expect(200, 400)
    # Reasons in RabbitMQ's words go over several lines.
    told = [" ".join(entry.split()) for entry in answer.json["left_out"]] if answer.status == 200 else answer.reason.splitlines()
    text = "\n".join([str(answer.status), *told]) + "\n"
    if os.environ.get("WARREN_RENDER"):
        record(name).write_text(text)
    assert text == record(name).read_text()
    if answer.status == 200:
        check_there(management, document, told, vhost)
        # What is refused is refused without the wish to leave it out, and by the same names; bindings of it are not named apart.
        refusal = management.post(path, document)
        refused = [line for line in told if not PASSED_OVER.search(line)]
        assert refusal.status == (400 if refused else 204), refusal
        if refused:
            named = left_out(refusal.reason.splitlines())
            assert named <= left_out(told) and all(kind == "bindings" for kind, _ in left_out(told) - named)


@pytest.mark.parametrize("name", [name for name in DOCUMENTS if single_vhost(read(name)) is None])
def test_all_but_what_is_refused_is_imported_at_the_start(importer, name):
    document = read(name)
    status, *told = record(name).read_text().splitlines()
    broker, management = importer()
    broker.stop()
    broker.settings |= {"load_definitions": str(PUBLISHED / name), "definitions.skip_unsupported" if name == "plugins-4.1.json" else "management.load_definitions_skip_unsupported": "true"}
    if status != "200":
        broker.start(wait=False)
        assert broker.wait_ended() == 1
        return
    broker.start()
    log = broker.log()
    for line in told:
        assert line.partition("): ")[0] in log, line
    check_there(management, document, told)


@pytest.mark.parametrize("name", [name for name in DOCUMENTS if single_vhost(read(name)) is not None])
def test_a_start_refuses_what_is_of_one_vhost_as_the_check_says(importer, tmp_path, name):
    broker, _ = importer()
    broker.stop()
    broker.settings |= {"load_definitions": str(PUBLISHED / name)}
    broker.start(wait=False)
    assert broker.wait_ended() == 1
    configuration = tmp_path / "rabbitmq.conf"
    configuration.write_text(f"load_definitions = /etc/rabbitmq/{name}\n")
    command = [*shlex.split(f"{environment.WARREN} ctl"), "check", "--format", "json", str(PUBLISHED / name)]
    for more, status in (([], 0), ([str(configuration)], 1)):
        checked = subprocess.run([*command, *more], capture_output=True, text=True, timeout=60)
        assert checked.returncode == status, checked
        assert any("load_definitions refuses it" in note for note in json.loads(checked.stdout)["notes"]), checked.stdout


def test_warren_ctl_lists_what_it_leaves_out(importer, pytestconfig):
    _, management = importer()
    told = record("streams-3.11.json").read_text().splitlines()[1:]
    command = [*shlex.split(f"{environment.WARREN} ctl"), "--url", management.url, "--username", "operator", "--password", "operator"]
    command += ["import_definitions", str(PUBLISHED / "streams-3.11.json"), "--skip-unsupported"]
    said = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert said.returncode == 0, said
    assert said.stdout.splitlines()[-len(told) :] == told, said.stdout
    check_there(management, read("streams-3.11.json"), told)
