"""What a long step writes while it lasts, when it ends, and when its command fails."""

import subprocess
import sys
from pathlib import Path

import pytest

from benchsite.core import progress
from benchsite.core.progress import Step, main, run_logged

PIP = """
import time
for line in ("Collecting numpy", "  Downloading numpy-2.4.6.whl (16 MB)", "Installing collected packages: numpy"):
    print(line, flush=True)
    time.sleep(0.3)
print("Downloading from central: https://repo.example/org/ycsb/core-0.17.0.jar")
"""


@pytest.fixture
def lines(monkeypatch):
    monkeypatch.setattr(progress, "LOG_INTERVAL_S", 0.05)
    return []


def test_names_what_is_fetched(lines, tmp_path):
    with Step("Packages", lines.append) as step:
        run_logged(step, [sys.executable, "-c", PIP], tmp_path / "log" / "packages.log")

    details = [line.rpartition(", ")[2] for line in lines if ", " in line]
    assert {"numpy", "numpy-2.4.6.whl", "Installing"} <= set(details)
    assert lines[-1].startswith("Packages: ") and lines[-1].endswith(" s")
    assert "core-0.17.0.jar" in (tmp_path / "log" / "packages.log").read_text()


def test_short_step_is_one_line():
    lines = []

    with Step("Database", lines.append) as step:
        step.tick("migrations")

    assert lines == ["Database: 0.0 s"]


def test_failed_command_ends_with_cause_and_log(tmp_path, capfd):
    log = tmp_path / "packages.log"

    code = main("Packages", str(log), sys.executable, "-c", "print('no space left'); raise SystemExit(3)")

    captured = capfd.readouterr()
    assert code == 3
    assert captured.out == ""
    assert captured.err == f"no space left\nPackages: failed. All of its output: {log}\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="This system has no /dev/full.")
def test_full_disk_is_the_cause(capfd):
    code = main("Packages", "/dev/full", sys.executable, "-c", "print('x')")

    assert code == 1
    assert (
        capfd.readouterr().err
        == "Packages: failed. No space left on device: /dev/full. Mend that, and run the same command again.\n"
    )


def test_failure_is_raised(tmp_path):
    with pytest.raises(subprocess.CalledProcessError), Step("Packages", lambda line: None) as step:
        run_logged(step, [sys.executable, "-c", "raise SystemExit(1)"], tmp_path / "log")
