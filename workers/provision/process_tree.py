"""Every process of a server, to be stopped for a while or moved together. No Django, Linux or macOS."""

import contextlib
import signal
from collections.abc import Iterator

import psutil

MAX_ROUNDS = 20


def processes_below(guardian_pid: int) -> list[psutil.Process]:
    """The processes that a guardian guards: its child, everything below it, and what left the child and fell to it."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return psutil.Process(guardian_pid).children(recursive=True)
    return []


@contextlib.contextmanager
def stopped(guardian_pid: int) -> Iterator[None]:
    """Stops all processes of a guardian (SIGSTOP) and lets them go on at the end.

    Parents may fork until they are stopped, so the tree is read until it holds no new process.
    """
    stopped_processes: list[psutil.Process] = []
    try:
        for _ in range(MAX_ROUNDS):
            running = [process for process in processes_below(guardian_pid) if process not in stopped_processes]
            if not running:
                break
            for process in running:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.send_signal(signal.SIGSTOP)
                stopped_processes.append(process)
        yield
    finally:
        for process in reversed(stopped_processes):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.send_signal(signal.SIGCONT)
