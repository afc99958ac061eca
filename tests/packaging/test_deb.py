"""The Debian package of the binary under test: what is where, whose it is. Installing it, and lintian, are chroot.py's."""

import gzip
import re
import shutil
import subprocess
import sys

import pytest
from blackbox import environment
from chart import ROOT

if missing := [program for program in ("dpkg-deb", "strip", "objdump") if not shutil.which(program)]:
    pytest.skip(f"not installed: {', '.join(missing)}", allow_module_level=True)

BUILD = ROOT / "packaging" / "deb" / "build.py"
# Each command has a page.
COMMANDS = ["serve", "fsck", "proxy", "perf", "ping", "migrate", "plan", "trace", "trace-calls", "profile", "profile-cpu", "diagnose", "top", "ctl"]


def run(*command):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    # Not compressed as it is shipped: that takes longer than all else here.
    folder = tmp_path_factory.mktemp("deb")
    return folder / run(sys.executable, BUILD, "--binary", environment.WARREN, "--output", folder, "--compression", "none").strip()


@pytest.fixture(scope="module")
def listed(package):
    """Mode and owner of each file."""
    found = {}
    for line in run("dpkg-deb", "-c", package).splitlines():
        mode, owner, _, _, _, name = line.split(maxsplit=5)
        found[name.partition(" -> ")[0].removeprefix(".").rstrip("/") or "/"] = (mode, owner)
    return found


@pytest.fixture(scope="module")
def tree(package, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tree")
    run("dpkg-deb", "-x", package, folder)
    return folder


def test_everything_is_in_its_place(listed):
    for path in ["/usr/bin/warren", "/etc/warren/warren.conf", "/etc/warren/conf.d", "/etc/default/warren", "/var/lib/warren", "/lib/systemd/system/warren.service"]:
        assert path in listed
    for path in ["bash-completion/completions/warren", "zsh/vendor-completions/_warren", "fish/vendor_completions.d/warren.fish"]:
        assert f"/usr/share/{path}" in listed
    for name in ["copyright", "changelog.gz", "changelog.Debian.gz", "THIRD-PARTY.gz", "docs/configuration.md", "examples/grafana/warren-overview.json", "examples/prometheus/alerts.yml"]:
        assert f"/usr/share/doc/warren/{name}" in listed
    assert {owner for _, owner in listed.values()} == {"root/root"}, "no user of the machine that built it"
    assert listed["/usr/bin/warren"][0] == "-rwxr-xr-x"
    assert listed["/etc/warren/warren.conf"][0] == "-rw-r-----", "it may have a password"


def test_dpkg_is_told_what_it_needs(package):
    version = run(environment.WARREN, "--version").split()[-1]
    field = {line.partition(": ")[0]: line.partition(": ")[2] for line in run("dpkg-deb", "-f", package).splitlines() if not line.startswith(" ")}
    assert field["Package"] == "warren" and field["Version"] == f"{version}-1"
    assert "adduser" in field["Depends"] and int(field["Installed-Size"]) > 10_000
    is_static = "NEEDED" not in run("objdump", "-p", environment.WARREN)
    assert is_static or re.search(r"libc6 \(>= 2\.\d+\)", field["Depends"])
    conffiles = run("dpkg-deb", "-I", package, "conffiles").split()
    assert conffiles == ["/etc/warren/warren.conf", "/etc/default/warren"]


def test_every_command_has_a_page(tree):
    for command in COMMANDS:
        page = gzip.decompress((tree / f"usr/share/man/man1/warren-{command}.1.gz").read_bytes()).decode()
        assert page.startswith(".TH") and ".SH NAME" in page and len(page) > 500, command
    pages = "".join(gzip.decompress(path.read_bytes()).decode() for path in sorted((tree / "usr/share/man").rglob("*.gz")))
    for known in ["\\-\\-data\\-dir", "list_queues", "\\-\\-multi\\-ack\\-every", "vm_memory_high_watermark.relative", "\\-\\-idle\\-connection\\-timeout"]:
        assert known in pages, f"no page speaks of {known}"


def test_man_has_nothing_to_remark(tree):
    if not shutil.which("man"):
        pytest.skip("man is not installed")
    for path in sorted((tree / "usr/share/man").rglob("*.gz")):
        done = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", str(path)], capture_output=True, text=True, check=False)
        # A name that is longer than a line cannot be broken.
        remarks = [line for line in done.stderr.splitlines() if "can't break line" not in line and "cannot adjust line" not in line]
        assert done.returncode == 0 and not remarks, f"{path.name}: {remarks[:3]}"


def test_profiles_still_name_functions(tree):
    symbols = run("nm", "-C", tree / "usr/bin/warren")
    assert "warren::main" in symbols
    assert ".debug_info" not in run("objdump", "-h", tree / "usr/bin/warren")


def test_debug_information_is_a_package_of_its_own(tree, tmp_path):
    if missing := [program for program in ("objcopy", "readelf") if not shutil.which(program)]:
        pytest.skip(f"not installed: {', '.join(missing)}")
    script = BUILD.parent / "build_dbgsym.py"
    package = run(sys.executable, script, "--binary", environment.WARREN, "--output", tmp_path, "--compression", "none").strip()
    assert "Depends: warren (= " in run("dpkg-deb", "-I", package)
    run("dpkg-deb", "-x", package, tmp_path / "tree")
    (symbols,) = (tmp_path / "tree/usr/lib/debug/.build-id").glob("*/*.debug")
    identity = re.search(r"Build ID: ([0-9a-f]+)", run("readelf", "-n", tree / "usr/bin/warren"))[1]
    assert symbols.parent.name + symbols.stem == identity
    assert ".debug_info" in run("objdump", "-h", symbols)


@pytest.mark.parametrize("script", ["postinst", "prerm", "postrm"])
def test_scripts_are_shell(script):
    run("sh", "-n", BUILD.parent / script)
    if shutil.which("dash"):
        run("dash", "-n", BUILD.parent / script)


def test_the_shipped_configuration_is_read(tree):
    done = subprocess.run([environment.WARREN, "fsck", "--config", tree / "etc/warren/warren.conf", "--data-dir", tree / "none"], capture_output=True, text=True, check=False)
    assert "configuration" not in done.stderr, done.stderr


def test_the_unit_is_one(tree):
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd is not installed")
    unit = tree / "lib/systemd/system/warren.service"
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", str(unit)], capture_output=True, text=True, check=False)
    remarks = [line for line in (done.stdout + done.stderr).splitlines() if "warren.service" in line and "/usr/bin/warren is not executable" not in line]
    assert not remarks
    scored = subprocess.run(["systemd-analyze", "security", "--offline=true", str(unit)], capture_output=True, text=True, check=False).stdout
    if score := re.search(r"exposure level for warren.service: ([\d.]+)", scored):
        assert float(score[1]) <= 2.0, "the unit is less hardened than it was"


@pytest.fixture(scope="module")
def compat(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compat")
    return run(sys.executable, BUILD.parent / "build_compat.py", "--binary", environment.WARREN, "--output", folder).strip()


def test_names_of_rabbitmq_are_links_to_the_program(compat, tree, tmp_path):
    names = (ROOT / "packaging" / "rabbitmq" / "names").read_text().split()
    run("dpkg-deb", "-x", compat, tmp_path)
    shutil.copytree(tree / "usr", tmp_path / "usr", dirs_exist_ok=True, symlinks=True)
    shutil.copytree(tree / "lib", tmp_path / "lib", dirs_exist_ok=True, symlinks=True)
    for name in names:
        assert (tmp_path / "usr/sbin" / name).resolve() == (tmp_path / "usr/bin/warren").resolve()
        assert (tmp_path / f"usr/share/man/man8/{name}.8.gz").resolve().is_file(), name
    assert (tmp_path / "lib/systemd/system/rabbitmq-server.service").resolve().name == "warren.service"
    field = {line.partition(": ")[0]: line.partition(": ")[2] for line in run("dpkg-deb", "-f", compat).splitlines() if not line.startswith(" ")}
    assert field["Conflicts"] == "rabbitmq-server" and field["Architecture"] == "all"
    assert field["Depends"] == f"warren (>= {field['Version']})"
    said = run(tmp_path / "usr/sbin/rabbitmq-plugins", "is_enabled", "rabbitmq_management")
    assert "is enabled" in said, "a link does what its name says"
