"""Load generators of one host share a folder of credentials; a credential is free again when its process has ended."""

import subprocess
import sys
from pathlib import Path

from django.conf import settings

from benchsite.core.generator_access import take_file
from workers.generator import presence

HOLD = (
    "import os, sys; from pathlib import Path; from benchsite.core.generator_access import take_file\n"
    "print(take_file(Path(sys.argv[1]), 'lab').name, flush=True)\n"
    # The lock goes along into the program that the process becomes.
    "os.execv('/bin/cat', ['cat'])"
)


def holder(folder: Path) -> "subprocess.Popen[str]":
    argv = [sys.executable, "-c", HOLD, str(folder)]
    return subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=settings.BASE_DIR)


def test_it_takes_the_first_free_credential(tmp_path):
    for name in ("lab-1", "lab-2", "lab-3", "other-1"):
        (tmp_path / f"{name}.json").touch(mode=0o400)
    with holder(tmp_path) as first, holder(tmp_path) as second:
        assert first.stdout and second.stdout
        assert {first.stdout.readline(), second.stdout.readline()} == {"lab-1.json\n", "lab-2.json\n"}
        with holder(tmp_path) as third:
            assert third.stdout and third.stdout.readline() == "lab-3.json\n"
            third.kill()
        first.kill()
        first.wait()
        freed = take_file(tmp_path, "lab")
        assert freed and freed.name in ("lab-1.json", "lab-2.json")
        second.kill()


def test_a_host_is_what_it_was_called(monkeypatch):
    monkeypatch.setenv("BENCHSITE_MACHINE", "lab")
    assert presence.host_key() == "called lab"
    monkeypatch.delenv("BENCHSITE_MACHINE")
    assert presence.host_key() != "called lab"
