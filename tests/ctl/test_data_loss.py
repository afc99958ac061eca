"""Messages that are lost to a damaged file: the queue goes on, and all that watches a broker tells of it until an operator has taken note."""

import json
import re
import time
from pathlib import Path

import pytest
from blackbox import broker as brokers

COUNT, LOST = 2000, 100
# The least that it takes, so that what waits is moved to files.
SMALL = {"warren.journal.bound": "8MiB", "warren.journal.file_size": "1MiB", "warren.chunks.bound": "8MiB"}


def body_of(number: int) -> bytes:
    return b"message %05d " % number + b"x" * 12_000


@pytest.fixture
def own_broker(pytestconfig):
    """A broker of this test's own, whose files are damaged."""
    broker = brokers.from_options(pytestconfig.option, {**SMALL, "warren.alerts.interval": "100ms"}, management=True)
    if not isinstance(broker, brokers.Warren):
        pytest.skip("the files are Warren's")
    broker.management_url = f"http://guest:guest@127.0.0.1:{broker.management_port}"
    try:
        broker.start()
        yield broker
    finally:
        broker.remove()


def fill(broker) -> None:
    with broker.wire(timeout=60) as publisher:
        publisher.call(1, "queue.declare", queue="orders", durable=True)
        publisher.call(1, "confirm.select")
        for number in range(COUNT):
            publisher.publish(1, "", "orders", body_of(number), delivery_mode=2)
        while publisher.expect("basic.ack").delivery_tag < COUNT:
            pass


def file_of(broker, number: int) -> tuple[Path, dict[int, int]]:
    """The file that a message lies in, and where the messages in it are."""
    for path in broker.data_dir.glob("segments/*.segment"):
        places = {int(found[1]): found.start() for found in re.finditer(rb"message (\d{5}) xx", path.read_bytes())}
        if number in places:
            return path, places
    raise AssertionError("the message is in no segment")


def change_byte(broker, number: int) -> Path:
    """Changes a byte of a message in the file where it lies."""
    path, places = file_of(broker, number)
    with path.open("r+b") as file:
        file.seek(places[number] + 6000)
        file.write(b"y")
    return path


def drain(broker, count: int) -> list[int]:
    with broker.wire(timeout=60) as consumer:
        consumer.call(1, "basic.consume", queue="orders", no_ack=True)
        return [int(consumer.expect_message().body[8:13]) for _ in range(count)]


def test_it_is_told_until_it_is_acknowledged_and_the_queue_goes_on(own_broker, ctl):
    def run(*words: str):
        return ctl("-q", *words, url=own_broker.management_url)

    def rows(command: str) -> list:
        return json.loads(run("--formatter", "json", command).out)

    def await_alerts(count: int) -> list:
        until = time.monotonic() + 10
        while len(alerts := rows("list_alerts")) != count and time.monotonic() < until:
            time.sleep(0.05)
        assert len(alerts) == count, alerts
        return alerts

    fill(own_broker)
    assert run("set_alert_rule", "lost", '{"kind":"data-loss","severity":"critical"}').status == 0
    assert (run("check_data_loss").status, rows("list_data_losses"), rows("list_alerts")) == (0, [], [])
    own_broker.stop()
    path = change_byte(own_broker, LOST)
    own_broker.start()
    assert drain(own_broker, COUNT - 1) == [number for number in range(COUNT) if number != LOST]
    # All that tells of it.
    [loss] = rows("list_data_losses")
    assert (loss["vhost"], loss["queue"], loss["messages"]) == ("/", "orders", 1)
    assert loss["path"] == str(path) and loss["what"]
    management = own_broker.management
    told = management.get("/warren/data-loss").expect(200).json
    assert (told["lost_messages"], [file["path"] for file in told["damaged_files"]]) == (1, [str(path)])
    assert management.get("/health/checks/data-loss").expect(503).json["lost_messages"] == 1
    assert management.get("/nodes").json[0]["data_loss_alarm"] is True
    failed = run("check_data_loss")
    assert (failed.status, "1 messages were lost to damaged files" in failed.err) == (69, True), failed
    [alert] = await_alerts(1)
    assert (alert["state"], alert["rule"], alert["severity"]) == ("firing", "lost", "critical")
    assert re.search(rf"lost.*{re.escape(path.name)}|{re.escape(path.name)}.*lost", own_broker.log())
    # It is acknowledged, and the queue works as before.
    assert run("acknowledge_data_losses").status == 0
    assert (run("check_data_loss").status, rows("list_data_losses")) == (0, [])
    await_alerts(0)
    with own_broker.wire() as client:
        client.publish(1, "", "orders", body_of(7))
    assert drain(own_broker, 1) == [7]


def test_a_file_that_is_cut_under_a_running_broker_loses_what_was_behind_the_cut(own_broker, ctl):
    fill(own_broker)
    path, places = file_of(own_broker, LOST)
    cut = places[LOST] + 6000
    with path.open("r+b") as file:
        file.truncate(cut)
    lost = [number for number, place in places.items() if place >= places[LOST]]
    assert 1 < len(lost) < len(places)
    assert drain(own_broker, COUNT - len(lost)) == [number for number in range(COUNT) if number not in lost]
    listed = ctl("-q", "-s", "list_data_losses", "queue", "messages", "path", url=own_broker.management_url)
    assert listed.rows == [["orders", str(len(lost)), str(path)]]
    assert ctl("-q", "check_data_loss", url=own_broker.management_url).status == 69
