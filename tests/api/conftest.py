"""A broker with its management API."""

import pytest
import settling
from blackbox import broker as brokers


@pytest.fixture(scope="session")
def broker(pytestconfig):
    """The broker that these tests share, with its HTTP API."""
    broker = brokers.from_options(pytestconfig.option, management=True)
    if not isinstance(broker, brokers.Running):
        try:
            broker.start()
        except BaseException:
            broker.remove()
            raise
    broker.identify()
    yield broker
    broker.remove()


@pytest.fixture
def api(broker):
    """The HTTP API as the broker's administrator."""
    return broker.management


@pytest.fixture
def eventually(broker):
    """eventually(check): its assertions must hold, on RabbitMQ once its statistics have come."""
    return lambda check: settling.eventually(broker, check)
