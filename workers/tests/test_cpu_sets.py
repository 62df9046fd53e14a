"""Servers and clients on one machine use different CPUs: how they are divided, and that they keep to their share."""

import json
import os
import subprocess
import sys

import pytest

from workers.generator.cpu_sets import available_cpus, confine, divide_cpus
from workers.processes.process import run_process

PRINT_AFFINITY = "import json, os; print(json.dumps(sorted(os.sched_getaffinity(0))))"
THREADS_BEFORE_AND_AFTER = """
import os, threading
barrier = threading.Barrier(4)
waits = lambda: (barrier.wait(), os.write(1, f"{sorted(os.sched_getaffinity(0))}\\n".encode()))  # whole lines
for _ in range(3):
    threading.Thread(target=waits).start()
print("ready", flush=True)
input()
thread = threading.Thread(target=waits)
thread.start()
thread.join()
"""
linux = pytest.mark.skipif(sys.platform != "linux", reason="CPU affinity is Linux's")


def topology(folder, *cores):
    for core in cores:
        for cpu in core:
            siblings = folder / f"cpu{cpu}" / "topology" / "thread_siblings_list"
            siblings.parent.mkdir(parents=True)
            siblings.write_text(",".join(map(str, core)))
    return folder


@pytest.mark.parametrize(
    ("cpus", "servers", "clients"),
    [([0, 1], [0], [1]), ([0, 1, 2], [0, 1], [2]), ([4, 5, 6, 7], [4, 5], [6, 7]), ([3], [], []), ([], [], [])],
)
def test_halves_the_cores(tmp_path, cpus, servers, clients):
    assert divide_cpus(cpus, tmp_path) == (servers, clients)


def test_keeps_threads_of_a_core_together(tmp_path):
    folder = topology(tmp_path, (0, 4), (1, 5), (2, 6), (3, 7))
    assert divide_cpus(range(8), folder) == ([0, 4, 1, 5], [2, 6, 3, 7])


def test_divides_the_threads_of_a_single_core(tmp_path):
    assert divide_cpus([0, 1], topology(tmp_path, (0, 1))) == ([0], [1])


@linux
def test_a_process_keeps_to_its_cpus(tmp_path):
    cpu = max(available_cpus())
    output = tmp_path / "out"
    options = {"registry": tmp_path / "registry", "label": "affinity", "stdout_path": output}
    assert run_process([sys.executable, "-c", PRINT_AFFINITY], cpus=[cpu], **options).exit_code == 0
    assert json.loads(output.read_text()) == [cpu]
    output.unlink()
    run_process([sys.executable, "-c", PRINT_AFFINITY], **options)
    assert json.loads(output.read_text()) == sorted(os.sched_getaffinity(0))


@linux
@pytest.mark.skipif(len(available_cpus()) < 2, reason="needs two CPUs")
def test_running_threads_and_later_ones_are_confined():
    cpu = max(available_cpus())
    with subprocess.Popen(
        [sys.executable, "-c", THREADS_BEFORE_AND_AFTER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "ready\n"
        confine(process.pid, [cpu])
        lines, _ = process.communicate("go\n", timeout=30)
    assert lines.splitlines() == [str([cpu])] * 4
