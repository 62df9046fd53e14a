"""What prepares the site runs in a child of the supervisor, and ends with it."""

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from django.core.management.base import CommandError

from benchsite.accounts.models import Team
from benchsite.local import preparation
from benchsite.local.supervisor import SiteError, in_child

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = """
import os, time, django
django.setup()
from benchsite.local import preparation
from benchsite.local.supervisor import in_child

def work(note):
    print(os.getpid(), flush=True)
    time.sleep(60)

preparation.work = work
in_child('work')
"""


def identify(note, *arguments):
    note("half of it")
    return os.getpid(), arguments


def refuse(note):
    raise CommandError("There is no such table.")


def miss(note):
    raise Team.DoesNotExist("There is no such team.")


def die(note):
    os.kill(os.getpid(), 9)


@pytest.fixture(autouse=True)
def tasks(monkeypatch):
    for task in (identify, refuse, miss, die):
        monkeypatch.setattr(preparation, task.__name__, task, raising=False)


def test_answer_and_errors_reach_the_supervisor():
    details = []
    pid, arguments = in_child("identify", "a", 2, tick=details.append)
    assert pid != os.getpid()
    assert arguments == ("a", 2)
    assert details[-1] == "half of it"
    with pytest.raises(CommandError, match="no such table"):
        in_child("refuse")
    with pytest.raises(SiteError, match=r"DoesNotExist: There is no such team\."):
        in_child("miss")


def test_killed_child_is_an_error_that_says_so():
    with pytest.raises(SiteError, match="was killed"):
        in_child("die")


@pytest.mark.slow
def test_child_ends_with_a_killed_supervisor():
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "benchsite.settings"}
    with subprocess.Popen(
        [sys.executable, "-c", SCRIPT], cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True
    ) as supervisor:
        child = psutil.Process(int(supervisor.stdout.readline()))
        supervisor.kill()
        assert psutil.wait_procs([child], timeout=10)[1] == []
