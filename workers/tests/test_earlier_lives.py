"""What a component's earlier life left running is ended, and nobody else is touched."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from workers.processes.guarded_process import start_guarded
from workers.processes.guardian import start_time
from workers.processes.process_registry import end_earlier_lives
from workers.tests.trees import ROOT, all_gone, family, lives, owner, told_pid

pytestmark = pytest.mark.slow

GONE = {"guardian_pid": 1, "guardian_started": "long ago", "owner_pid": 1, "owner_started": "long ago"}


def write_record(folder: Path, pid: int, **fields: object) -> Path:
    content = {"label": "x", "token": "0" * 32, "pid": pid, "pgid": pid, "started": start_time(pid), **GONE, **fields}
    path = folder / f"{content['token']}.json"
    path.write_text(json.dumps(content))
    return path


@pytest.fixture
def bystander():
    """A process that carries a token, but whose record will not fit."""
    process = subprocess.Popen(["/bin/sleep", "300"], env={"BENCHSITE_TOKEN": "0" * 32})
    yield process
    process.kill()
    process.wait()


def test_it_ends_the_grandchildren_of_a_killed_life(tmp_path):
    process = subprocess.Popen(owner(tmp_path), cwd=ROOT)
    guardian, child, grandchild = (told_pid(tmp_path, name) for name in ("guardian", "child", "grandchild"))
    os.kill(process.pid, signal.SIGSTOP)  # So that the owner cannot do it.
    os.kill(guardian, signal.SIGKILL)
    process.kill()
    process.wait()
    assert lives(grandchild)

    (record,) = end_earlier_lives(tmp_path / "registry")

    assert record.pid == child
    assert all_gone([child, grandchild])
    assert not list((tmp_path / "registry").iterdir())


def test_it_waits_for_a_guardian_that_is_at_work(tmp_path):
    process = subprocess.Popen(owner(tmp_path, "deaf"), cwd=ROOT)
    people = [told_pid(tmp_path, name) for name in ("guardian", "child", "grandchild")]
    process.kill()
    process.wait()

    assert end_earlier_lives(tmp_path / "registry") == []
    assert not any(lives(pid) for pid in people)


def test_it_leaves_alone_what_has_an_owner(tmp_path):
    with start_guarded(family(tmp_path), registry=tmp_path / "registry", label="family") as guarded:
        assert end_earlier_lives(tmp_path / "registry") == []
        assert guarded.alive()
        assert len(list((tmp_path / "registry").glob("*.json"))) == 1


@pytest.mark.parametrize("fields", [{"started": "another time"}, {"token": "1" * 32}])
def test_it_leaves_alone_a_process_that_only_has_the_number(tmp_path, bystander, fields):
    path = write_record(tmp_path, bystander.pid, **fields)

    assert end_earlier_lives(tmp_path) == []
    assert bystander.poll() is None
    assert not path.exists()


def test_it_ends_a_process_that_matches_in_all_three(tmp_path, bystander):
    write_record(tmp_path, bystander.pid)

    (record,) = end_earlier_lives(tmp_path)
    assert record.pid == bystander.pid
    assert all_gone([bystander.pid])


@pytest.mark.parametrize("content", ["", "{", "[]", '{"pid": 1}'])
def test_it_leaves_alone_a_file_that_is_no_record(tmp_path, content):
    path = tmp_path / "notes.json"
    path.write_text(content)
    assert end_earlier_lives(tmp_path) == []
    assert path.read_text() == content


def test_it_needs_no_folder(tmp_path):
    assert end_earlier_lives(tmp_path / "nothing") == []


@pytest.mark.parametrize("delay_s", [0, 1], ids=["afterwards", "before it watches"])
def test_a_pool_process_ends_when_its_worker_is_killed(tmp_path, delay_s):
    program = (
        "import os, sys, time\n"
        "from workers.processes.orphans import exit_when_parent_is_gone\n"
        "parent, pid = os.getpid(), os.fork()\n"
        "if pid == 0:\n"
        "    open(sys.argv[1] + '/watched.draft', 'w').write(str(os.getpid()))\n"
        "    os.rename(sys.argv[1] + '/watched.draft', sys.argv[1] + '/watched')\n"
        f"    time.sleep({delay_s})\n"
        "    exit_when_parent_is_gone(parent)\n"
        "time.sleep(300)\n"
    )
    process = subprocess.Popen([sys.executable, "-W", "ignore", "-c", program, str(tmp_path)], cwd=ROOT)
    watched = told_pid(tmp_path, "watched")

    process.kill()
    process.wait()
    assert all_gone([watched])
