"""One container of a server under test: what it may, what it is given, and what is known of it. No Django."""

import contextlib
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from docker.errors import NotFound
from docker.types import LogConfig, Mount

from workers import guardian
from workers.provision.engine import ContainerSite
from workers.provision.images import Image

SHARED_MEMORY = "256m"
LOG = LogConfig(type="json-file", config={"max-size": "10m", "max-file": "3"})


def create_container(
    engine: Any,
    site: ContainerSite,
    deployment: str,
    *,
    image: Image,
    argv: list[str],
    folder: str,
    user: str,
    stop_signal: str,
    node: str = "",
    suffix: str = "",
    cpus: Sequence[int] = (),
) -> Any:
    """A container, not yet started, with no more rights than a server needs.

    The node's volume lies at `folder`, and is made where it is missing. `node` tells the nodes of one deployment apart,
    and `suffix` several containers over one volume. `cpus` are those that it may use; empty: all.
    """
    name, labels = site.name(deployment) + node, site.labels(deployment)
    engine.volumes.create(name, labels=labels)
    remove_container(engine, name + suffix)
    limits: dict[str, Any] = {}
    if site.memory_bytes:
        # Memory beyond the limit ends the server rather than being swapped, which no measurement would show.
        limits |= {"mem_limit": site.memory_bytes, "memswap_limit": site.memory_bytes}
    if site.cpus:
        limits["nano_cpus"] = round(site.cpus * 1e9)
    if cpus:
        limits["cpuset_cpus"] = ",".join(map(str, cpus))
    return engine.containers.create(
        image.image_id,  # What was looked at, whatever the tag names a moment later.
        name=name + suffix,
        entrypoint=argv[:1],
        command=argv[1:],
        user=user,
        working_dir=folder,
        environment={"LC_ALL": "C", "TZ": "UTC"},
        labels=labels,
        mounts=[Mount(folder, name, type="volume", no_copy=True)],
        network_mode=site.network,
        read_only=True,
        tmpfs={"/tmp": "size=64m"},
        shm_size=SHARED_MEMORY,
        cap_drop=["ALL"],
        security_opt=["no-new-privileges"],
        stop_signal=f"SIG{stop_signal}",
        healthcheck={"test": ["NONE"]},  # The image's own would start a program beside the measurement.
        log_config=LOG,
        **limits,
    )


def containers_of(engine: Any, site: ContainerSite, deployment: str) -> list[Any]:
    """All containers of a deployment, running or not."""
    return list(engine.containers.list(all=True, filters=_filters(site, deployment), ignore_removed=True))


def volumes_of(engine: Any, site: ContainerSite, deployment: str) -> list[Any]:
    return list(engine.volumes.list(filters=_filters(site, deployment)))


def _filters(site: ContainerSite, deployment: str) -> dict[str, list[str]]:
    return {"label": [f"{name}={value}" for name, value in site.labels(deployment).items()]}


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


def facts_of(engine: Any, container: Any, image: Image) -> dict[str, object]:
    """What ran, and within which limits, as the engine says; plain JSON for a run's evidence."""
    limits = container.attrs["HostConfig"]
    return {
        **image.as_dict(),
        "container": container.id,
        "engine": engine.version()["Version"],
        "network": limits["NetworkMode"],
        "memory_bytes": limits.get("Memory") or None,
        "cpus": (limits.get("NanoCpus") or 0) / 1e9 or None,
    }
