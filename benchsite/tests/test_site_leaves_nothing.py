"""A whole site, started as a person starts it: what it says, and that nothing of it stays, whichever part is killed."""

import contextlib
import http.client
import itertools
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from benchsite.core import paths
from benchsite.tests.ports import free_port
from workers.systems.build import build
from workers.tests.trees import ROOT, all_gone, until

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("site"), pytest.mark.timeout(300)]
PATIENCE_S = 150


@dataclass
class Place:
    """One `var/` and one port, used by one site after the other."""

    var: Path
    port: int

    def manage(self, *words: str) -> "subprocess.Popen[str]":
        """`manage.py` in this place, with the site's own servers."""
        environment = {name: value for name, value in os.environ.items() if name not in ("DATABASE_URL", "REDIS_URL")}
        environment |= {"BENCHSITE_VAR": str(self.var), "PORT": str(self.port)}
        return subprocess.Popen(
            [sys.executable, str(ROOT / "manage.py"), *words],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def said(self, *words: str) -> tuple[int, str]:
        process = self.manage(*words)
        output, _ = process.communicate(timeout=PATIENCE_S)
        return process.returncode, output

    def processes(self) -> dict[int, str]:
        """Everything that belongs to a site here, whoever runs it."""
        found = {}
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error, OSError):
                marks = [process.environ().get("BENCHSITE_VAR", ""), *process.cmdline(), process.cwd()]
                if process.pid != os.getpid() and any(str(self.var) in mark for mark in marks):
                    found[process.pid] = " ".join(process.cmdline())
        return found

    def records(self, name: str) -> list[dict[str, object]]:
        folders = (self.var / "supervised", paths.places(self.var).base / "embedded")
        found = []
        for path in (path for folder in folders for path in folder.glob("*.json")):
            with contextlib.suppress(FileNotFoundError):
                found.append(json.loads(path.read_text()))
        return [record for record in found if record["label"] == name]

    def knows(self, name: str) -> bool:
        """Whether the part has a guardian at this moment."""
        return len(self.records(name)) == 1

    def get_pid(self, part: str) -> int:
        """The pid of a part, or ("web's guardian") of the guardian of one."""
        name, _, guardian = part.partition("'s ")
        (record,) = self.records(name)
        return int(str(record["guardian_pid" if guardian else "pid"]))

    @property
    def state(self) -> Path:
        return self.var / "supervisor.json"

    def answers(self) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request("GET", "/healthz")
            return connection.getresponse().status == http.HTTPStatus.OK
        except OSError:
            return False
        finally:
            connection.close()


@pytest.fixture(scope="module")
def shared_place() -> Iterator[Place]:
    """Made once: every site after the first begins with a database that is there already."""
    folder = Path(tempfile.mkdtemp(prefix="bs-", dir="/tmp"))
    folder.chmod(0o755)
    yield Place(folder / "var", free_port())
    shutil.rmtree(folder)


@pytest.fixture
def place(shared_place: Place) -> Iterator[Place]:
    assert shared_place.processes() == {}
    yield shared_place
    assert gone(shared_place)


@pytest.fixture
def site(place: Place) -> Iterator["subprocess.Popen[str]"]:
    """A site in the foreground, up."""
    process = place.manage("up", "--foreground")
    assert process.stdout
    lines = []
    for line in process.stdout:
        lines.append(line)
        if "is up at" in line:
            break
    else:
        pytest.fail("".join(lines))
    yield process
    process.kill()
    process.communicate()


def gone(place: Place) -> bool:
    # A conductor that was conducting a run, and whose database is gone, gets 30 s to end it.
    return all_gone(place.processes(), patience_s=60)


def test_it_goes_up_and_down_in_the_background(place):
    code, output = place.said("up")
    assert (code, f"up at http://127.0.0.1:{place.port}" in output) == (0, True), output
    assert "/sign-in/once/" in output
    assert place.answers()
    before = place.processes()
    assert len(before) >= 18  # 7 parts and their guardians, the supervisor, and what the parts have started

    code, output = place.said("up")
    assert code == 0
    assert f"already runs at http://127.0.0.1:{place.port}" in output
    # A short task of a part may have ended meanwhile; the parts themselves stay.
    guardians = {pid for pid, command in before.items() if "guardian.py" in command}
    assert guardians and guardians <= place.processes().keys()

    code, link = place.said("sign_in_link")
    assert code == 0
    assert f"http://127.0.0.1:{place.port}/sign-in/once/" in link

    code, output = place.said("down")
    assert (code, "Stopped the site" in output) == (0, True), output
    assert place.processes() == {}

    code, message = place.said("sign_in_link")
    assert (code, "Start it with `make up`" in message) == (1, True)
    assert not place.state.exists() and not place.answers()

    code, output = place.said("down")
    assert (code, "No site runs" in output) == (0, True)


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(signal.SIGINT, marks=pytest.mark.long),
        pytest.param(signal.SIGTERM, marks=pytest.mark.long),
        pytest.param(signal.SIGHUP, marks=pytest.mark.long),
    ],
)
def test_a_signal_stops_everything_in_order(place, site, number):
    site.send_signal(number)
    output, _ = site.communicate(timeout=PATIENCE_S)
    assert (site.returncode, "Stopped." in output) == (0, True), output
    assert place.processes() == {}
    assert not list((place.var / "supervised").iterdir())


@pytest.mark.parametrize(
    "part",
    [
        pytest.param("generator-1", marks=pytest.mark.long),
        pytest.param("web", marks=pytest.mark.long),
        pytest.param("scheduler", marks=pytest.mark.long),
        pytest.param("conductor", marks=pytest.mark.long),
        pytest.param("web's guardian", marks=pytest.mark.long),
        pytest.param("generator-2's guardian", marks=pytest.mark.long),
    ],
)
def test_restarts_killed_part_and_killed_site_leaves_nothing(place, site, part):
    name = part.partition("'s ")[0]
    before = place.get_pid(name)
    family = [before, *(child.pid for child in psutil.Process(before).children(recursive=True))]
    os.kill(place.get_pid(part), signal.SIGKILL)

    said = "".join(itertools.takewhile(lambda line: "is started again" not in line, site.stdout))
    assert f"{name} was ended by signal 9. The end of" in said
    assert all_gone(family)
    until(lambda: place.knows(name) and place.get_pid(name) != before, f"{name} was not started again")
    until(place.answers, "the web server does not answer", patience_s=120)
    assert site.poll() is None

    site.kill()
    site.wait()
    assert gone(place)
    code, output = place.said("down")
    assert (code, "No site runs" in output) == (0, True)


@pytest.mark.long
def test_a_part_that_keeps_dying_ends_the_site(place, site):
    for _ in range(4):
        until(lambda: place.knows("scheduler"), "the scheduler was not started again")
        os.kill(place.get_pid("scheduler"), signal.SIGKILL)
        until(lambda: not place.knows("scheduler"), "the record stays")
    output, _ = site.communicate(timeout=PATIENCE_S)
    assert site.returncode == 1
    assert "scheduler was ended by signal 9" in output
    assert gone(place)


@pytest.mark.parametrize(
    "part",
    [
        pytest.param("postgresql", marks=pytest.mark.long),
        pytest.param("redis", marks=pytest.mark.long),
        pytest.param("redis's guardian", marks=pytest.mark.long),
        pytest.param("postgresql's guardian", marks=pytest.mark.long),
    ],
)
def test_a_server_of_its_own_that_is_killed_ends_the_site(place, site, part):
    os.kill(place.get_pid(part), signal.SIGKILL)
    output, _ = site.communicate(timeout=PATIENCE_S)
    assert site.returncode == 1
    assert f"the site's own {part.partition(chr(39))[0]} has died. the end of" in output.lower()
    assert gone(place)


def test_a_port_that_is_taken_is_told_before_anything_starts(place):
    with socket.socket() as taken:
        # Connections of the site before may still be in TIME_WAIT.
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(("127.0.0.1", place.port))
        taken.listen()
        code, output = place.said("up")
    assert code == 1
    assert f"Port {place.port} on 127.0.0.1 is taken" in output
    assert f"PORT={place.port + 1} make up" in output or "PORT=" in output
    assert "Starting" not in output
    assert place.processes() == {}


def test_two_starts_at_once_make_one_site(place):
    first, second = place.manage("up", "--foreground"), place.manage("up", "--foreground")
    until(lambda: first.poll() is not None or second.poll() is not None, "two sites in one place")
    loser, winner = (first, second) if first.poll() is not None else (second, first)
    output, _ = loser.communicate(timeout=PATIENCE_S)
    assert (loser.returncode, "already runs" in output) == (1, True), output

    winner.send_signal(signal.SIGINT)  # Also in the middle of its start.
    output, _ = winner.communicate(timeout=PATIENCE_S)
    assert (winner.returncode, "Stopped." in output) == (0, True), output
    assert gone(place)


@pytest.mark.long
@pytest.mark.timeout(900)
def test_study_goes_on_after_a_kill_and_publishes(place, settings, monkeypatch):
    monkeypatch.setenv("BENCHSITE_YCSB", str(settings.YCSB_DIR))
    build(settings.YCSB_DIR)
    study = place.manage("study", "--only", "redis", "--repeats", "1", "--minutes", "4")
    assert study.stdout is not None
    lines = []
    for line in study.stdout:
        lines.append(line)
        if "Redis everysec A 16t" in line:
            break
    study.kill()
    study.communicate()
    assert "16 runs of" in "".join(lines), "".join(lines)
    assert gone(place)
    resumed = place.manage("study", "--only", "memcached")
    output, _ = resumed.communicate(timeout=600)
    assert resumed.returncode == 0, output
    assert "An unfinished study goes on with its own plan" in output and "Redis everysec A 16t" not in output
    report, numbers = (place.var / "study" / f"workload-a.{form}" for form in ("html", "json"))
    assert "Several nodes on one machine" in report.read_text()
    sweeps = json.loads(numbers.read_text())["sweeps"]
    assert [(sweep["database"], len(sweep["points"])) for sweep in sweeps] == [("Redis", 4)] * 2 + [
        ("Redis, replica", 4)
    ] * 2
