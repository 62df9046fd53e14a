"""Which CPUs of a machine servers use, and which its clients, where both run on it. No Django."""

import os
from collections.abc import Collection, Iterable
from contextlib import suppress
from itertools import chain, groupby
from pathlib import Path

_TOPOLOGY = Path("/sys/devices/system/cpu")


def available_cpus() -> frozenset[int]:
    """The CPUs that this process may use; empty where the system does not tell (macOS)."""
    if not hasattr(os, "sched_getaffinity"):
        return frozenset()
    return frozenset(os.sched_getaffinity(0))


def confine(pid: int, cpus: Collection[int]) -> None:
    """Let every thread of a process, and all that they start from now on, use these CPUs only (Linux).

    Raises FileNotFoundError where the process has ended.
    """
    confined: set[Path] = set()
    # A thread that another one has started meanwhile is in the next listing.
    while threads := set(Path(f"/proc/{pid}/task").iterdir()) - confined:
        for thread in threads:
            with suppress(ProcessLookupError):
                os.sched_setaffinity(int(thread.name), cpus)
        confined |= threads


def divide_cpus(cpus: Iterable[int], topology: Path = _TOPOLOGY) -> tuple[list[int], list[int]]:
    """Disjoint CPUs for servers and for clients, half of the cores each; the odd core is the servers'.

    Threads of one core share its caches and units, so they stay together where there are two cores or more. With a
    single CPU nothing is divided, and both lists are empty.
    """

    def core(cpu: int) -> str:
        try:
            return (topology / f"cpu{cpu}" / "topology" / "thread_siblings_list").read_text()
        except OSError:
            return str(cpu)

    ordered = sorted(set(cpus))
    first_of = {core(cpu): cpu for cpu in reversed(ordered)}
    ordered.sort(key=lambda cpu: (first_of[core(cpu)], cpu))
    cores = [list(threads) for _, threads in groupby(ordered, key=core)]
    if len(cores) == 1:
        cores = [[cpu] for cpu in ordered]
    if len(cores) < 2:
        return [], []

    half = (len(cores) + 1) // 2
    return [*chain(*cores[:half])], [*chain(*cores[half:])]
