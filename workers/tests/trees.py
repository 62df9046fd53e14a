"""Small families of real processes for tests: who is there, and who has gone."""

import os
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 20.0

# A child with one grandchild. Each writes its pid to a file of its name in the folder of the first argument; further
# arguments: "deaf" ignores SIGTERM, "away" lets the grandchild leave the group, "leave" lets the child exit at once.
FAMILY = """
import os, signal, sys, time
folder, *words = sys.argv[1:]
if "deaf" in words:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
def say(name):
    with open(f"{folder}/{name}.draft", "w") as file:
        file.write(str(os.getpid()))
    os.rename(f"{folder}/{name}.draft", f"{folder}/{name}")
if os.fork() == 0:
    if "away" in words:
        os.setsid()
    say("grandchild")
    time.sleep(300)
say("child")
while "leave" in words and not os.path.exists(f"{folder}/grandchild"):
    time.sleep(0.01)
if "leave" not in words:
    time.sleep(300)
"""

# An owner that starts the family under a guardian and then only waits. "fork" leaves a fork of the owner behind, which
# holds everything open that the owner had open.
OWNER = """
import os, sys, time
from pathlib import Path
from workers.processes.guarded_process import start_guarded
folder, *words = sys.argv[1:]
guarded = start_guarded(
    [sys.executable, "-I", "-S", "-c", Path(folder, "family.py").read_text(), folder, *words],
    registry=Path(folder, "registry"), label="family", grace_s=1,
)
if "fork" in words and os.fork() == 0:
    Path(folder, "fork").write_text(str(os.getpid()))
    time.sleep(300)
Path(folder, "guardian.draft").write_text(str(guarded.guardian_pid))
Path(folder, "guardian.draft").rename(Path(folder, "guardian"))
time.sleep(300)
"""


def family(folder: Path, *words: str) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", FAMILY, str(folder), *words]


def owner(folder: Path, *words: str) -> list[str]:
    (folder / "family.py").write_text(FAMILY)
    return [sys.executable, "-c", OWNER, str(folder), *words]


def told_pid(folder: Path, name: str) -> int:
    """The pid that a member of the family has written, once it has."""
    until(lambda: (folder / name).exists() and (folder / name).read_text() != "", f"{name} did not start")
    return int((folder / name).read_text())


def lives(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def all_gone(pids: Iterable[int], *, patience_s: float = PATIENCE_S) -> bool:
    """Whether all of them are gone within the patience; what is left is killed, so that no test leaves anything."""
    pids = list(pids)
    end = time.monotonic() + patience_s
    while time.monotonic() < end:
        if not any(lives(pid) for pid in pids):
            return True
        time.sleep(0.02)
    for pid in filter(lives, pids):
        os.kill(pid, 9)
    return False


def until(condition: object, complaint: str, *, patience_s: float = PATIENCE_S) -> None:
    assert callable(condition)
    end = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < end, complaint
        time.sleep(0.02)
