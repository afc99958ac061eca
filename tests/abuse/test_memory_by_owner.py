"""What memory is used for: each owner grows by what was really allocated for it, and all parts are the total."""

import resource

import pytest

KIB, MIB = 2**10, 2**20


@pytest.fixture(autouse=True)
def _files():
    """The test itself needs a file for each connection."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def owners(broker) -> dict[str, int]:
    """Its parts by name, and their total."""
    api = broker.management
    node = api.get("/overview").json["node"]
    memory = api.get(f"/nodes/{node}/memory").json["memory"]
    parts = {name: size for name, size in memory.items() if isinstance(size, int)}
    total = sum(parts.values())
    assert memory["total"]["rss"] <= total < memory["total"]["rss"] * 1.1 and memory["total"]["erlang"] == total
    return parts


def check_growth(broker, act, names: list[str], tolerance: float) -> None:
    """These owners together grow by what the process does, within so much of it; the others hardly do."""
    # What is made once has been made.
    for _ in range(3):
        owners(broker)
    before, resident_before = owners(broker), broker.rss_anon_bytes()
    kept = act()
    after, resident_after = owners(broker), broker.rss_anon_bytes()
    grown = sum(after[name] - before[name] for name in names)
    resident = resident_after - resident_before
    print(f"{', '.join(names)}: {grown / MIB:.1f} MiB of {resident / MIB:.1f} MiB")
    assert abs(grown - resident) <= resident * tolerance, {name: after[name] - before[name] for name in after}
    for name in set(after) - {*names, "other_system", "code"}:
        assert abs(after[name] - before[name]) <= resident * 0.1, (name, after[name] - before[name])
    del kept


def test_a_backlog_is_its_contents_and_the_entries_of_its_queue(own_broker):
    broker = own_broker(management=True)
    wire = broker.wire(timeout=60)
    wire.call(1, "queue.declare", queue="backlog", durable=True)
    wire.call(1, "confirm.select")

    def fill():
        for number in range(1, 25_001):
            wire.publish(1, "", "backlog", bytes(1000), delivery_mode=1)
            if number % 500 == 0:
                wire.expect_confirms(1, number - 499, number)

    check_growth(broker, fill, ["binary", "queue_procs", "allocated_unused"], 0.15)
    memory = owners(broker)
    assert 25_000 * 1000 <= memory["binary"] <= 25_000 * 1000 * 1.3, memory
    assert 25_000 * 24 <= memory["queue_procs"] <= 25_000 * 200, memory


def test_many_queues_are_queues(own_broker):
    broker = own_broker(management=True)
    wire = broker.wire(timeout=60)

    def declare():
        for number in range(20_000):
            wire.send_method(1, "queue.declare", queue=f"queue-number-{number}", durable=False)
            if number % 500 == 499:
                for _ in range(500):
                    wire.expect("queue.declare-ok")

    check_growth(broker, declare, ["queue_procs", "metadata_store"], 0.35)


def test_idle_connections_are_connections(own_broker):
    broker = own_broker(management=True)
    broker.wire(timeout=60)
    first = [broker.wire(timeout=60) for _ in range(100)]
    names = ["connection_readers", "connection_writers", "connection_channels", "connection_other"]
    check_growth(broker, lambda: [broker.wire(timeout=60) for _ in range(1500)], names, 0.35)
    del first
