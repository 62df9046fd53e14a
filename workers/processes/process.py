"""Runs one process to its end while its output is read line by line and kept byte by byte. No Django."""

import contextlib
import os
import select
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, Full, Queue
from typing import IO, Literal

from benchsite.core.paths import Account
from runs.ycsb.command import JVM_OPTIONS, java_command
from runs.ycsb.properties import render_properties
from workers.processes.guarded_process import END_PATIENCE_S, LOST, Guarded, StartError, start_guarded
from workers.systems.manifests import Manifest, java_executable

__all__ = ["Guarded", "ProcessResult", "StartError", "run_process", "start_guarded"]

MAX_LINE_LENGTH = 16 * 1024  # bytes handed to a callback; the file gets every byte
LINES_WAITING = 2_000
LINE_PATIENCE_S = 2.0
POLL_MS = 250
MAX_DELAY_S = 0.1  # how late the end of a process may be noticed

StopReason = Literal["cancelled", "deadline", "finished", "lost"]


@dataclass(frozen=True, slots=True)
class ProcessResult:
    """How a process ended. `exit_code` is negative for a signal."""

    exit_code: int
    stopped_because: StopReason | None  # None: it ended by itself
    duration_s: float
    lines_dropped: int = 0  # lines that the callbacks were too slow for; the files have them


LineCallback = Callable[[str], None]


@dataclass
class _Reader:
    """Reads one pipe in a thread: every byte to the file, lines to the queue."""

    pipe: IO[bytes]
    path: Path | None
    on_line: LineCallback | None
    queue: "Queue[tuple[LineCallback, str]]"
    give_up: threading.Event
    dropped: int = 0
    partial: bytearray = field(default_factory=bytearray)
    behind: bool = False
    problem: OSError | None = None

    def __post_init__(self) -> None:
        self.thread = threading.Thread(target=self.read, name=f"read {self.path}", daemon=True)
        self.thread.start()

    def read(self) -> None:
        poll = select.poll()
        poll.register(self.pipe, select.POLLIN)
        with contextlib.ExitStack() as opened:
            try:
                file = None
                if self.path:
                    file = opened.enter_context(self.path.open("ab", buffering=0))
            except OSError as problem:
                self.problem, file = problem, None

            opened.enter_context(self.pipe)
            while True:
                ready = poll.poll(POLL_MS)
                # A process that has left the group may hold the pipe open for ever: once the group is gone the reader
                # takes what lies in the pipe and waits for nothing more.
                if not ready and self.give_up.is_set():
                    break
                if not ready:
                    continue

                piece = os.read(self.pipe.fileno(), 1 << 16)
                if not piece:
                    break

                if file is not None:
                    self.keep(file, piece)
                if self.on_line is not None:
                    self.split(piece)

            if self.partial:
                self.hand_over(bytes(self.partial))

    def keep(self, file: IO[bytes], piece: bytes) -> None:
        """A full disk must not stop the reading, or the child would hang on its pipe; it is told at the end."""
        try:
            file.write(piece)
        except OSError as problem:
            self.problem = self.problem or problem

    def split(self, piece: bytes) -> None:
        first, *rest = piece.split(b"\n")
        self.partial += first[: MAX_LINE_LENGTH - len(self.partial)]
        for part in rest:
            self.hand_over(bytes(self.partial))
            self.partial = bytearray(part[:MAX_LINE_LENGTH])

    def hand_over(self, line: bytes) -> None:
        """Waits a little for callbacks that are slow; beyond that drops the line rather than holding up the child."""
        assert self.on_line is not None
        item = (self.on_line, line.rstrip(b"\r").decode(errors="replace"))
        try:
            if self.behind:
                self.queue.put_nowait(item)
            else:
                self.queue.put(item, timeout=LINE_PATIENCE_S)
            self.behind = False
        except Full:
            self.behind = True
            self.dropped += 1


def write_properties(path: Path, properties: Mapping[str, str]) -> None:
    """A file of Java's properties, which may hold passwords: nobody else reads it."""
    path.touch(mode=0o600)
    path.write_text(render_properties(properties), encoding="latin-1")


def java_argv(
    manifest: Manifest,
    main_class: str,
    arguments: Sequence[str],
    *,
    jvm_options: Sequence[str] = JVM_OPTIONS,
    folders: Sequence[str] = (),
) -> list[str]:
    """The command of a Java program with a binding; `folders` come first on the class path. Raises ManifestError."""
    class_path = [*folders, *map(str, manifest.jars)]
    return java_command(
        java_executable(), class_path, jvm_options=jvm_options, main_class=main_class, arguments=arguments
    )


def run_process(
    argv: Sequence[str | os.PathLike[str]],
    *,
    registry: Path,
    label: str,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    account: Account | None = None,
    cpus: Iterable[int] = (),
    stdin: bool = False,
    stdout_path: Path | None = None,
    stderr_path: Path | None = None,
    on_started: Callable[[Guarded], None] | None = None,
    on_stdout_line: LineCallback | None = None,
    on_stderr_line: LineCallback | None = None,
    on_tick: Callable[[], None] | None = None,
    tick_s: float = 0.5,
    should_stop: Callable[[], StopReason | bool] | None = None,
    deadline_s: float | None = None,
    grace_s: float = 5.0,
) -> ProcessResult:
    """Runs `argv` to its end. Every callback is called in this thread; one that raises ends the process.

    Lines come without their end, at most `MAX_LINE_LENGTH` bytes of each; the files get the raw bytes. About every
    `tick_s` seconds `on_tick`, then `should_stop` are called: True means cancelled, a word is the reason itself.
    `deadline_s` counts from the start. Raises StartError, and OSError when an output file could not be written.
    """
    began = time.monotonic()
    guarded = start_guarded(
        argv,
        registry=registry,
        label=label,
        env=env,
        cwd=cwd,
        account=account,
        cpus=cpus,
        stdin=subprocess.PIPE if stdin else None,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        grace_s=grace_s,
    )
    lines: Queue[tuple[LineCallback, str]] = Queue(LINES_WAITING)
    give_up = threading.Event()
    assert guarded.stdout is not None and guarded.stderr is not None
    readers = [
        _Reader(guarded.stdout, stdout_path, on_stdout_line, lines, give_up),
        _Reader(guarded.stderr, stderr_path, on_stderr_line, lines, give_up),
    ]
    reason: StopReason | None = None
    next_tick = patience_ends = 0.0
    try:
        if on_started is not None:
            on_started(guarded)
        while not guarded.ended or any(reader.thread.is_alive() for reader in readers) or not lines.empty():
            _deliver(lines, until=next_tick)
            now = time.monotonic()
            if now >= next_tick:
                next_tick = now + tick_s
                if on_tick is not None:
                    on_tick()
                if guarded.alive() and reason is None:
                    is_late = deadline_s is not None and now >= began + deadline_s
                    reason = "deadline"
                    if not is_late:
                        reason = _stop_reason(should_stop)
                    if reason is not None:
                        patience_ends = now + guarded.patience_s
                        guarded.request_stop()
                elif guarded.alive() and now > patience_ends:
                    guarded.stop()  # The guardian itself does not answer.

            if guarded.ended:
                give_up.set()
    finally:
        guarded.stop()
        give_up.set()
        if guarded.stdin is not None:
            with contextlib.suppress(OSError):
                guarded.stdin.close()
        for reader in readers:
            reader.thread.join(timeout=END_PATIENCE_S)

    for reader in readers:
        if reader.problem is not None:
            raise reader.problem

    code = LOST
    if guarded.exit_code is not None:
        code = guarded.exit_code
    reason = reason or ("lost" if guarded.lost else None)
    return ProcessResult(code, reason, time.monotonic() - began, sum(reader.dropped for reader in readers))


def _stop_reason(should_stop: Callable[[], StopReason | bool] | None) -> StopReason | None:
    answer = should_stop() if should_stop is not None else False
    if answer is True:
        return "cancelled"
    return answer or None


def _deliver(lines: "Queue[tuple[LineCallback, str]]", *, until: float) -> None:
    """Hands over the lines that wait, or come within a moment; looks up again at `until` even in a flood of them."""
    patience = min(max(until - time.monotonic(), 0.0), MAX_DELAY_S)
    with contextlib.suppress(Empty):
        on_line, line = lines.get(timeout=patience) if patience else lines.get_nowait()
        on_line(line)
        while time.monotonic() < until:
            on_line, line = lines.get_nowait()
            on_line(line)
