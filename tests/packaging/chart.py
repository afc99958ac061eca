"""The chart, rendered by Helm's own library, and what is made of it here: objects, and files that a container would have."""

import base64
import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import helm_python as helm
import kubernetes_validate
import yaml

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "packaging" / "helm" / "warren"
RELEASE, NAMESPACE = "demo", "prod"
KUBERNETES = "1.31"
# Kinds that are not Kubernetes' own: no schema of theirs is here, only what we know that they need.
FOREIGN = {"ServiceMonitor": ("selector", "endpoints"), "PrometheusRule": ("groups",)}


class Loader(yaml.SafeLoader):
    """As Kubernetes reads YAML: a key that is there twice is a mistake."""

    def construct_mapping(self, node, deep=False):
        keys = [self.construct_object(key, deep=deep) for key, _ in node.value]
        assert len(keys) == len(set(keys)), f"twice: {[key for key in keys if keys.count(key) > 1]} {node.start_mark}"
        return super().construct_mapping(node, deep)


@dataclass
class Rendered:
    objects: list[dict]
    notes: str

    def of(self, kind: str) -> list[dict]:
        return [found for found in self.objects if found["kind"] == kind]

    def one(self, kind: str, name: str | None = None) -> dict:
        found = [each for each in self.of(kind) if name in (None, each["metadata"]["name"])]
        assert len(found) == 1, f"{len(found)} objects of the kind {kind}, not one"
        return found[0]

    def secret(self, name: str) -> dict[str, str]:
        secret = self.one("Secret", name)
        plain = {key: base64.b64decode(value).decode() for key, value in secret.get("data", {}).items()}
        return plain | secret.get("stringData", {})

    @property
    def configuration(self) -> str:
        return next(each for each in self.of("Secret") if "warren.conf" in each.get("stringData", {}))["stringData"]["warren.conf"]

    @property
    def pod(self) -> dict:
        return self.one("StatefulSet")["spec"]["template"]["spec"]

    @property
    def container(self) -> dict:
        return self.pod["containers"][0]

    def environment(self, pod_name: str) -> dict[str, str]:
        """What the container has: secrets looked up, $(NAME) replaced."""
        found = {"MY_POD_NAME": pod_name}
        for entry in self.container["env"]:
            if "value" in entry:
                found[entry["name"]] = re.sub(r"\$\((\w+)\)", lambda name: found.get(name[1], name[0]), entry["value"])
            elif reference := entry["valueFrom"].get("secretKeyRef"):
                if any(each["metadata"]["name"] == reference["name"] for each in self.of("Secret")):
                    found[entry["name"]] = self.secret(reference["name"])[reference["key"]]
        return found


@cache
def _chart() -> helm.Chart:
    return helm.Chart.load(str(CHART))


def render(values: dict | None = None) -> Rendered:
    files = _chart().render(values or {}, name=RELEASE, namespace=NAMESPACE)
    objects, notes = [], ""
    for name, text in files.items():
        if name.endswith("NOTES.txt"):
            notes = text
            continue
        objects += [found for found in yaml.load_all(text, Loader) if found]
    return Rendered(objects, notes)


def refusal(values: dict) -> str:
    """What Helm says of values that cannot be meant."""
    try:
        render(values)
    except helm.HelmError as error:
        return str(error)
    raise AssertionError(f"{json.dumps(values)} was rendered")


def check(found: dict) -> None:
    """Against Kubernetes' schemas, in which unknown fields are mistakes."""
    if found["kind"] in FOREIGN:
        missing = [field for field in FOREIGN[found["kind"]] if not found["spec"].get(field)]
        assert not missing, f"{found['kind']} without {missing}"
        return
    kubernetes_validate.validate(found, KUBERNETES, strict=True)


def lint(values: dict | None = None) -> list[str]:
    """Helm's remarks that are more than recommendations."""
    told = helm.lint(str(CHART), values or {})
    return [message["error"] for message in told["messages"] if message["severity"] > 1] + list(told["errors"])
