"""The RPM packages of the binary under test: what is where, whose it is. They are installed nowhere here."""

import re
import shutil
import subprocess
import sys

import pytest
from blackbox import environment
from chart import ROOT

if missing := [program for program in ("rpmbuild", "rpm", "strip", "objdump") if not shutil.which(program)]:
    pytest.skip(f"not installed: {', '.join(missing)}", allow_module_level=True)

BUILD = ROOT / "packaging" / "rpm" / "build.py"
NAMES = (ROOT / "packaging" / "rabbitmq" / "names").read_text().split()


def run(*command):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rpm")
    # Not compressed as it is shipped: that takes longer than all else here.
    built = run(sys.executable, BUILD, "--binary", environment.WARREN, "--output", folder, "--compression", "w1.gzdio").split()
    return {next((kind for kind in ("compat", "debuginfo") if kind in path), "warren"): path for path in built}


def listed(package):
    """Mode, user and group of each file."""
    found = {}
    for line in run("rpm", "-qp", "--qf", "[%{FILENAMES}\t%{FILEMODES:perms}\t%{FILEUSERNAME}\t%{FILEGROUPNAME}\t%{FILELINKTOS}\n]", package).splitlines():
        name, mode, user, group, target = line.split("\t")
        found[name] = (mode, f"{user}:{group}", target)
    return found


def test_everything_is_in_its_place(packages):
    found = listed(packages["warren"])
    assert found["/usr/bin/warren"][:2] == ("-rwxr-xr-x", "root:root")
    assert found["/etc/warren/warren.conf"][:2] == ("-rw-r-----", "root:warren"), "it may have a password"
    assert found["/etc/sysconfig/warren"][:2] == ("-rw-r-----", "root:warren")
    assert found["/var/lib/warren"][:2] == ("drwxr-x---", "warren:warren")
    for path in ["/usr/lib/systemd/system/warren.service", "/usr/share/man/man1/warren-serve.1.gz", "/usr/share/doc/warren/docs/installing.md"]:
        assert path in found
    assert not [path for path in found if "debug" in path], "debug information is a package of its own"
    assert not [path for path in found if "debian" in path.lower() or path.startswith(("/lib/", "/etc/default"))]
    assert set(run("rpm", "-qpc", packages["warren"]).split()) == {"/etc/warren/warren.conf", "/etc/sysconfig/warren"}, "what an operator wrote stays"


def test_the_unit_reads_the_file_of_variables_that_is_there(packages, tmp_path):
    with open(packages["warren"], "rb") as package:
        archive = subprocess.run(["rpm2cpio"], stdin=package, capture_output=True, check=True).stdout
    cpio = ["cpio"] if shutil.which("cpio") else ["busybox", "cpio"]
    if not shutil.which(cpio[0]):
        pytest.skip("neither cpio nor busybox is installed")
    subprocess.run([*cpio, "-idm"], input=archive, cwd=tmp_path, stderr=subprocess.DEVNULL, check=True)
    unit = (tmp_path / "usr/lib/systemd/system/warren.service").read_text()
    assert re.search(r"^EnvironmentFile=-/etc/sysconfig/warren$", unit, re.MULTILINE) and "Type=notify" in unit
    assert "warren" in run(tmp_path / "usr/bin/warren", "--version")


def test_names_are_links_to_the_program(packages):
    found = listed(packages["compat"])
    for name in NAMES:
        assert found[f"/usr/sbin/{name}"][2] == "../bin/warren"
        assert found[f"/usr/share/man/man8/{name}.8.gz"][2].startswith("../man1/warren-")
    assert found["/usr/lib/systemd/system/rabbitmq-server.service"][2] == "warren.service"
    assert run("rpm", "-qp", "--conflicts", packages["compat"]).split() == ["rabbitmq-server"]
    assert "warren = " in run("rpm", "-qp", "--requires", packages["compat"])


def test_debug_information_is_found_by_the_build_id(packages, tmp_path):
    (path,) = listed(packages["debuginfo"])
    identity = re.search(r"Build ID: ([0-9a-f]+)", run("readelf", "-n", environment.WARREN))[1]
    assert path == f"/usr/lib/debug/.build-id/{identity[:2]}/{identity[2:]}.debug"
    assert "warren = " in run("rpm", "-qp", "--requires", packages["debuginfo"])
