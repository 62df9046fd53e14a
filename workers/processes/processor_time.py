"""How long a process has worked and waited for a processor. Standard library only."""

from contextlib import suppress
from pathlib import Path


def processor_time_s(pid: int) -> float:
    """The processor time of the thread with most of it, since it began; 0 where the kernel does not tell."""
    longest_ns = 0
    with suppress(OSError, ValueError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            longest_ns = max(longest_ns, sum(map(int, (thread / "schedstat").read_text().split()[:2])))
    return longest_ns / 1e9
