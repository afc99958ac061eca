"""Recordings of the flight recorder under load: by a schema of what Perfetto's importer takes, and by what no schema says.

There is no schema of the Trace Event Format. `trace-event.schema.json` is ours, from what the importer looks at; it passes over in silence
what it cannot use, and the schema does not.
"""

import json
import threading
from collections import defaultdict
from pathlib import Path

import fastjsonschema
import pytest

pytestmark = pytest.mark.warren_only("RabbitMQ has no flight recorder")

SCHEMA = json.loads((Path(__file__).parent / "trace-event.schema.json").read_text())
VALIDATE = fastjsonschema.compile(SCHEMA)

CONNECTIONS = 3
MESSAGES = 400


def check(recording):
    """Raises what is wrong with a recording."""
    VALIDATE(recording)
    events = recording["traceEvents"]
    names = {(event["pid"], event["tid"]) for event in events if event["name"] == "thread_name"}
    tracks, pairs = defaultdict(list), defaultdict(list)
    for event in events:
        if event["ph"] == "M":
            continue
        assert (event["pid"], event["tid"]) in names, f"of no task that has a name: {event}"
        if event["ph"] == "X":
            tracks[event["pid"], event["tid"]].append(event)
        else:
            pairs[event["pid"], event["cat"], event["id"]].append(event)
    for events_of_track in tracks.values():
        check_nesting(events_of_track)
    for pair in pairs.values():
        # Numbers are not used twice: the importer would take the calls for one within the other.
        assert [event["ph"] for event in pair] == ["b", "e"], f"no begin and end: {pair}"
        begin, end = pair
        assert begin["name"] == end["name"] and begin["tid"] == end["tid"] and begin["ts"] <= end["ts"], pair


def ns(us):
    return round(us * 1000)


def check_nesting(events):
    """Events of a track lie within each other, or beside each other."""
    open_until = []
    for event in sorted(events, key=lambda event: (ns(event["ts"]), -ns(event["dur"]))):
        start, end = ns(event["ts"]), ns(event["ts"]) + ns(event["dur"])
        while open_until and open_until[-1] <= start:
            open_until.pop()
        assert not open_until or end <= open_until[-1], f"begins within another and ends after it: {event}"
        open_until.append(end)


@pytest.fixture
def recorder(api):
    api.put("/flight-recorder", {"running": True}).expect(204)
    yield api
    api.put("/flight-recorder", {"running": False}).expect(204)


def publish_and_consume(broker, number):
    """Persistent messages that are confirmed, delivered and acknowledged, and lookups between them."""
    wire = broker.wire()
    queue = f"recorded-{number}"
    wire.call(1, "queue.declare", queue=queue, durable=True)
    wire.call(1, "confirm.select")
    for _ in range(MESSAGES):
        wire.publish(1, "", queue, b"x" * 100, delivery_mode=2)
    wire.expect_confirms(1, 1, MESSAGES)
    for _ in range(MESSAGES // 4):
        wire.send_method(1, "basic.get", queue=queue)
        got = wire.expect_message("basic.get-ok")
        wire.send_method(1, "basic.ack", delivery_tag=got.method.delivery_tag)
    wire.call(1, "queue.delete", queue=queue)
    wire.close()


def test_a_recording_under_load_is_what_perfetto_takes(recorder, broker):
    failures = []

    def work(number):
        try:
            publish_and_consume(broker, number)
        except BaseException as error:  # noqa: BLE001
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(CONNECTIONS)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        recorder.get("/queues")
        recorder.put("/queues/%2F/recorded-by-http", {"durable": True})
        recorder.delete("/queues/%2F/recorded-by-http")
    for thread in threads:
        thread.join()
    assert not failures, failures
    recording = recorder.get("/flight-recorder/recording").json
    check(recording)
    phases = defaultdict(set)
    for event in recording["traceEvents"]:
        phases[event["ph"]].add(event["name"])
    assert {"amqp::basic.publish", "amqp::basic.get", "queues::apply_batch", "journal::commit", "journal::sync"} <= phases["X"], phases
    # It waits for the journal, and others are published meanwhile.
    assert "amqp::basic.publish" in phases["b"], phases


NAME = {"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "args": {"name": "a task"}}
CALL = {"ph": "X", "name": "a", "cat": "a", "pid": 1, "tid": 1, "ts": 10.0, "dur": 5.0, "args": {}}
BEGIN = {"ph": "b", "name": "a", "cat": "a", "pid": 1, "tid": 1, "id": "1", "ts": 10.0, "args": {}}
END = {"ph": "e", "name": "a", "cat": "a", "pid": 1, "tid": 1, "id": "1", "ts": 12.0}


def without(event, name):
    return {key: value for key, value in event.items() if key != name}


def recording_of(*events):
    return {"displayTimeUnit": "ms", "traceEvents": list(events)}


def test_what_is_right_is_taken():
    inner = {**CALL, "ts": 11.0, "dur": 4.0}
    check(recording_of(NAME, CALL, inner, {**CALL, "ts": 15.0}, BEGIN, END, {**BEGIN, "id": "2"}, {**END, "id": "2", "ts": 10.0}))


@pytest.mark.parametrize("wrong", [
    {"traceEvents": [NAME, CALL], "tasks": []},
    {"displayTimeUnit": "us", "traceEvents": [NAME, CALL]},
    recording_of(),
    recording_of(NAME, {**CALL, "ph": "Q"}),
    recording_of(NAME, without(CALL, "dur")),
    recording_of(NAME, without(CALL, "ts")),
    recording_of(NAME, without(CALL, "tid")),
    recording_of(NAME, {**CALL, "ts": "10"}),
    recording_of(NAME, {**CALL, "dur": -1}),
    recording_of(NAME, {**CALL, "tid": 1 << 32}),
    recording_of(NAME, {**CALL, "duration": 5}),
    recording_of(NAME, {**CALL, "name": ""}),
    recording_of(NAME, without(BEGIN, "id"), END),
    recording_of(without(NAME, "tid"), CALL),
    recording_of({**NAME, "args": {}}, CALL),
    recording_of(CALL),
    recording_of(NAME, {**CALL, "tid": 2}),
    recording_of(NAME, CALL, {**CALL, "ts": 12.0}),
    recording_of(NAME, BEGIN),
    recording_of(NAME, BEGIN, END, BEGIN, END),
    recording_of(NAME, BEGIN, {**END, "ts": 9.0}),
    recording_of(NAME, BEGIN, {**END, "name": "b"}),
])  # fmt: skip
def test_what_is_wrong_is_found(wrong):
    with pytest.raises((fastjsonschema.JsonSchemaException, AssertionError)):
        check(wrong)
