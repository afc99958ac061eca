"""A broker of its own for each test, and a bystander who must not notice anything."""

import pytest
from blackbox.bystander import Bystander

MIB = 2**20


@pytest.fixture
def victim(own_broker):
    """victim(settings): a broker with a bystander at work. At the end he must be well, and the broker neither gone nor grown."""
    started = []

    def start(settings=None, growth_max=64 * MIB, longest_s=5.0, **how):
        broker = own_broker(settings, **how)
        bystander = Bystander(broker)
        bystander.start()
        assert bystander.is_running.wait(60)
        started.append((broker, bystander, broker.rss_anon_bytes(), growth_max, longest_s))
        return broker

    yield start
    for broker, bystander, before, growth_max, longest_s in started:
        bystander.check(longest_s)
        assert not broker.has_ended(), broker.log_tail()
        grown = broker.rss_anon_bytes() - before
        assert grown < growth_max, f"the broker grew by {grown / MIB:.0f} MiB"
        assert "panicked" not in broker.log(), broker.log_tail()
