"""What a scrape costs: counted in instructions, which do not depend on what else the machine does."""

import re
import shutil
import subprocess

import pytest

SCRAPES = 10
FEW, MANY = 10, 10_000
# Whatever else the broker does meanwhile is counted, too: once in a while it samples its queues, whose number then counts. Of as many runs the least has
# no such moment in it.
RUNS = 5
# A look at each of the queues would be several times as much.
RATIO_MAX = 1.25

if not shutil.which("callgrind_control"):
    pytest.skip("valgrind is not installed", allow_module_level=True)


def _control(broker, *arguments):
    subprocess.run(["callgrind_control", *arguments, str(broker.pid)], check=True, capture_output=True)


def _declare(broker, count):
    queues = [{"name": f"queue-{number}", "vhost": "/", "durable": True, "auto_delete": False, "arguments": {}} for number in range(count)]
    broker.management.post("/definitions", {"queues": queues}).expect(204)


def _measured(own_broker, folder, count):
    """A broker with so many queues, whose instructions are counted from now on."""
    broker = own_broker(wrapper=["valgrind", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={folder}/callgrind.out.%p"])
    _declare(broker, count)
    _control(broker, "--instr=on")
    return broker


def _instructions(broker, folder, path):
    """Of some scrapes, after one that makes what is made once: the least of some runs."""
    broker.scrape(path)
    return min(_instructions_once(broker, folder, path) for _ in range(RUNS))


def _instructions_once(broker, folder, path):
    _control(broker, "--zero")
    for _ in range(SCRAPES):
        broker.scrape(path)
    _control(broker, "--dump")
    parts = {int(part.suffix[1:]): part for part in folder.glob(f"callgrind.out.{broker.pid}.*")}
    return int(re.search(r"^summary: (\d+)", parts[max(parts)].read_text(errors="replace"), re.MULTILINE)[1])


@pytest.mark.timeout(600)
def test_the_node_as_a_whole_costs_the_same_with_many_queues(own_broker, tmp_path):
    small, large = _measured(own_broker, tmp_path, FEW), _measured(own_broker, tmp_path, MANY)
    assert f"\nrabbitmq_queues {MANY}\n" in large.scrape("/metrics")
    few, many = (_instructions(broker, tmp_path, "/metrics") for broker in (small, large))
    each = _instructions(large, tmp_path, "/metrics/detailed?family=queue_coarse_metrics")
    print(f"{SCRAPES} scrapes: {few} instructions with {FEW} queues, {many} with {MANY}; {each} where each is told of")
    assert each > 5 * many, "is anything counted?"
    assert many < RATIO_MAX * few
