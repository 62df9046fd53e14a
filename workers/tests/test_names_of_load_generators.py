"""Load generators of one host name themselves, and a name is free again when its process has ended."""

import subprocess
import sys
from pathlib import Path

from django.conf import settings

from workers import presence
from workers.generator_names import take_name

HOLD = (
    "import os, sys; from pathlib import Path; from workers.generator_names import take_name\n"
    "print(take_name('lab', Path(sys.argv[1])), flush=True)\n"
    # The lock goes along into the program that the process becomes.
    "os.execv('/bin/cat', ['cat'])"
)


def holder(folder: Path) -> "subprocess.Popen[str]":
    argv = [sys.executable, "-c", HOLD, str(folder)]
    return subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=settings.BASE_DIR)


def test_it_takes_the_lowest_free_name(tmp_path):
    with holder(tmp_path) as first, holder(tmp_path) as second:
        assert first.stdout and second.stdout
        assert {first.stdout.readline(), second.stdout.readline()} == {"lab-1\n", "lab-2\n"}
        with holder(tmp_path) as third:
            assert third.stdout and third.stdout.readline() == "lab-3\n"
            third.kill()
        first.kill()
        first.wait()
        freed = take_name("lab", tmp_path)
        assert freed in ("lab-1", "lab-2")
        second.kill()


def test_a_host_is_what_it_was_called(monkeypatch):
    monkeypatch.setenv("BENCHSITE_MACHINE", "lab")
    assert presence.host_key() == "called lab"
    monkeypatch.delenv("BENCHSITE_MACHINE")
    assert presence.host_key() != "called lab"
