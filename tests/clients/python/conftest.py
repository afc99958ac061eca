"""pika for the tests in this folder."""

from contextlib import contextmanager, suppress
from types import SimpleNamespace

import pika
import pytest
from pika import exceptions


@pytest.fixture
def connect(broker):
    """Opens pika connections: connect(heartbeat=1)."""
    opened = []

    def open_connection(**how):
        credentials = pika.PlainCredentials(how.pop("user", broker.user), how.pop("password", broker.password))
        parameters = {"host": broker.host, "port": broker.port, "credentials": credentials, "socket_timeout": 10, "blocked_connection_timeout": 30, **how}
        opened.append(pika.BlockingConnection(pika.ConnectionParameters(**parameters)))
        return opened[-1]

    yield open_connection
    for connection in opened:
        with suppress(exceptions.AMQPError):
            if connection.is_open:
                connection.close()


@pytest.fixture
def connection(connect):
    """One pika connection."""
    return connect()


@pytest.fixture
def channel(connection):
    """One pika channel."""
    return connection.channel()


@contextmanager
def channel_error(connection, code, text=None):
    """The block must end its channel with that code and text; the connection must survive."""
    raised = SimpleNamespace(code=None, text=None)
    with pytest.raises(exceptions.ChannelClosedByBroker) as caught:
        yield raised
    raised.code, raised.text = caught.value.reply_code, caught.value.reply_text
    assert raised.code == code, caught.value
    assert text is None or raised.text == text
    assert connection.is_open, "a channel error took the connection with it"
    connection.channel().close()


@contextmanager
def connection_error(connection, code, text=None):
    """The block must end the whole connection with that code and text."""
    with pytest.raises(exceptions.ConnectionClosedByBroker) as caught:
        yield
    assert caught.value.reply_code == code, caught.value
    assert text is None or caught.value.reply_text == text
    assert not connection.is_open


def drain(channel, queue):
    """Takes everything that is ready: a list of (body, properties, method)."""
    taken = []
    while True:
        method, properties, body = channel.basic_get(queue, auto_ack=True)
        if method is None:
            return taken
        taken.append(SimpleNamespace(body=body, properties=properties, method=method))


def bodies(channel, queue):
    """The bodies of everything that is ready."""
    return [message.body for message in drain(channel, queue)]
