"""One process from start to end: its lines, its bytes, and every way in which it may be stopped."""

import os
import signal
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from workers.processes import process
from workers.processes.process import StartError, run_process
from workers.tests.trees import all_gone, family, told_pid, until

pytestmark = pytest.mark.slow


@pytest.fixture
def run(tmp_path):
    """`run_process` of a piece of Python, its records in the test's own folder."""

    def start(program, **more):
        argv = [sys.executable, "-I", "-S", "-u", "-c", program]
        return run_process(argv, registry=tmp_path / "registry", label="test", **more)

    return start


def test_it_hands_over_lines_and_keeps_every_byte(run, tmp_path):
    out, err = [], []
    result = run(
        "import sys as s; s.stdout.buffer.write(b'one\\r\\n2\\n\\n\\xff last')\ns.stderr.write('apart\\n')\ns.exit(3)",
        on_stdout_line=out.append,
        on_stderr_line=err.append,
        stdout_path=tmp_path / "out",
        stderr_path=tmp_path / "err",
    )

    assert (result.exit_code, result.stopped_because, result.lines_dropped) == (3, None, 0)
    assert out == ["one", "2", "", "\ufffd last"]
    assert err == ["apart"]
    assert (tmp_path / "out").read_bytes() == b"one\r\n2\n\n\xff last"
    assert (tmp_path / "err").read_bytes() == b"apart\n"


def test_it_writes_a_line_to_the_child_when_the_time_has_come(run):
    said, children = [], []

    def listen(line: str) -> None:
        said.append(line)
        if line == "ready":
            assert children[0].write_line("START 12")

    result = run("print('ready'); print(input())", stdin=True, on_started=children.append, on_stdout_line=listen)

    assert result.exit_code == 0
    assert said == ["ready", "START 12"]
    assert not children[0].write_line("too late")


def test_it_survives_a_line_of_a_hundred_megabytes(run, tmp_path):
    lines = []
    before = psutil.Process().memory_info().rss
    result = run(
        "import sys\nfor _ in range(100): sys.stdout.write('x' * 1_000_000)\nprint(); print('after')",
        on_stdout_line=lines.append,
        stdout_path=tmp_path / "out",
    )

    assert result.exit_code == 0
    assert [len(line) for line in lines] == [process.MAX_LINE_LENGTH, 5]
    assert (tmp_path / "out").stat().st_size == 100_000_007
    assert psutil.Process().memory_info().rss - before < 50_000_000


def test_it_stops_at_its_deadline(run):
    result = run("import time; time.sleep(300)", deadline_s=0.3)
    assert (result.exit_code, result.stopped_because) == (-signal.SIGTERM, "deadline")


def test_it_kills_what_ignores_the_end_of_its_time(tmp_path):
    result = run_process(
        family(tmp_path, "deaf"), registry=tmp_path / "registry", label="deaf", deadline_s=1.5, grace_s=0.2
    )
    assert (result.exit_code, result.stopped_because) == (-signal.SIGKILL, "deadline")
    assert all_gone([told_pid(tmp_path, "child"), told_pid(tmp_path, "grandchild")])


@pytest.mark.parametrize(("answer", "reason"), [(True, "cancelled"), ("cancelled", "cancelled"), ("lost", "lost")])
def test_it_stops_when_it_is_told_to(run, answer, reason):
    calls = []

    def should_stop():
        calls.append(threading.current_thread())
        return answer if len(calls) == 3 else False

    result = run("import time; time.sleep(300)", should_stop=should_stop, tick_s=0.05)
    assert (result.exit_code, result.stopped_because) == (-signal.SIGTERM, reason)
    assert calls == [threading.current_thread()] * 3


def test_it_takes_what_a_child_says_while_it_stops(run, tmp_path):
    """More than a pipe holds, so that a child whose pipe nobody reads would hang instead of ending."""
    program = (
        "import signal, sys, time\n"
        "def end(*_):\n    print('x' * 1_000_000); print('bye'); sys.exit(5)\n"
        "signal.signal(signal.SIGTERM, end)\nprint('ready')\ntime.sleep(300)\n"
    )
    lines: list[str] = []
    result = run(program, on_stdout_line=lines.append, should_stop=lambda: "ready" in lines, tick_s=0.05)
    assert (result.exit_code, result.stopped_because) == (5, "cancelled")
    assert lines[-1] == "bye"


def test_it_tells_when_the_guardian_was_killed(run):
    def kill(running: process.Guarded) -> None:
        os.kill(running.guardian_pid, signal.SIGKILL)

    result = run("import time; time.sleep(300)", on_started=kill)
    assert (result.exit_code, result.stopped_because) == (-signal.SIGKILL, "lost")


@pytest.mark.parametrize("callback", ["on_started", "on_stdout_line", "on_tick", "should_stop"])
def test_an_error_of_a_callback_ends_the_process(run, tmp_path, callback):
    def fail(*_: object) -> None:
        raise LookupError(callback)

    program = (
        f"import os, time; open({str(tmp_path / 'child')!r}, 'w').write(str(os.getpid())); print(); time.sleep(300)"
    )
    ready = {} if callback == "on_started" else {"on_started": lambda running: told_pid(tmp_path, "child")}
    with pytest.raises(LookupError, match=callback):
        run(program, **{**ready, callback: fail})
    if callback != "on_started":
        assert all_gone([told_pid(tmp_path, "child")])


def test_it_ticks_on_while_nothing_is_said(run):
    ticks = []
    run("import os, time; os.close(1); os.close(2); time.sleep(0.6)", on_tick=lambda: ticks.append(1), tick_s=0.05)
    assert len(ticks) >= 3


def test_it_ticks_in_a_flood_of_lines(run):
    ticks = []
    result = run(
        "while True: print('line')",
        on_stdout_line=lambda line: None,
        on_tick=lambda: ticks.append(1),
        tick_s=0.05,
        should_stop=lambda: len(ticks) >= 3,
    )
    assert result.stopped_because == "cancelled"


def test_a_slow_listener_loses_lines_and_never_bytes(run, tmp_path, monkeypatch):
    monkeypatch.setattr(process, "LINES_WAITING", 10)
    monkeypatch.setattr(process, "LINE_PATIENCE_S", 0.01)
    lines = []

    def listen(line: str) -> None:
        lines.append(line)
        time.sleep(0.2 if len(lines) == 1 else 0)

    result = run("print(*range(5_000), sep='\\n')", on_stdout_line=listen, stdout_path=tmp_path / "out")
    assert result.exit_code == 0
    assert result.lines_dropped > 0
    assert len(lines) + result.lines_dropped == 5_000
    assert len((tmp_path / "out").read_text().splitlines()) == 5_000


def test_a_full_disk_is_told_and_does_not_hang_the_child(run):
    with pytest.raises(OSError, match="No space left"):
        run("print('x' * 1_000_000)", stdout_path=Path("/dev/full"))


def test_it_ends_when_a_grandchild_keeps_the_pipe_open(tmp_path):
    result = run_process(family(tmp_path, "leave", "away"), registry=tmp_path / "registry", label="leave")
    assert (result.exit_code, result.stopped_because) == (0, None)
    assert all_gone([told_pid(tmp_path, "grandchild")])


def test_it_says_what_cannot_be_started(tmp_path):
    with pytest.raises(StartError, match="/no/such/program"):
        run_process(["/no/such/program"], registry=tmp_path, label="wrong")


def test_it_leaves_no_descriptor_thread_or_zombie(run):
    def held() -> tuple[int, int, int]:
        return len(list(Path("/dev/fd").iterdir())), threading.active_count(), len(psutil.Process().children())

    before = held()
    for _ in range(5):
        run("print(1)", stdin=True, on_stdout_line=lambda line: None)
        run("import time; time.sleep(300)", deadline_s=0.01)
    until(lambda: held() == before, f"{held()} instead of {before}")
