"""Services of compose files, with nothing changed but the image, become healthy and pass a message."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import compose
import pytest
import yaml
from blackbox import environment

if reason := compose.why_not():
    pytest.skip(reason, allow_module_level=True)

SERVICES = yaml.safe_load((Path(__file__).parent / "compose_services.yml").read_text())
HEALTHY = [name for name, said in SERVICES.items() if "x-refused" not in said]
REFUSED = [name for name, said in SERVICES.items() if "x-refused" in said]


# Most of a service's time is waiting.
AT_ONCE = 4


def becomes_healthy(service):
    with service.running():
        service.wait_until_healthy()
        service.pass_a_message()
        for command in service.said.get("x-after", ()):
            done = service.execute(["/bin/sh", "-c", command])
            assert done.returncode == 0, f"{command}: {done.returncode} {done.stdout}"
        for text in service.said.get("x-log", ()):
            first, _, _ = service.said_so_far().partition("started")
            assert text in first, service.said_so_far()
    if commands := service.said.get("x-again"):
        # A container that is made anew has another name.
        service.host = "made-anew"
        with service.running():
            service.wait_until_healthy()
            for command in commands:
                done = service.execute(["/bin/sh", "-c", command])
                assert done.returncode == 0, f"again, {command}: {done.returncode} {done.stdout}"


def is_refused(service):
    with service.running():
        assert service.said["x-refused"] in service.wait_until_ended()
        assert service.process.returncode == 1


@pytest.fixture(scope="module")
def outcomes(request, tmp_path_factory):
    """What became of each service whose test was chosen."""
    chosen = [item.callspec.params["name"] for item in request.session.items if item.path == Path(__file__) and hasattr(item, "callspec")]
    folder = tmp_path_factory.mktemp("compose")
    image = compose.Image(environment.WARREN, folder)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        run = {name: pool.submit(outcome, name, image, folder) for name in chosen}
    return run


def outcome(name, image, folder):
    service = compose.Service(name, SERVICES[name], image, folder)
    (is_refused if name in REFUSED else becomes_healthy)(service)


def test_there_are_thirty_services():
    assert len(HEALTHY) >= 30


@pytest.mark.parametrize("name", HEALTHY)
def test_a_service_becomes_healthy_and_passes_a_message(outcomes, name):
    outcomes[name].result()


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_honoured_is_refused_by_name(outcomes, name):
    outcomes[name].result()
