"""The runs of a group: whose turn it is, what came of them, and the file that has it."""

import json
import os
import pathlib
import platform
import re
import statistics
import time

PAGE_HEAD = """# What `warren perf` measures

Written by `bench/run workloads` and `bench/run referee`; bench/README.md says how it is measured. Another run with the same
command replaces its section.

"""


def say(text):
    print(text, flush=True)


def rounds_of(brokers, count):
    """Whose turn it is: A B, then A B again; rounds with an odd number the other way round."""
    for number in range(count):
        for broker in (brokers if number % 2 == 0 else brokers[::-1]):
            yield number + 1, broker


class Results:
    """The runs of one group; they are on disk as soon as they are made."""

    def __init__(self, group, options, brokers):
        self.group, self.options, self.runs = group, options, []
        options.results.mkdir(parents=True, exist_ok=True)
        self.path = options.results / f"{group}{options.suffix}"
        self.about = {"group": group, "date": time.strftime("%Y-%m-%d"), "machine": machine(),
                      "brokers": {broker.name: broker.release() for broker in brokers},
                      "command": "bench/run " + " ".join(options.words)}

    def add(self, scenario, broker, number, result):
        self.runs.append({"scenario": scenario, "broker": broker.name, "round": number, **result})
        text = json.dumps({**self.about, "load": os.getloadavg()[0], "runs": self.runs}, indent=1) + "\n"
        unfinished = self.path.with_suffix(".json.new")
        unfinished.write_text(text)
        unfinished.replace(self.path.with_suffix(".json"))

    def of(self, scenario, broker):
        """The runs of one scenario that have succeeded."""
        return [run for run in self.runs if run["scenario"] == scenario and run["broker"] == broker.name
                and not run.keys() & {"failed", "refused"}]

    def failed_count(self, scenario, broker):
        return sum(run["scenario"] == scenario and run["broker"] == broker.name and "failed" in run
                   for run in self.runs)

    def median(self, scenario, broker, key):
        values = [run[key] for run in self.of(scenario, broker)]
        return statistics.median(values) if values else None

    def described(self):
        """What was measured, where, with which command."""
        return [f"{self.about['date']}, {self.about['machine']}; load at the end {os.getloadavg()[0]:.1f}.",
                *[f"{name}: {release}." for name, release in self.about["brokers"].items()],
                f"`{self.about['command']}`"]

    def write(self, lines):
        text = [f"# {self.group}", "", *self.described(), "", *lines]
        self.path.with_suffix(".md").write_text("\n".join(text) + "\n")
        say("\n" + "\n".join(lines) + "\n")

    def write_section(self, page, lines):
        """Into a page that several groups share: this group's section is replaced, the others stay."""
        head, sections = sections_of(page.read_text() if page.exists() else PAGE_HEAD)
        sections[self.group] = "\n".join(["", *self.described(), "", *lines, ""])
        text = head + "".join(f"## {name}\n{section.rstrip()}\n\n" for name, section in sorted(sections.items()))
        unfinished = page.with_suffix(".md.new")
        unfinished.write_text(text.rstrip() + "\n")
        unfinished.replace(page)
        say("\n" + "\n".join(lines) + "\n")


def sections_of(text):
    """What stands before the first section of a page, and its sections by name."""
    head, *sections = re.split(r"^## (.*)\n", text, flags=re.MULTILINE)
    return head, dict(zip(sections[::2], sections[1::2]))


def median_cell(values):
    values = list(values)
    return f"{statistics.median(values):,.0f}" if values else ""


def range_cell(values):
    values = [value for value in values if value is not None]
    return f"{statistics.median(values):,.0f} ({min(values):,} – {max(values):,})" if values else ""


def yes(is_so):
    return "yes" if is_so else "**no**"


def selected(scenarios, options):
    return {name: scenario for name, scenario in scenarios.items() if re.search(options.only or "", name)}


def machine():
    model = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    memory_kib = int(re.search(r"MemTotal:\s*(\d+)", pathlib.Path("/proc/meminfo").read_text())[1])
    return (f"{os.cpu_count()} × {model[1] if model else platform.machine()}, {memory_kib / 2**20:.0f} GiB, "
            f"Linux {platform.release()}")
