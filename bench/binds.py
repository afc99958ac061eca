"""Many durable queues, declared and bound to a topic exchange from one connection that waits for each answer."""

from brokers import Turn, chosen
from runs import median_cell, rounds_of, say, yes

# RabbitMQ takes the better part of an hour for as many as Warren.
COUNT = {"rabbitmq": 10_000, "": 100_000}
FEW = 1000
WALL_MAX_S, QUEUE_MAX_BYTES = 60, 4096
# What a message costs may differ by this much between a thousand bindings and all of them.
ROUTING_MAX_RATIO = 1.1


def run_binds(options, brokers, results):
    for number, broker in rounds_of(brokers, options.rounds or 3):
        # What messages cost with few bindings is measured by another start of the broker: they leave memory behind.
        with Turn(broker) as turn:
            few = turn.tool("binds", "--keep", "--count", str(FEW))
        with Turn(broker) as turn:
            result = turn.tool("binds", "--keep", "--count", str(chosen(COUNT, broker.name)))
        result["publish_cpu_us_few"] = few["publish_cpu_us"]
        results.add("binds", broker, number, result)
        say(f"round {number}, {broker.name}: {result['queues']:,} queues in {result['declare_and_bind_s']:.1f} s, "
            f"{result['bytes_per_queue']:,.0f} bytes each, a message {result['publish_cpu_us_few']:.2f} µs of CPU with "
            f"1,000 bindings, {result['publish_cpu_us']:.2f} µs with all")
    lines = [f"| broker | queues | declared and bound in s | within {WALL_MAX_S} s | bytes a queue "
             f"| below {QUEUE_MAX_BYTES:,} | CPU of a message with 1,000 bindings, with all (µs) | unchanged |",
             "|---|---|---|---|---|---|---|---|"]
    for broker in brokers:
        wall_s, length, few, many = (
            results.median("binds", broker, key)
            for key in ("declare_and_bind_s", "bytes_per_queue", "publish_cpu_us_few", "publish_cpu_us"))
        if wall_s is None:
            continue
        runs = results.of("binds", broker)
        lines.append("| " + " | ".join([
            broker.name, median_cell(run["queues"] for run in runs), f"{wall_s:.1f}", yes(wall_s < WALL_MAX_S),
            f"{length:,.0f}", yes(length < QUEUE_MAX_BYTES), f"{few:.2f}, {many:.2f}",
            yes(many <= few * ROUTING_MAX_RATIO)]) + " |")
    return lines
