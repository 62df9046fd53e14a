"""Whoever dies, and however: nothing of a guarded process stays behind."""

import json
import os
import pwd
import signal
import subprocess
import sys
import threading
from pathlib import Path

import psutil
import pytest

from benchsite.core.paths import Account
from workers.processes.guarded_process import LOST, StartError, start_guarded
from workers.tests.trees import ROOT, all_gone, family, lives, owner, told_pid, until

pytestmark = pytest.mark.slow

linux = pytest.mark.skipif(sys.platform != "linux", reason="the kernel's help is Linux's")


@pytest.fixture
def registry(tmp_path: Path) -> Path:
    return tmp_path / "registry"


def test_it_ends_the_whole_group_when_asked(tmp_path, registry):
    guarded = start_guarded(family(tmp_path), registry=registry, label="family")
    people = [told_pid(tmp_path, "child"), told_pid(tmp_path, "grandchild")]

    assert guarded.alive() and guarded.pid == people[0] == os.getpgid(people[1])
    assert guarded.stop() == -signal.SIGTERM
    assert all_gone(people)
    assert guarded.ended and not guarded.alive() and not list(registry.iterdir())


def test_it_kills_a_group_that_is_deaf(tmp_path, registry):
    guarded = start_guarded(family(tmp_path, "deaf"), registry=registry, label="family", grace_s=0.2)
    people = [told_pid(tmp_path, "child"), told_pid(tmp_path, "grandchild")]

    assert guarded.stop() == -signal.SIGKILL
    assert all_gone(people)


def test_it_kills_at_once_when_told_so(tmp_path, registry):
    guarded = start_guarded(family(tmp_path, "deaf"), registry=registry, label="family", grace_s=300)
    people = [told_pid(tmp_path, "child"), told_pid(tmp_path, "grandchild")]

    guarded.request_stop()
    assert guarded.kill() == -signal.SIGKILL
    assert all_gone(people)


def test_it_ends_what_the_child_leaves_in_its_group(tmp_path, registry):
    guarded = start_guarded(family(tmp_path, "leave"), registry=registry, label="family")

    assert guarded.wait(20) == 0
    assert all_gone([told_pid(tmp_path, "grandchild")])


@linux
def test_it_ends_what_has_left_the_group(tmp_path, registry):
    guarded = start_guarded(family(tmp_path, "away"), registry=registry, label="family")
    people = [told_pid(tmp_path, "child"), told_pid(tmp_path, "grandchild")]
    assert os.getpgid(people[1]) != guarded.pgid

    guarded.stop()
    assert all_gone(people)


def test_it_ends_the_rest_when_the_child_is_killed(tmp_path, registry):
    guarded = start_guarded(family(tmp_path), registry=registry, label="family")
    people = [told_pid(tmp_path, "child"), told_pid(tmp_path, "grandchild")]

    os.kill(people[0], signal.SIGKILL)
    assert guarded.wait(20) == -signal.SIGKILL
    assert not guarded.lost
    assert all_gone(people)


@pytest.mark.parametrize("words", [(), ("deaf",), ("away",), ("fork",)])
def test_it_ends_everything_when_its_owner_is_killed(tmp_path, words):
    """Also where a fork of the owner still holds the owner's end of the line."""
    process = subprocess.Popen(owner(tmp_path, *words), cwd=ROOT)
    people = [told_pid(tmp_path, name) for name in ("guardian", "child", "grandchild")]

    process.kill()
    process.wait()
    assert all_gone(people)
    assert not list((tmp_path / "registry").iterdir())
    if "fork" in words:
        os.kill(told_pid(tmp_path, "fork"), signal.SIGKILL)


def test_the_owner_ends_the_group_when_the_guardian_is_killed(tmp_path, registry):
    guarded = start_guarded(family(tmp_path), registry=registry, label="family")
    people = [told_pid(tmp_path, "child"), told_pid(tmp_path, "grandchild")]

    os.kill(guarded.guardian_pid, signal.SIGKILL)
    assert guarded.wait(20) == LOST
    assert guarded.lost
    assert all_gone(people)
    assert not list(registry.iterdir())


@linux
def test_kernel_ends_child_if_owner_and_guardian_are_killed(tmp_path):
    process = subprocess.Popen(owner(tmp_path), cwd=ROOT)
    guardian, child, grandchild = (told_pid(tmp_path, name) for name in ("guardian", "child", "grandchild"))

    os.kill(process.pid, signal.SIGSTOP)  # So that the owner cannot do it.
    os.kill(guardian, signal.SIGKILL)
    process.kill()
    process.wait()
    assert all_gone([guardian, child])
    os.kill(grandchild, signal.SIGKILL)


@pytest.mark.needs("root")
@linux
def test_the_kernel_ends_a_child_of_another_account_too(tmp_path, registry):
    nobody = pwd.getpwnam("nobody")
    guarded = start_guarded(
        ["/bin/sleep", "300"], registry=registry, label="sleep", account=Account("nobody", nobody.pw_uid, nobody.pw_gid)
    )
    watched = guarded.pid
    until(lambda: psutil.Process(watched).name() == "sleep", "no exec")
    guarded._end_group = lambda: None  # Only the kernel may do it here.

    os.kill(guarded.guardian_pid, signal.SIGKILL)
    assert all_gone([watched])


@pytest.mark.needs("root")
def test_it_runs_the_child_as_another_account(tmp_path, registry):
    nobody = pwd.getpwnam("nobody")
    said = tmp_path / "said"
    guarded = start_guarded(
        ["/bin/sh", "-c", "id -u; id -g; id -G; echo $HOME $USER"],
        registry=registry,
        label="id",
        cwd=Path("/"),
        account=Account("nobody", nobody.pw_uid, nobody.pw_gid),
        stdout=said,
    )

    assert guarded.wait(20) == 0
    uid, gid, groups, home = said.read_text().splitlines()
    assert (uid, gid, home) == (str(nobody.pw_uid), str(nobody.pw_gid), f"{nobody.pw_dir} nobody")
    assert "0" not in groups.split()


def test_its_record_tells_who_runs_and_for_whom(tmp_path, registry):
    with start_guarded(family(tmp_path), registry=registry, label="family") as guarded:
        (record,) = registry.glob("*.json")
        content = json.loads(record.read_text())
        environment = psutil.Process(guarded.pid).environ()

    assert content["label"] == "family"
    assert (content["pid"], content["pgid"], content["started"]) == (guarded.pid, guarded.pgid, guarded.started)
    assert (content["owner_pid"], content["guardian_pid"]) == (os.getpid(), guarded.guardian_pid)
    assert environment["BENCHSITE_TOKEN"] == content["token"] == guarded.token


@pytest.mark.parametrize(
    ("argv", "cwd", "complaint"),
    [(["/no/such/program"], None, "/no/such/program"), (["/bin/true"], Path("/no/such/folder"), "/no/such/folder")],
)
def test_it_says_what_cannot_be_started(registry, argv, cwd, complaint):
    with pytest.raises(StartError, match=complaint):
        start_guarded(argv, registry=registry, label="wrong", cwd=cwd)
    assert not list(registry.iterdir())


def test_child_gets_default_signals_and_no_descriptors(tmp_path, registry):
    said = tmp_path / "said"
    program = (
        "import os, signal\n"
        "print([signal.getsignal(n) == signal.SIG_DFL for n in (signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD)])\n"
        "print(signal.pthread_sigmask(signal.SIG_BLOCK, []))\n"
        "print(sorted(int(one) for one in os.listdir('/dev/fd'))[:4])\n"
    )
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    try:
        guarded = start_guarded([sys.executable, "-I", "-S", "-c", program], registry=registry, label="p", stdout=said)
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGUSR1])
    assert guarded.wait(20) == 0
    assert said.read_text().splitlines() == ["[True, True, True]", "set()", "[0, 1, 2, 3]"]


def test_it_leaves_no_descriptor_thread_or_zombie(tmp_path, registry):
    def held() -> tuple[int, int, int]:
        return len(list(Path("/dev/fd").iterdir())), threading.active_count(), len(psutil.Process().children())

    before = held()
    for _ in range(5):
        with start_guarded(
            ["/bin/cat"], registry=registry, label="cat", stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as guarded:
            pass
        with pytest.raises(StartError):
            start_guarded(["/no/such/program"], registry=registry, label="wrong")
    until(lambda: held() == before, f"{held()} instead of {before}")
    assert not lives(guarded.pid)


def test_the_guardian_needs_no_heavy_modules():
    """It is started for every child, so it must start quickly: these would double the time."""
    program = "import sys; sys.path.insert(0, sys.argv[1]); import guardian; print(*sys.modules)"
    process = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program, str(ROOT / "workers/processes")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert not {"subprocess", "pathlib", "socket", "logging", "django", "psutil"} & set(process.stdout.split())
