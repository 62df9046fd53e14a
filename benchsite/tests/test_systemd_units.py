"""The units in deploy/systemd: what `systemd-analyze verify` says of them, and whether they start what the code has."""

import configparser
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from benchsite.core.production import SAMPLE_KEY
from benchsite.management.commands.component import NAMES
from benchsite.tests.needs import need

ROOT = Path(settings.BASE_DIR)
UNITS = ROOT / "deploy" / "systemd"
COMMON = UNITS / "benchsite-.service.d" / "common.conf"
SERVICES = sorted(UNITS.glob("*.service"))
INSTALLED = "/opt/benchsite"  # where the units expect the checkout


class RepeatedKeys(dict[str, Any]):
    """Values of a key that a unit repeats, joined by a blank."""

    def __setitem__(self, key, value):
        if isinstance(value, list) and key in self:
            value = [*self[key], *value]
        super().__setitem__(key, value)


def read_unit(path: Path) -> configparser.RawConfigParser:
    unit = configparser.RawConfigParser(dict_type=RepeatedKeys, strict=False)
    unit.optionxform = str  # type: ignore[assignment, method-assign]
    unit.read_string(path.read_text())
    return unit


def verify(folder: Path) -> str:
    """The complaints of `systemd-analyze verify` about all units of a folder and one instance of each template."""
    need("systemd")
    names = [path.name.replace("@.", "@lab-7.") for path in [*folder.glob("*.service"), *folder.glob("*.target")]]
    verified = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *names],
        env={"SYSTEMD_UNIT_PATH": f"{folder}:", "PATH": "/usr/bin:/bin", "SYSTEMD_LOG_LEVEL": "info"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    complaints = [line for line in verified.stderr.splitlines() if "benchsite" in line or str(folder) in line]
    assert verified.returncode == 0 or complaints, verified.stderr
    return "\n".join(complaints)


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """The units as they are installed, with this checkout and an existing Python in the place of /opt/benchsite."""
    folder = tmp_path / "system"
    shutil.copytree(UNITS, folder)
    for path in folder.rglob("*.*"):
        if path.is_file():
            text = path.read_text().replace(f"{INSTALLED}/.venv/bin/python", shutil.which("python3") or "")
            path.write_text(text.replace(INSTALLED, str(ROOT)))
    return folder


@pytest.mark.slow
def test_systemd_accepts_every_unit(installed):
    assert verify(installed) == ""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["benchsite-generator@.service", "benchsite-.service.d/common.conf"])
def test_verify_reads_templates_and_the_common_part(installed, name):
    path = installed / name
    path.write_text(path.read_text().replace("[Service]\n", "[Service]\nRestrat=always\n"))
    assert "Restrat" in verify(installed)


def test_each_part_has_a_unit_that_starts_it():
    started = {}
    for path in SERVICES:
        for line in path.read_text().splitlines():
            if match := re.fullmatch(rf"ExecStart={INSTALLED}/\.venv/bin/python manage\.py component (\w+)", line):
                started[match[1]] = path.name
    assert set(started) == set(NAMES)
    assert started["generator"] == "benchsite-generator@.service"


@pytest.mark.parametrize("path", SERVICES, ids=[path.stem for path in SERVICES])
def test_each_unit_is_restarted_and_has_its_settings(path):
    unit = read_unit(path)
    service = unit["Service"]
    # A load generator has a credential in the place of the site's secrets.
    settings_file = "-/etc/benchsite/%i.env" if "generator" in path.name else "/etc/benchsite/benchsite.env"
    assert service["EnvironmentFile"] == settings_file
    assert unit["Install"]["WantedBy"] == "benchsite.target"
    if service["Type"] != "oneshot":
        assert service["Restart"] == "always"
        # What a part keeps in BENCHSITE_VAR, such as output that is not stored yet, outlives a restart.
        folder = re.search(r"BENCHSITE_VAR=/var/lib/(\S+)", service["Environment"])
        assert folder and folder[1] in service["StateDirectory"].split()


def test_processes_under_a_guardian_are_not_hindered():
    service = read_unit(COMMON)["Service"]
    modes = {path.name.partition(".")[0]: read_unit(path)["Service"].get("KillMode") for path in SERVICES}
    for part in ("web", "scheduler", "conductor"):
        assert modes[f"benchsite-{part}"] == "mixed"
    # A worker that is told to stop alone waits for its clients, and is killed.
    assert modes["benchsite-generator@"] == "control-group"
    assert service["OOMPolicy"] == "continue"
    # A JVM compiles; facts are read from /proc; shared memory belongs to servers of another unit with the same account.
    assert not {"MemoryDenyWriteExecute", "ProcSubset", "PrivateUsers", "RemoveIPC", "PrivateNetwork"} & set(service)


def test_only_known_settings_are_set():
    code = "".join(path.read_text() for folder in ("benchsite", "workers") for path in (ROOT / folder).glob("**/*.py"))
    example = UNITS / "benchsite.env.example"
    names = set(re.findall(r"\b(BENCHSITE_\w+|\w+_URL)=", "".join(p.read_text() for p in [*SERVICES, COMMON, example])))
    assert {"DATABASE_URL", "REDIS_URL", "BENCHSITE_GENERATOR"} <= names
    unknown = {name for name in names if f'"{name}"' not in code and f'"{name.removeprefix("BENCHSITE_")}"' not in code}
    assert unknown == set()
    assert f"BENCHSITE_SECRET_KEY={SAMPLE_KEY}" in example.read_text()
