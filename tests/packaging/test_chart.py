"""The chart with many sets of values: Helm takes it, Kubernetes would take what it makes, and values do what they say."""

import json
import re
import shutil
import subprocess

import pytest
from chart import CHART, KUBERNETES, ROOT, check, lint, refusal, render

TLS = {"tls": {"enabled": True, "existingSecret": "certs"}}
CLUSTER = {"replicaCount": 3}
DEFINITIONS = json.dumps({
    "vhosts": [{"name": "/"}, {"name": "shop"}], "users": [{"name": "ann", "password": "s3cret", "tags": "administrator"}],
    "permissions": [{"user": "ann", "vhost": "/", "configure": ".*", "write": ".*", "read": ".*"}],
})  # fmt: skip

# By what they are about. All have to be objects that Kubernetes takes, and configurations that the broker takes (test_chart_brokers.py).
SETS = {
    "nothing": {},
    "cluster": CLUSTER,
    "five": {"replicaCount": 5, "clusterName": "burrow", "podAntiAffinityPreset": "hard"},
    "names": {"fullnameOverride": "hutch", "namespaceOverride": "elsewhere", "clusterDomain": "example.internal", **CLUSTER},
    "password": {"auth": {"username": "ann", "password": "s3cret $(x) #", "clusterSecret": "carrots", "vhost": "shop"}, **CLUSTER},
    "existing secrets": {"auth": {"existingSecret": "mine", "existingSecretUsernameKey": "user", "existingClusterSecret": "ours"}, **CLUSTER},
    "names of another chart": {"auth": {"existingPasswordSecret": "mine", "existingErlangSecret": "ours", "existingSecretErlangKey": "cookie"}, **CLUSTER},
    "tls": TLS,
    "tls with certificates of clients": {"tls": {**TLS["tls"], "sslOptionsVerify": "verify_peer", "failIfNoPeerCert": True, "management": True}},
    "tls between nodes": {"clusterTls": {"enabled": True, "existingSecret": "node-certs"}, **CLUSTER},
    "no plain port": {**TLS, "service": {"portEnabled": False, "managerPortEnabled": False}},
    "configuration": {"configuration": "cluster_name = {{ .Release.Name }}\nlisteners.tcp.default = 5672"},
    "extra configuration": {
        "extraConfiguration": "heartbeat = 30\nconsumer_timeout = 1800000\ndisk_free_limit.absolute = 2GB",
        "existingConfigurationSecret": "more",
    },
    "what charts of RabbitMQ have": {
        "pdb": {"create": True, "minAvailable": 2}, "plugins": "rabbitmq_management rabbitmq_peer_discovery_k8s", "extraPlugins": "rabbitmq_shovel rabbitmq_shovel_management",
        "rbac": {"create": True}, "clustering": {"enabled": True, "addressType": "hostname", "rebalance": True, "partitionHandling": "autoheal"},
        "volumePermissions": {"enabled": True}, "ldap": {"enabled": False}, "ulimitNofiles": "65536", "featureFlags": "", "resourcesPreset": "micro",
        "advancedConfiguration": "[{rabbit, [{consumer_timeout, {{ mul 10 3600000 }}}]}].", "memoryHighWatermark": {"enabled": True, "type": "relative", "value": 0.4},
        "tcpListenOptions": {"enabled": True, "backlog": 128, "nodelay": True, "linger": {"lingerOn": True, "timeout": 0}, "keepalive": False}, **CLUSTER,
    },
    "limits": {"memoryHighWatermark": {"enabled": True, "type": "absolute", "value": "512MiB"}, "diskFreeLimit": "1GB", "logFormat": "json"},
    "definitions": {
        "loadDefinition": {"enabled": True, "existingSecret": "definitions"},
        "extraSecrets": {"definitions": {"load_definition.json": DEFINITIONS}},
        "auth": {"username": "ann", "password": "s3cret"},
    },
    "no persistence": {"persistence": {"enabled": False}},
    "an existing claim": {"persistence": {"existingClaim": "old"}},
    "persistence": {
        "persistence": {
            "storageClass": "fast", "size": "100Gi", "annotations": {"a": "b"}, "labels": {"c": "d"}, "selector": {"matchLabels": {"e": "f"}},
            "dataSource": {"name": "snapshot", "kind": "VolumeSnapshot", "apiGroup": "snapshot.storage.k8s.io"},
        },
        "persistentVolumeClaimRetentionPolicy": {"enabled": True, "whenDeleted": "Delete"},
    },
    "load balancer": {
        "service": {
            "type": "LoadBalancer", "loadBalancerIP": "192.0.2.1", "loadBalancerSourceRanges": ["192.0.2.0/24"], "nodePorts": {"amqp": 30672},
            "externalTrafficPolicy": "Local", "sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 60}},
            "annotations": {"a": "b"}, "labels": {"c": "d"}, "extraPorts": [{"name": "more", "port": 1883, "targetPort": 1883}],
        }
    },
    "ingress": {
        "ingress": {
            "enabled": True, "hostname": "{{ .Release.Name }}.example.org", "ingressClassName": "nginx", "tls": True, "annotations": {"a": "b"},
            "extraHosts": [{"name": "other.example.org"}], "extraTls": [{"hosts": ["other.example.org"], "secretName": "other"}],
        }
    },
    "network policy": {"networkPolicy": {"enabled": True, "allowExternal": False, "allowExternalEgress": False}, **CLUSTER},
    "metrics": {
        "metrics": {
            "serviceMonitor": {
                "enabled": True, "namespace": "monitoring", "labels": {"release": "prometheus"}, "interval": "15s", "scrapeTimeout": "10s",
                "perObject": {"enabled": True}, "detailed": {"enabled": True, "family": ["queue_coarse_metrics"], "vhost": ["shop"]},
                "relabelings": [{"sourceLabels": ["x"], "targetLabel": "y"}],
            },
            "prometheusRule": {"enabled": True, "labels": {"release": "prometheus"}},
            "dashboards": {"enabled": True},
        }
    },
    "no metrics": {"metrics": {"enabled": False}},
    "where it runs": {
        "nodeSelector": {"disk": "ssd"}, "tolerations": [{"key": "a", "operator": "Exists"}], "priorityClassName": "high", "schedulerName": "mine",
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}]}}},
        "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}], "runtimeClassName": "kata",
        "hostAliases": [{"ip": "192.0.2.1", "hostnames": ["a"]}], "dnsPolicy": "ClusterFirst", "dnsConfig": {"searches": ["a"]}, "hostNetwork": True,
        "resources": {"requests": {"cpu": "500m", "memory": "256Mi"}, "limits": {"memory": "1Gi"}},
        "image": {"registry": "registry.example.org", "repository": "a/warren", "digest": "sha256:" + "0" * 64, "pullSecrets": ["s", {"name": "t"}]},
    },
    "more of everything": {
        "extraEnvVars": [{"name": "SITE", "value": "{{ .Release.Namespace }}"}], "extraEnvVarsCM": "cm", "extraEnvVarsSecret": "s",
        "extraVolumes": [{"name": "more", "emptyDir": {}}], "extraVolumeMounts": [{"name": "more", "mountPath": "/more"}],
        "extraVolumeClaimTemplates": [{"metadata": {"name": "c"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}],
        "extraContainerPorts": [{"name": "more", "containerPort": 1883}], "initContainers": [{"name": "i", "image": "busybox", "command": ["true"]}],
        "sidecars": [{"name": "s", "image": "busybox"}], "lifecycleHooks": {"preStop": {"exec": {"command": ["/usr/bin/warren", "ctl", "drain"]}}},
        "podLabels": {"a": "b"}, "podAnnotations": {"c": "d"}, "statefulsetAnnotations": {"e": "f"}, "commonLabels": {"g": "h"}, "commonAnnotations": {"i": "j"},
        "extraDeploy": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "{{ .Release.Name }}-more"}, "data": {"a": "b"}}],
        "serviceAccount": {"create": False, "name": "mine"}, "podDisruptionBudget": {"minAvailable": 1}, "terminationGracePeriodSeconds": 30,
    },
    "probes": {
        "livenessProbe": {"enabled": False}, "customReadinessProbe": {"tcpSocket": {"port": "amqp"}}, "startupProbe": {"failureThreshold": 600},
        "podSecurityContext": {"enabled": False}, "containerSecurityContext": {"enabled": False}, "podDisruptionBudget": {"create": False}, **CLUSTER,
    },
}  # fmt: skip


@pytest.mark.parametrize("about", SETS)
def test_kubernetes_takes_what_is_made(about):
    rendered = render(SETS[about])
    for found in rendered.objects:
        check(found)
    names = [(found["kind"], found["metadata"].get("namespace"), found["metadata"]["name"]) for found in rendered.objects]
    assert len(names) == len(set(names)), f"twice: {names}"
    mounted, there = {mount["name"] for mount in rendered.container["volumeMounts"]}, {volume["name"] for volume in rendered.pod["volumes"]}
    claimed = {claim["metadata"]["name"] for claim in rendered.one("StatefulSet")["spec"].get("volumeClaimTemplates", [])}
    assert mounted <= there | claimed, "each mount has a volume"
    assert not (there & claimed), "and one volume only"


@pytest.mark.parametrize("about", SETS)
def test_services_lead_to_ports_that_are_there(about):
    rendered = render(SETS[about])
    there = {port["name"] for port in rendered.container["ports"]}
    for service in rendered.of("Service"):
        named = [port["targetPort"] for port in service["spec"]["ports"] if isinstance(port["targetPort"], str)]
        assert set(named) <= there, f"{service['metadata']['name']}: {set(named) - there}"
        labels = rendered.one("StatefulSet")["spec"]["template"]["metadata"]["labels"]
        assert service["spec"]["selector"].items() <= labels.items()
    configured = {int(number) for number in re.findall(r"(?:port|default|listener) = (\d+)$", rendered.configuration, re.MULTILINE)}
    opened = {port["containerPort"] for port in rendered.container["ports"] if port["name"] != "more"}
    if about != "configuration":
        assert opened == configured, "what the broker listens on is what the container has"


@pytest.mark.parametrize("about", SETS)
def test_helm_finds_nothing_to_remark(about):
    assert lint(SETS[about]) == []


def test_the_program_helm_takes_it_as_well(tmp_path):
    if not shutil.which("helm"):
        pytest.skip("helm is not installed: only its library was asked")
    for number, (about, values) in enumerate(SETS.items()):
        (tmp_path / f"{number}.json").write_text(json.dumps(values))
        # Without a cluster it goes by a version that the program was built with, and one that was built without any by 1.20.
        for command in (["lint", "--strict"], ["template", "demo", "--kube-version", KUBERNETES]):
            done = subprocess.run(["helm", *command, str(CHART), "-f", str(tmp_path / f"{number}.json")], capture_output=True, text=True, check=False)
            assert done.returncode == 0, f"{about}: {done.stdout}{done.stderr}"


@pytest.mark.parametrize(
    "values, said",
    [
        ({"tls": {"enabled": True}}, "tls.existingSecret"),
        ({"clusterTls": {"enabled": True}, **CLUSTER}, "clusterTls.existingSecret"),
        ({"loadDefinition": {"enabled": True}}, "loadDefinition.existingSecret"),
        ({"persistence": {"existingClaim": "old"}, **CLUSTER}, "for one replica"),
        ({"persistence": {"enabled": False}, **CLUSTER}, "persistence.mayBeLost"),
        ({"plugins": "rabbitmq_management rabbitmq_mqtt", "extraPlugins": ["rabbitmq_stomp"]}, "unsupported plugins: rabbitmq_mqtt, rabbitmq_stomp"),
        ({"ldap": {"enabled": True}}, "ldap.enabled"),
        ({"clustering": {"enabled": False}, **CLUSTER}, "clustering.enabled is false"),
        ({"auth": {"tls": {"enabled": True}}}, "auth.tls is called tls here"),
        ({"definitions": {"enabled": True}}, "loadDefinition"),
        ({"initScripts": {"a.sh": "true"}}, "initScripts"),
        ({"diagnosticMode": {"enabled": True}}, "diagnosticMode"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_a_sentence(values, said):
    assert said in refusal(values)


def test_pods_of_a_cluster_know_each_other_and_share_a_secret():
    rendered = render({"auth": {"clusterSecret": "carrots"}, **CLUSTER})
    stateful = rendered.one("StatefulSet")["spec"]
    headless = rendered.one("Service", stateful["serviceName"])["spec"]
    assert headless["clusterIP"] == "None" and headless["publishNotReadyAddresses"]
    assert {"name": "cluster", "port": 25672, "targetPort": "cluster"} in headless["ports"]
    assert stateful["podManagementPolicy"] == "Parallel", "one alone forms nothing"
    listed = [line.partition(" = ")[2] for line in rendered.configuration.splitlines() if ".nodes." in line]
    assert listed == [rendered.environment(f"demo-warren-{number}")["RABBITMQ_NODENAME"] for number in range(3)]
    assert rendered.secret("demo-warren")["rabbitmq-erlang-cookie"] == "carrots"
    assert rendered.one("PodDisruptionBudget")["spec"]["maxUnavailable"] == 1
    assert not render().of("PodDisruptionBudget"), "one pod alone may be moved"


def test_a_password_is_drawn_or_given_or_found():
    drawn = [render().secret("demo-warren")["rabbitmq-password"] for _ in range(2)]
    assert drawn[0] != drawn[1] and all(len(each) == 16 for each in drawn)
    given = render({"auth": {"password": "pass word"}})
    assert given.environment("demo-warren-0")["RABBITMQ_DEFAULT_PASS"] == "pass word"
    found = render({"auth": {"existingSecret": "mine", "existingClusterSecret": "ours"}, **CLUSTER})
    assert not any(secret["metadata"]["name"] == "demo-warren" for secret in found.of("Secret"))
    assert {entry["name"]: entry for entry in found.container["env"]}["RABBITMQ_DEFAULT_PASS"]["valueFrom"]["secretKeyRef"]["name"] == "mine"


def test_a_changed_configuration_restarts_pods_and_nothing_else_does():
    def digest(values):
        return render(values).one("StatefulSet")["spec"]["template"]["metadata"]["annotations"]["checksum/config"]

    assert digest({}) == digest({"resources": {"limits": {"memory": "1Gi"}}}) != digest({"extraConfiguration": "heartbeat = 30"})


def test_what_is_monitored_is_one_service_and_its_port_is_there():
    rendered = render(SETS["metrics"])
    monitor = rendered.one("ServiceMonitor")
    assert monitor["metadata"]["namespace"] == "monitoring" and monitor["metadata"]["labels"]["release"] == "prometheus"
    assert [endpoint["path"] for endpoint in monitor["spec"]["endpoints"]] == ["/metrics", "/metrics/per-object", "/metrics/detailed"]
    selected = [service for service in rendered.of("Service") if service["metadata"]["labels"].get("app.kubernetes.io/component") != "headless"]
    assert len(selected) == 1 and "metrics" in [port["name"] for port in selected[0]["spec"]["ports"]]
    brought = sorted((ROOT / "packaging/grafana").glob("*.json"))
    assert brought and [json.loads(text) for found in rendered.of("ConfigMap") for text in found["data"].values()] == [json.loads(path.read_text()) for path in brought]


def test_no_port_without_tls_is_offered_where_that_is_said():
    rendered = render(SETS["no plain port"])
    assert [port["name"] for port in rendered.one("Service", "demo-warren")["spec"]["ports"]] == ["amqp-tls", "metrics"]


def test_values_of_other_charts_do_what_they_do_there():
    rendered = render(SETS["what charts of RabbitMQ have"])
    assert rendered.one("PodDisruptionBudget")["spec"]["minAvailable"] == 2
    assert "tcp_listen_options.linger.timeout = 0" in rendered.configuration and "tcp_listen_options.keepalive = false" in rendered.configuration
    assert rendered.secret("demo-warren-config")["advanced.config"].strip() == "[{rabbit, [{consumer_timeout, 36000000}]}]."
    assert {"name": "config", "mountPath": "/etc/warren/advanced.config", "subPath": "advanced.config", "readOnly": True} in rendered.container["volumeMounts"]
    for key in ("plugins", "extraPlugins", "clustering", "rbac", "volumePermissions"):
        assert key in rendered.notes, "what did nothing is named"


def test_the_notes_name_what_did_nothing():
    assert "plugins, clustering" in render({"plugins": "rabbitmq_management", "clustering": {"enabled": True}}).notes
    assert "have no meaning" not in render().notes
