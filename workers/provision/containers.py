"""One container of a server under test: its end, and what is known of it. No Django."""

import contextlib
import os
import time
from pathlib import Path
from typing import Any

from docker.errors import NotFound

from workers.processes import guardian


def remove_volume(engine: Any, name: str) -> None:
    """Deletes the volume; harmless where it is not there."""
    with contextlib.suppress(NotFound):
        engine.volumes.get(name).remove(force=True)


def remove_container(engine: Any, name: str) -> None:
    """Kills and deletes the container, with the volumes that its image asks for; harmless where it is not there."""
    with contextlib.suppress(NotFound):
        engine.containers.get(name).remove(force=True, v=True)


def wait_for_end(container: Any, patience_s: float) -> bool:
    """Whether the container has ended, or is gone, within the time."""
    end, pause_s = time.monotonic() + patience_s, 0.02
    while True:
        try:
            container.reload()
        except NotFound:
            return True
        if not container.attrs["State"]["Running"]:
            return True
        if time.monotonic() > end:
            return False
        time.sleep(pause_s)
        pause_s = min(pause_s * 1.5, 0.5)


def address_on(container: Any, network: str) -> str:
    """The container's address on a network of containers; one that has ended already has none, and needs none."""
    found = container.attrs["NetworkSettings"]["Networks"].get(network, {}).get("IPAddress", "")
    return str(found) or "127.0.0.1"


def process_here(container: Any) -> dict[str, object]:
    """Its main process, if the number that the engine says is that process on this machine too."""
    pid = int(container.attrs["State"]["Pid"])
    try:
        if container.id not in Path(f"/proc/{pid}/cgroup").read_text():
            return {}
    except OSError:
        return {}
    return {"pid": pid, "started": guardian.start_time(pid)}


def folder_here(engine: Any, volume: str) -> str:
    """Where the volume lies, for the probe of its disk; empty where this process cannot write there."""
    place = str(engine.volumes.get(volume).attrs.get("Mountpoint") or "")
    return place if place and os.access(place, os.W_OK) else ""
