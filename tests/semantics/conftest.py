"""A broker for all scenarios, which run at the same time; each test then looks at one of them."""

import pytest
import stage
from blackbox import broker as brokers


@pytest.fixture(scope="session")
def broker(pytestconfig):
    """The broker, with its HTTP API; somebody else's, if the options name one."""
    broker = brokers.from_options(pytestconfig.option, management=True, plugins=stage.PLUGINS)
    try:
        if not isinstance(broker, brokers.Running):
            broker.start()
        broker.identify()
        yield broker
    finally:
        broker.remove()


@pytest.fixture(scope="session")
def outcomes(broker, request):
    """What the selected scenarios saw."""
    selected = [item.callspec.params["scenario"] for item in request.session.items if "scenario" in getattr(getattr(item, "callspec", None), "params", {})]
    return stage.run(broker, selected)
