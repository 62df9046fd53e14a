"""Starts a process under a guardian. No Django.

Everything that lives longer than a moment is started here: the guardian ends it, with all it started, when this process
goes, however it goes.
"""

import contextlib
import json
import os
import pwd
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from benchsite.core.child_environment import child_environment
from benchsite.core.formatting import grouped
from benchsite.core.paths import Account
from workers.processes import guardian

START_PATIENCE_S = 20.0
END_PATIENCE_S = guardian.KILL_PATIENCE_S + 5.0
LOST = -signal.SIGKILL

Stream = int | Path | IO[Any] | None


class StartError(Exception):
    """The process could not be started; the message is the system's own."""


class Guarded:
    """One long-lived child under its guardian. Made by `start_guarded`."""

    def __init__(self, popen: subprocess.Popen[bytes], line: socket.socket, label: str, record: Path, grace_s: float):
        self.label = label
        self.token = record.stem
        self.pid = self.pgid = 0
        self.started: str | None = None  # the child's start time, as `guardian.start_time` says it
        self.exit_code: int | None = None
        self.stdin, self.stdout, self.stderr = popen.stdin, popen.stdout, popen.stderr
        self.lost = False  # Whether the guardian was killed, so that nobody knows how the child ended.
        self._popen = popen
        self._line = line
        self._record = record
        self._grace_s = grace_s
        self._known = threading.Event()
        self._exited = threading.Event()
        self._ended = threading.Event()
        self._failure = ""
        self._sending = threading.Lock()
        threading.Thread(target=self._watch, name=f"watch {label}", daemon=True).start()

    @property
    def patience_s(self) -> float:
        """How long a stop may take before the guardian itself is thought to hang."""
        return self._grace_s + END_PATIENCE_S

    @property
    def guardian_pid(self) -> int:
        return self._popen.pid

    def alive(self) -> bool:
        """Whether the child itself runs."""
        return not self._exited.is_set()

    @property
    def ended(self) -> bool:
        """Whether the child and its whole group are gone."""
        return self._ended.is_set()

    def wait(self, timeout: float | None = None) -> int | None:
        """The exit code (negative: the signal) once the child and its whole group are gone; None when time is up."""
        if not self._ended.wait(timeout):
            return None
        return self.exit_code

    def wait_for_exit(self, timeout: float | None = None) -> bool:
        """Whether the child itself has exited within `timeout` seconds; the rest of its group may still be ending."""
        return self._exited.wait(timeout)

    def write_line(self, text: str) -> bool:
        """One line to the child's standard input, a pipe; False when it no longer reads."""
        assert self.stdin is not None
        try:
            self.stdin.write(text.encode() + b"\n")
        except (OSError, ValueError):
            return False
        return True

    def request_stop(self) -> None:
        """Begins what `stop` does, and returns at once."""
        self._say(b"stop\n")

    def stop(self) -> int | None:
        """Stop signal, grace, SIGKILL; returns when the group is gone. Harmless when it is gone already."""
        return self._end(b"stop\n", self.patience_s)

    def kill(self) -> int | None:
        """SIGKILL to the group, without a word; returns when the group is gone."""
        return self._end(b"kill\n", END_PATIENCE_S)

    def _end(self, word: bytes, patience_s: float) -> int | None:
        self._say(word)
        if not self._ended.wait(patience_s):
            self._popen.kill()  # The watch then ends the group itself.
            self._ended.wait(END_PATIENCE_S)
        return self.exit_code

    def __enter__(self) -> "Guarded":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        for stream in (self.stdin, self.stdout, self.stderr):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()

    def _say(self, word: bytes) -> None:
        with self._sending, contextlib.suppress(OSError):
            self._line.sendall(word)

    def _watch(self) -> None:
        """Reads the guardian's reports until the guardian is gone; ends the group itself if that came too early."""
        ended = False
        with contextlib.suppress(OSError), self._line.makefile("rb") as reports:
            for report in reports:
                event = json.loads(report)
                if event["event"] == "started":
                    self.pid, self.pgid, self.started = event["pid"], event["pgid"], event["started"]
                    self._known.set()
                elif event["event"] == "exited":
                    self.exit_code = event["code"]
                    self._exited.set()
                elif event["event"] == "failed":
                    self._failure = event["error"]
                elif event["event"] == "ended":
                    ended = True

        if not ended and self.pgid:
            self._end_group()
        self._popen.wait()
        with self._sending:
            self._line.close()

        self._exited.set()
        self._ended.set()
        self._known.set()

    def _end_group(self) -> None:
        """The guardian was killed. On Linux the child died with it, but not what the child had started."""
        self.lost = True
        now = guardian.start_time(self.pid)
        if now is None or now == self.started:
            end = time.monotonic() + guardian.KILL_PATIENCE_S
            while guardian.group_works(self.pgid) and time.monotonic() < end:
                guardian.signal_group(self.pgid, signal.SIGKILL)
                time.sleep(guardian.GROUP_CHECK_S)
        self._record.unlink(missing_ok=True)
        if self.exit_code is None:
            self.exit_code = LOST

    def _wait_until_started(self) -> None:
        if not self._known.wait(START_PATIENCE_S):
            self._popen.kill()
            self._ended.wait(END_PATIENCE_S)
            self._failure = f"{self.label}: its guardian did not answer within {grouped(START_PATIENCE_S)} s"
        if not self.pid:
            for stream in (self.stdin, self.stdout, self.stderr):
                if stream is not None:
                    stream.close()
            raise StartError(self._failure or f"{self.label}: its guardian ended before the process had started")


def start_guarded(
    argv: Sequence[str | os.PathLike[str]],
    *,
    registry: Path,
    label: str,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    account: Account | None = None,
    cpus: Iterable[int] = (),
    mounts_of: int | None = None,
    stdin: Stream = None,
    stdout: Stream = None,
    stderr: Stream = None,
    grace_s: float = 5.0,
    stop_signal: int = signal.SIGTERM,
    stop_group: bool = True,
) -> Guarded:
    """Starts `argv` in a session of its own, under a guardian, and returns once it runs.

    A stream is a path (appended to), a file, a descriptor, subprocess.PIPE or subprocess.STDOUT; None is /dev/null.
    `env` None: `child_environment`, without secrets. `account`: run as that account (only root can). `cpus`: those that
    it may use, empty for this process's own (Linux only). `mounts_of`: the pid of a process in whose mount namespace
    it runs (Linux, as root). `stop_group` False sends the stop signal to the child alone, for servers that end their
    own workers in order. Raises StartError.
    """
    registry.mkdir(parents=True, exist_ok=True)
    token = secrets.token_hex(16)
    if env is None:
        env = child_environment()
    order: guardian.Order = {
        "argv": [os.fspath(part) for part in argv],
        "cwd": None if cwd is None else str(cwd),
        "account": _resolve_account(account),
        "cpus": list(cpus),
        "mounts_of": mounts_of,
        "token": token,
        "label": label,
        "registry": str(registry),
        "grace_s": grace_s,
        "stop_signal": stop_signal,
        "stop_group": stop_group,
    }
    line, guardian_line = socket.socketpair()
    # The guardian has its own copies of what is closed here.
    with contextlib.ExitStack() as opened:
        opened.enter_context(guardian_line)
        popen = subprocess.Popen(
            [sys.executable, "-I", "-S", guardian.__file__, str(guardian_line.fileno())],
            env=dict(env),
            stdin=_open_stream(stdin, "rb", opened),
            stdout=_open_stream(stdout, "ab", opened),
            stderr=_open_stream(stderr, "ab", opened),
            bufsize=0,
            pass_fds=[guardian_line.fileno()],
            start_new_session=True,
        )

    guarded = Guarded(popen, line, label, registry / f"{token}.json", grace_s)
    guarded._say(json.dumps(order).encode() + b"\n")
    guarded._wait_until_started()
    return guarded


def _resolve_account(account: Account | None) -> tuple[str, int, int, str] | None:
    if account is None or account.uid == os.geteuid():
        return None
    return account.name, account.uid, account.gid, pwd.getpwuid(account.uid).pw_dir


def _open_stream(stream: Stream, mode: str, opened: contextlib.ExitStack) -> int | IO[Any]:
    """What Popen takes; a file that this opens is closed with `opened`."""
    if stream is None:
        return subprocess.DEVNULL
    if isinstance(stream, Path):
        return opened.enter_context(stream.open(mode))
    return stream
