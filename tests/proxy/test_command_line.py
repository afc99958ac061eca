"""How the proxy is told what to do: AMQProxy's options, variables and files, ours, and what is said of mistakes."""

import shlex
import socket
import subprocess

import pytest
from blackbox.broker import free_port
from blackbox.proxy import Proxy


def url_of(broker):
    return f"amqp://127.0.0.1:{broker.port}"


def check_works(proxy, wires):
    wires(proxy).call(1, "exchange.declare", exchange="amq.direct", passive=True)
    assert proxy.text("/healthz") == "OK"


def test_amqproxys_options_are_understood(broker, own_proxy, wires):
    proxy = own_proxy(words=lambda proxy: [
        "-l", "127.0.0.1", "-p", str(proxy.port), f"-b{proxy.http_port}", "-t", "7", "--max-upstream-channels", "1", "--term-timeout=5",
        "--term-client-close-timeout", "0", "--log-level=debug", url_of(broker),
    ])  # fmt: skip
    check_works(proxy, wires)
    for _ in range(3):
        wires(proxy).call(1, "exchange.declare", exchange="amq.direct", passive=True)
    lines = [line for pool in proxy.get("/pools") for line in pool["connections"]]
    assert len(lines) >= 2 and all(line["channels"] <= 1 for line in lines), lines


def test_amqproxys_long_options_are_understood(broker, own_proxy, wires):
    check_works(own_proxy(words=lambda proxy: [
        "--listen=127.0.0.1", f"--port={proxy.port}", "--http-port", str(proxy.http_port), "--idle-connection-timeout", "3", "-d", url_of(broker),
    ]), wires)  # fmt: skip


def variables(broker, proxy):
    return {
        "LISTEN_ADDRESS": "127.0.0.1", "LISTEN_PORT": str(proxy.port), "HTTP_PORT": str(proxy.http_port), "LOG_LEVEL": "info",
        "IDLE_CONNECTION_TIMEOUT": "5", "MAX_UPSTREAM_CHANNELS": "100", "TERM_TIMEOUT": "-1", "TERM_CLIENT_CLOSE_TIMEOUT": "0",
        "AMQP_URL": url_of(broker),
    }  # fmt: skip


def test_amqproxys_variables_are_understood(broker, own_proxy, wires):
    def words(proxy):
        proxy.variables = variables(broker, proxy)
        return []

    check_works(own_proxy(words=words), wires)


def test_amqproxys_files_are_understood(broker, own_proxy, wires, tmp_path):
    path = tmp_path / "config.ini"

    def words(proxy):
        path.write_text(
            f"[main]\nlog_level = info\nidle_connection_timeout = 5\nupstream = {url_of(broker)}\n\n"
            f"[listen]\naddress = 127.0.0.1\nport = {proxy.port}\nhttp_port = {proxy.http_port}\n"
        )
        return ["-c", str(path)]

    check_works(own_proxy(words=words), wires)


def test_options_are_stronger_than_variables_and_variables_than_files(broker, own_proxy, wires, tmp_path):
    path = tmp_path / "config.ini"
    path.write_text("[main]\nupstream = amqp://127.0.0.1:1\n[listen]\naddress = 127.0.0.1\nport = 1\nhttp_port = 2\n")

    def words(proxy):
        proxy.variables = {"LISTEN_PORT": "3", "HTTP_PORT": str(proxy.http_port), "AMQP_URL": url_of(broker)}
        return ["--config", str(path), "--port", str(proxy.port)]

    check_works(own_proxy(words=words), wires)


def test_several_urls_are_several_upstreams(broker, own_broker, own_proxy, wires):
    other = own_broker()
    proxy = own_proxy(words=lambda proxy: ["-l", "127.0.0.1", "-p", str(proxy.port), "-b", str(proxy.http_port), url_of(broker), url_of(other)])
    check_works(proxy, wires)
    assert [(upstream["name"], upstream["address"]) for upstream in proxy.get("/upstreams")] == [
        ("1", f"127.0.0.1:{broker.port}"), ("2", f"127.0.0.1:{other.port}"),
    ]  # fmt: skip


def test_a_folder_of_the_brokers_files_beside_ours_is_not_read(broker, own_proxy, wires, tmp_path):
    (tmp_path / "conf.d").mkdir()
    (tmp_path / "conf.d" / "10-broker.conf").write_text("listeners.tcp.default = 5672\n")
    file = tmp_path / "proxy.conf"
    file.write_text(f"proxy.upstreams.a.url = {url_of(broker)}\n")
    check_works(own_proxy(words=lambda proxy: ["--config", str(file), "--port", str(proxy.port), "--http-port", str(proxy.http_port)]), wires)


def test_variables_in_our_files_are_filled_in(broker, own_proxy, wires, tmp_path):
    path = tmp_path / "proxy.conf"

    def words(proxy):
        proxy.variables = {"UPSTREAM_PORT": str(broker.port)}
        path.write_text(
            f"proxy.listeners.tcp.default = 127.0.0.1:{proxy.port}\nproxy.http.listener = 127.0.0.1:{proxy.http_port}\n"
            "proxy.upstreams.a.url = amqp://127.0.0.1:$(UPSTREAM_PORT)\n"
        )
        return [f"--config={path}"]

    check_works(own_proxy(words=words), wires)


@pytest.fixture
def says(pytestconfig):
    """Runs the proxy until it ends: its status, and what it says on stdout and stderr."""

    def run(*words):
        proxy = Proxy(pytestconfig.option.proxy_command, words=lambda _: list(words))
        try:
            done = subprocess.run(proxy.words(), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30, env=proxy.environment(), cwd=proxy.directory, check=False)
        finally:
            proxy.remove()
        return done.returncode, done.stdout, done.stderr

    return run


@pytest.fixture
def fails(says):
    """Runs a proxy that has to fail with this status and one line that has all these texts."""

    def run(status, texts, *words):
        got = says(*words)
        assert (got[0], got[1]) == (status, ""), (shlex.join(words), got)
        assert got[2].startswith("warren proxy: ") and got[2].count("\n") == 1, got
        for text in texts:
            assert text in got[2], got

    return run


def test_help_names_every_option_and_the_version_is_told(says):
    status, out, _ = says("--help")
    assert status == 0
    for option in ("--config", "--set", "--listen", "--port", "--http-port", "--idle-connection-timeout", "--max-upstream-channels", "--term-timeout"):
        assert option in out
    assert says("-h")[0] == 0
    assert says("--version")[1].startswith("warren ")


@pytest.mark.parametrize(
    ("words", "texts"),
    [
        (["--nonsense"], ["unknown option '--nonsense'"]),
        (["--prot", "1"], ["unknown option '--prot'", "'--port'"]),
        (["-x"], ["unknown option '-x'"]),
        (["--port"], ["option '--port' needs a value"]),
        (["--debug=1"], ["option '--debug' takes no value"]),
        (["http://localhost"], ["http://localhost"]),
        (["amqp://localhost:nonsense"], ["is no AMQP URI"]),
        (["amqp://user:x@local host"], ["'amqp://user:***@local host' is no AMQP URI: the host 'local host' has a space in it"]),
    ],
)
def test_bad_usage_is_status_2_and_one_sentence(fails, words, texts):
    fails(2, texts, *words)


@pytest.mark.parametrize(
    ("words", "texts"),
    [
        ([], ["no upstream is named"]),
        (["--set", "proxy.upstream_connections.chanel_max=1", "amqp://localhost"], ["unknown key 'proxy.upstream_connections.chanel_max'", "proxy.upstream_connections.channel_max"]),
        (["--set", "proxy.upstream_connections.channel_max=many", "amqp://localhost"], ["proxy.upstream_connections.channel_max", "many"]),
        (["--set", "proxy.upstreams.a.url=localhost"], ["'proxy.upstreams.a.url' must be a URL", "it has to begin with amqp:// or amqps://"]),
        (["--set", "proxy.upstreams.a.weight=1"], ["'proxy.upstreams.a.url' is missing"]),
        (["--port", "70000", "amqp://localhost"], ["70000"]),
        (["--config", "/no/such/file", "amqp://localhost"], ["/no/such/file"]),
    ],
)
def test_a_configuration_that_cannot_be_used_is_status_1_and_one_sentence(fails, words, texts):
    fails(1, texts, *words)


def test_a_port_that_is_taken_is_told(fails):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        fails(1, [f"127.0.0.1:{port}"], f"--set=proxy.listeners.tcp.default=127.0.0.1:{port}", "--set=proxy.http.listener=none", "amqp://localhost")
        fails(1, [f"127.0.0.1:{port}"], f"--set=proxy.http.listener=127.0.0.1:{port}", f"--set=proxy.listeners.tcp.default=127.0.0.1:{free_port()}", "amqp://localhost")


def test_a_file_with_a_mistake_is_named_with_its_line(fails, tmp_path):
    path = tmp_path / "proxy.conf"
    path.write_text("# ours\nproxy.heartbaet = 10\n")
    fails(1, [f"{path}:2", "proxy.heartbeat"], "--config", str(path), "amqp://localhost")
    path.write_text("[main]\nupstraem = amqp://localhost\n")
    fails(1, [f"{path}:2", "upstraem"], "--config", str(path), "amqp://localhost")


def test_passwords_are_not_repeated(says):
    for words in (["amqp://user:hidden@host:x"], ["--set", "proxy.upstreams.a.url=amqp://user:hidden@host:x"]):
        status, out, err = says(*words)
        assert status in (1, 2) and "hidden" not in out + err, err
