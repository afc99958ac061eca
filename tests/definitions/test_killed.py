"""An import that is killed at any moment: the broker starts again, has nothing but what the document has, and a second import ends well."""

import json
import random
import threading
import time
from functools import cache

import documents
import pytest
from blackbox.management import segment

TIMEOUT_S = 60.0


@cache
def document():
    """Ten thousand objects of all kinds; the expected state."""
    made = documents.mixed()
    return json.dumps(made).encode(), documents.objects(made)


def export(broker):
    return broker.management.get("/definitions").expect(200).json


@pytest.fixture(scope="module")
def import_s(pytestconfig):
    """How long an import takes here that nobody disturbs, in seconds."""
    from blackbox import broker as brokers

    broker = brokers.from_options(pytestconfig.option, management=True)
    try:
        broker.start()
        started_at = time.monotonic()
        broker.management.post("/definitions", document()[0]).expect(204)
        return time.monotonic() - started_at
    finally:
        broker.remove()


@pytest.fixture(scope="module")
def fresh(pytestconfig):
    """What a broker has by itself."""
    from blackbox import broker as brokers

    broker = brokers.from_options(pytestconfig.option, management=True)
    try:
        broker.start()
        return export(broker)
    finally:
        broker.remove()


class Import(threading.Thread):
    """An import over HTTP, and how it ended: a status, or None when nobody answered."""

    def __init__(self, broker):
        super().__init__(daemon=True)
        self.management, self.status = broker.management, None

    def run(self):
        try:
            self.status = self.management.post("/definitions", document()[0]).status
        except OSError:
            self.status = None


def check_readable(broker):
    """Every list of every kind, every vhost's own export, and AMQP."""
    api = broker.management
    for path in ("/overview", "/users", "/vhosts", "/permissions", "/topic-permissions", "/policies", "/operator-policies", "/parameters", "/global-parameters", "/vhost-limits"):
        api.get(path).expect(200)
    for path in ("/queues", "/exchanges", "/bindings"):
        rows = api.get(path).expect(200).json
        for vhost in sorted({row["vhost"] for row in rows})[::20]:
            api.get(f"/definitions/{segment(vhost)}").expect(200)
            own = api.get(f"{path}/{segment(vhost)}").expect(200).json
            assert len(own) == sum(row["vhost"] == vhost for row in rows)
    with broker.wire() as wire:
        queue = wire.call(1, "queue.declare", exclusive=True).queue
        wire.call(1, "confirm.select")
        wire.publish(1, "", queue, b"x")
        wire.expect("basic.ack")


def check_complete(broker, fresh):
    told = documents.difference(documents.beyond(export(broker), fresh), document()[1])
    assert not told, told


def test_import_over_http_that_is_killed_can_be_repeated(own_broker, import_s, fresh, round_seed):
    dice = random.Random(f"http/{round_seed}")
    broker = own_broker(management=True)
    importing = Import(broker)
    importing.start()
    # Before the first object is there, between any two of them, or when the answer is on its way.
    time.sleep(dice.uniform(0.0, 1.1) * import_s)
    broker.kill()
    importing.join(TIMEOUT_S)
    broker.start()
    check_readable(broker)
    found = documents.beyond(export(broker), fresh)
    # What was answered is there; of what was not, a part.
    told = documents.difference(found, document()[1], is_part_enough=importing.status is None)
    assert not told, told
    assert importing.status in (None, 204)
    broker.management.post("/definitions", document()[0]).expect(204)
    check_complete(broker, fresh)
    broker.kill()
    broker.start()
    check_complete(broker, fresh)


def test_import_at_the_start_that_is_killed_is_done_by_the_next_start(own_broker, import_s, fresh, round_seed, tmp_path):
    dice = random.Random(f"start/{round_seed}")
    broker = own_broker(management=True)
    broker.stop()
    path = tmp_path / "definitions.json"
    path.write_bytes(document()[0])
    broker.settings["load_definitions"] = str(path)
    for _ in range(dice.choice([1, 2, 3])):
        broker.start(wait=False)
        time.sleep(dice.uniform(0.0, 1.2) * import_s)
        broker.kill()
    broker.start()
    check_complete(broker, fresh)
    check_readable(broker)
    del broker.settings["load_definitions"]
    broker.kill()
    broker.start()
    check_complete(broker, fresh)


def test_a_start_whose_definitions_are_broken_says_so_and_harms_nothing(own_broker, fresh, tmp_path):
    broker = own_broker(management=True)
    broker.stop()
    path = tmp_path / "definitions.json"
    path.write_bytes(document()[0][:-1000])
    broker.settings["load_definitions"] = str(path)
    broker.start(wait=False)
    assert broker.wait_ended() == 1
    assert str(path) in broker.log()
    del broker.settings["load_definitions"]
    broker.start()
    told = documents.difference(documents.beyond(export(broker), fresh), document()[1], is_part_enough=True)
    assert not told, told
