"""Facts of this machine, as {name: {"value": ..., "how": "observed"}}: what `probe.node_probe`
observes, and on macOS what only psutil and sysctl tell. No Django.

Nothing here is guessed: what the system does not say is left out, and shown as unknown.
"""

import contextlib
import platform
import sys
from collections.abc import Callable
from pathlib import Path

import psutil

from benchsite.core.child_environment import child_environment
from benchsite.core.prerequisites import get_output
from runs.results.fact_validation import MAX_TEXT_LENGTH
from workers.probe import node_probe

Facts = dict[str, dict[str, object]]
VIRTUALISED = {"1": "yes", "0": "no"}  # by what macOS answers


def machine_facts(folder: Path | None = None) -> Facts:
    """The facts of this machine; with `folder`, also of the disk it lies on."""
    observed = node_probe.facts(folder)
    if sys.platform == "darwin":
        observed |= _observe_macos()
    for name, value in observed.items():
        if isinstance(value, str):
            observed[name] = value[:MAX_TEXT_LENGTH]
    return {name: {"value": value, "how": "observed"} for name, value in observed.items()}


def _observe_macos() -> dict[str, object]:
    speeds = [stats.speed for name, stats in psutil.net_if_stats().items() if stats.isup and name != "lo0"]
    observers: dict[str, Callable[[], object]] = {
        "cores_physical": lambda: psutil.cpu_count(logical=False),
        "memory_bytes": lambda: psutil.virtual_memory().total,
        "swap_bytes": lambda: psutil.swap_memory().total,
        "cpu_model": lambda: _read_sysctl("machdep.cpu.brand_string"),
        "os": lambda: f"macOS {platform.mac_ver()[0]}",
        "virtualised": lambda: VIRTUALISED.get(_read_sysctl("kern.hv_vmm_present")),
        "nic_bits_per_s": lambda: max((speed for speed in speeds if 0 < speed < 65_535), default=0) * 1_000_000,
    }
    observed = {}
    for name, observe in observers.items():
        with contextlib.suppress(OSError, psutil.Error, NotImplementedError):
            observed[name] = observe()

    return {name: value for name, value in observed.items() if value not in (None, "", 0) or name == "swap_bytes"}


def _read_sysctl(name: str) -> str:
    return get_output(["/usr/sbin/sysctl", "-n", name], child_environment()).strip()
