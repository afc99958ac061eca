"""Brokers for all black-box tests written in Python; the options are those of `blackbox.broker`."""

import itertools
import os

import pytest
from blackbox import broker as brokers
from blackbox.wire import Wire

_serial = itertools.count(1)


def pytest_addoption(parser):
    brokers.add_options(parser.getgroup("broker"))
    parser.addoption("--long", action="store_true", help="the long run: full numbers instead of those that fit into CI")


def pytest_report_header(config):
    return f"broker: {config.getoption('url') or (config.getoption('peer') and 'RabbitMQ ' + config.getoption('peer')) or config.getoption('broker_command')}"


@pytest.fixture(scope="session")
def broker(pytestconfig):
    """The broker that most tests share."""
    broker = brokers.from_options(pytestconfig.option)
    if not isinstance(broker, brokers.Running):
        try:
            broker.start()
        except BaseException:
            broker.remove()
            raise
    broker.identify()
    yield broker
    broker.remove()


@pytest.fixture(autouse=True)
def _suited(request):
    """Skips what the broker at hand is known not to do."""
    marks = {mark.name: mark for mark in request.node.iter_markers()}
    if not marks.keys() & {"warren_only", "since", "until"}:
        return
    if "broker" in request.fixturenames:
        broker = request.getfixturevalue("broker")
        is_warren, version = broker.is_warren, broker.version
    else:
        peer = request.config.option.peer
        is_warren, version = peer is None, {None: (), "3": (3, 10), "4": (4, 3)}[peer]
    if is_warren:
        return
    if "warren_only" in marks:
        pytest.skip(f"Warren only: {marks['warren_only'].args[0]}")
    if "since" in marks and version < tuple(int(part) for part in marks["since"].args[0].split(".")):
        pytest.skip(f"RabbitMQ does this since {marks['since'].args[0]}")
    if "until" in marks and version > tuple(int(part) for part in marks["until"].args[0].split(".")):
        pytest.skip(f"RabbitMQ does this until {marks['until'].args[0]}, unless a deprecated feature is permitted")


@pytest.fixture
def own_broker(pytestconfig, request):
    """Starts brokers with settings of their own: own_broker({"heartbeat": "1"})."""
    if pytestconfig.option.url:
        pytest.skip("needs a broker of its own, and --url names somebody else's")
    started = []

    def start(settings=None, **how):
        if pytestconfig.option.peer:
            how = {"management": how.get("management", False)}
        broker = brokers.from_options(pytestconfig.option, settings, **how)
        started.append(broker)
        broker.start()
        broker.identify()
        return broker

    yield start
    for broker in started:
        broker.remove()


@pytest.fixture
def name(request):
    """Makes names nobody else uses: name("q"). What they named is deleted afterwards, be it a queue or an exchange."""
    made = []

    def make(kind="q"):
        made.append(f"warren-test-{os.getpid()}-{next(_serial)}-{kind}")
        return made[-1]

    yield make
    if made and "broker" in request.fixturenames:
        with request.getfixturevalue("broker").wire() as wire:
            for each in made:
                _delete(wire, "queue.delete", queue=each)
                _delete(wire, "exchange.delete", exchange=each)


def _delete(wire, method, **what):
    wire.send_method(1, method, **what)
    if wire.expect_one_of(method + "-ok", "channel.close").name == "channel.close":
        # Somebody's exclusive queue: it goes with its connection.
        wire.send_method(1, "channel.close-ok")
        wire.call(1, "channel.open")


@pytest.fixture
def wire(broker):
    """A raw connection with channel 1 open."""
    with broker.wire() as wire:
        yield wire


@pytest.fixture
def wires(broker):
    """Opens raw connections: wires(channels=2, heartbeat=1)."""
    opened: list[Wire] = []

    def open_wire(**how):
        opened.append(broker.wire(**how))
        return opened[-1]

    yield open_wire
    for each in opened:
        each.drop()
