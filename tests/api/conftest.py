"""A broker with its management API."""

from contextlib import contextmanager

import pytest
import settling
from blackbox import broker as brokers


@contextmanager
def started(options):
    """A broker with its HTTP API; somebody else's, if the options name one."""
    broker = brokers.from_options(options, management=True)
    try:
        if not isinstance(broker, brokers.Running):
            broker.start()
        broker.identify()
        yield broker
    finally:
        broker.remove()


@pytest.fixture(scope="session")
def broker(pytestconfig):
    """The broker that most of these tests share."""
    with started(pytestconfig.option) as broker:
        yield broker


@pytest.fixture(scope="module")
def fresh_broker(pytestconfig):
    """A broker for one file only."""
    with started(pytestconfig.option) as broker:
        yield broker


@pytest.fixture
def api(broker):
    """The HTTP API as the broker's administrator."""
    return broker.management


@pytest.fixture
def eventually(broker):
    """eventually(check): its assertions must hold, on RabbitMQ once its statistics have come."""
    return lambda check: settling.eventually(broker, check)
