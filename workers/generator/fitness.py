"""Whether this host can run a client: a load generator that cannot gets no run until it can."""

import socket
import subprocess
import tempfile
from collections.abc import Collection
from typing import Final

import psutil
from django.conf import settings

from benchsite.core.child_environment import child_environment
from benchsite.core.formatting import size
from runs.ycsb.command import JVM_OPTIONS
from workers.generator.guards import disk_problem
from workers.generator.messages import TOO_LITTLE_MEMORY
from workers.systems.manifests import GO_YCSB, ManifestError, find_binding, java_executable

# A client's work folder needs that at the least.
MIN_FREE_BYTES: Final = 1024**2
MIN_MEMORY_BYTES: Final = 256 * 1024**2  # what a client's JVM takes as it starts
JAVA_TIMEOUT_S: Final = 30
MAX_CHARACTERS: Final = 500  # characters of what Java says


def host_problem() -> str:
    """Why no client can be run here now: its disk, its memory, its ports. Empty where nothing is in the way."""
    settings.WORK_DIR.mkdir(parents=True, exist_ok=True)
    if problem := disk_problem(settings.WORK_DIR, "work folder"):
        return problem
    with tempfile.TemporaryFile(dir=settings.WORK_DIR) as file:
        file.write(bytes(MIN_FREE_BYTES))
    available = psutil.virtual_memory().available
    if available < MIN_MEMORY_BYTES:
        return TOO_LITTLE_MEMORY.format(available=size(available), needed=size(MIN_MEMORY_BYTES))
    with socket.socket() as probe:
        probe.bind(("", 0))  # fails where no local port is free
    return ""


def start_problem(bindings: Collection[str]) -> str:
    """Why a client with one of these bindings cannot be run here; empty where nothing is in the way."""
    try:
        problem = host_problem()
        if not problem and not all(binding.startswith(GO_YCSB) for binding in bindings):
            problem = _java_problem()
        for binding in bindings:
            if "/" not in binding:  # A distribution is too large to be read every few seconds.
                find_binding(settings.YCSB_DIR, settings.YCSB_HOMES, binding)
    except (ManifestError, OSError) as error:
        return str(error)
    return problem


def _java_problem() -> str:
    """Java's message where it does not start with the memory of a client. Raises ManifestError where there is none."""
    java = java_executable()
    result = subprocess.run(
        [java, *JVM_OPTIONS, "-version"],
        env=child_environment(), capture_output=True, text=True, timeout=JAVA_TIMEOUT_S, check=False,
    )  # fmt: skip
    if not result.returncode:
        return ""
    return f"{java} does not start: {' '.join((result.stdout + result.stderr).split())[:MAX_CHARACTERS]}"
