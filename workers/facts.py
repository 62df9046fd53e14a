"""What can be observed about this machine, as {name: {"value": ..., "how": "observed"}}. No Django.

Nothing here is guessed: what the system does not say is left out, and shown as unknown.
"""

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psutil

from workers.provision.disk import file_system_of

Facts = dict[str, dict[str, object]]
COMMAND_TIMEOUT_S = 5
# Words in a machine's own description of itself by which a hypervisor is known.
HYPERVISORS = ("kvm", "qemu", "vmware", "virtualbox", "xen", "hyper-v", "virtual machine", "amazon ec2", "firecracker")


def machine_facts(folder: Path | None = None) -> Facts:
    """The facts of this machine; with `folder`, also of the disk it lies on."""
    observers: dict[str, Callable[[], object]] = {
        "host": platform.node,
        "cores": lambda: psutil.cpu_count(logical=True),
        "cores_physical": lambda: psutil.cpu_count(logical=False),
        "cores_usable": usable_cores,
        "memory_bytes": lambda: psutil.virtual_memory().total,
        "swap_bytes": lambda: psutil.swap_memory().total,
        "cpu_model": cpu_model,
        "kernel": lambda: f"{platform.system()} {platform.release()}",
        "os": os_name,
        "architecture": platform.machine,
        "virtualised": virtualised,
        "nic_bits_per_s": network_bits_per_s,
        "transparent_huge_pages": transparent_huge_pages,
    }
    if folder is not None:
        observers |= {
            "disk_file_system": lambda: file_system_of(folder),
            "disk_device": lambda: disk_device(folder),
            "disk_total_bytes": lambda: shutil.disk_usage(folder).total,
            "disk_free_bytes": lambda: shutil.disk_usage(folder).free,
        }
    facts: Facts = {}
    for name, observe in observers.items():
        try:
            value = observe()
        except (OSError, psutil.Error, NotImplementedError):
            continue
        if value not in (None, ""):
            facts[name] = {"value": value, "how": "observed"}
    return facts


def usable_cores() -> int | None:
    """Cores this process may run on, which a container or taskset may have cut."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else psutil.cpu_count()


def cpu_model() -> str:
    """The processor's name, or nothing where the system does not say."""
    if sys.platform == "darwin":
        return _said(["/usr/sbin/sysctl", "-n", "machdep.cpu.brand_string"])
    for line in _read("/proc/cpuinfo").splitlines():
        key, _, value = line.partition(":")
        if key.strip() in ("model name", "Model", "cpu model"):
            return value.strip()
    return ""


def os_name() -> str:
    """The distribution and its version."""
    if sys.platform == "darwin":
        return f"macOS {platform.mac_ver()[0]}"
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", "")
    except OSError:
        return platform.system()


def virtualised() -> str | None:
    """What the machine is virtualised by; "no" where it says that it is not, None where it cannot be known."""
    if sys.platform == "darwin":
        said = _said(["/usr/sbin/sysctl", "-n", "kern.hv_vmm_present"])
        return {"1": "yes", "0": "no"}.get(said)
    if Path("/.dockerenv").exists() or Path("/run/.containerenv").exists():
        return "container"
    described = " ".join(_read(f"/sys/class/dmi/id/{name}") for name in ("sys_vendor", "product_name")).lower()
    if named := next((name for name in HYPERVISORS if name in described), ""):
        return named
    flags = next((line for line in _read("/proc/cpuinfo").splitlines() if line.startswith("flags")), "")
    if not flags:
        return None
    return "yes" if "hypervisor" in flags.split() else "no"


def network_bits_per_s() -> int | None:
    """The rate of the fastest network interface that is up; None where none states one, as virtual ones do."""
    found = psutil.net_if_stats()
    speeds = [one.speed for name, one in found.items() if one.isup and name != "lo" and 0 < one.speed < 65_535]
    return max(speeds) * 1_000_000 if speeds else None


def transparent_huge_pages() -> str:
    """Which memory gets them: always, madvise or never; nothing where the system does not say."""
    _, bracket, rest = _read("/sys/kernel/mm/transparent_hugepage/enabled").partition("[")
    return rest.partition("]")[0] if bracket else ""


def disk_device(folder: Path) -> str:
    """The device `folder` lies on, as the system names it."""
    real = folder.resolve()
    best = ""
    device = ""
    for part in psutil.disk_partitions(all=True):
        if (real == Path(part.mountpoint) or Path(part.mountpoint) in real.parents) and len(part.mountpoint) >= len(
            best
        ):
            best, device = part.mountpoint, part.device
    return device


def _read(path: str) -> str:
    try:
        return Path(path).read_text("utf-8", "replace").strip()
    except OSError:
        return ""


def _said(argv: list[str]) -> str:
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=COMMAND_TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip()
