"""The container engine of this machine: how it is reached, its refusals in plain words, and what it says of its
containers and volumes. No Django.
"""

import contextlib
import os
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import docker
import requests
from docker.errors import APIError, DockerException, NotFound

from runs.timeouts import CONTAINER_ENGINE_TIMEOUT_S
from workers.processes import guardian
from workers.provision.own_builds import OwnBuilds
from workers.provision.servers import ProvisionError

HOST_NETWORK = "host"
# What is known of containers and volumes by their labels. Labels are read by anybody who may ask the engine.
SITE_LABEL, DEPLOYMENT_LABEL = "org.benchsite.site", "org.benchsite.deployment"
IMAGE_LABEL = "org.benchsite.image"


class EngineError(ProvisionError):
    """The engine does not answer, or refused. The message says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerSite:
    """What an operator has settled about containers on the conductor's machine."""

    engine: str  # unix:///var/run/docker.sock
    mark: str  # tells this site's containers from those of other sites on the same engine
    network: str = HOST_NETWORK  # or the name of a network of containers which the load generators are on too
    pull: bool = False  # whether an image that is missing may be fetched while a server is provisioned
    memory_bytes: int = 0  # of each server; 0 for no limit
    cpus: float = 0.0  # of each server; 0 for no limit
    own_builds: OwnBuilds = field(default_factory=OwnBuilds)

    @property
    def on_host_network(self) -> bool:
        return self.network == HOST_NETWORK

    def name(self, deployment: str) -> str:
        """The name of a deployment's container and of its volume."""
        return f"benchsite-{self.mark}-{deployment}"

    def labels(self, deployment: str) -> dict[str, str]:
        return {SITE_LABEL: self.mark, DEPLOYMENT_LABEL: deployment}


@contextlib.contextmanager
def connected(engine: str) -> Iterator[Any]:
    """The engine for a few calls; whatever goes wrong inside is raised as EngineError.

    Every use opens its own short connection, so nothing idles while a run measures and an engine that was started
    again is no trouble.
    """
    if not engine.startswith("unix://"):
        raise EngineError(
            f"DOCKER_HOST is {engine}: clusters of containers run on the conductor's own machine, "
            "so name its socket, such as unix:///var/run/docker.sock."
        )

    _see_whether_it_listens(engine)
    try:
        client = docker.DockerClient(base_url=engine, timeout=CONTAINER_ENGINE_TIMEOUT_S)
    except DockerException as error:
        raise _silent(engine, error) from error

    try:
        yield client
    except APIError as error:
        raise EngineError(f"Docker refused: {error.explanation or error}") from error
    except (DockerException, requests.RequestException) as error:
        raise _silent(engine, error) from error
    finally:
        client.close()


def _see_whether_it_listens(engine: str) -> None:
    """The system's own reason where nobody does; the client would wrap it many times, and leave its socket open."""
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(CONTAINER_ENGINE_TIMEOUT_S)
        try:
            probe.connect(engine.removeprefix("unix://"))
        except OSError as error:
            raise _silent(engine, error) from error


def _silent(engine: str, error: Exception) -> EngineError:
    why = (isinstance(error, OSError) and error.strerror) or error
    return EngineError(
        f"Docker does not answer at {engine} ({why}). See that it runs (`systemctl status docker`) and that the "
        "conductor's account may use its socket (the group docker), or name another socket in DOCKER_HOST; "
        "then run this again."
    )


# --- Its containers and volumes ---


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
    address = container.attrs["NetworkSettings"]["Networks"].get(network, {}).get("IPAddress", "")
    return str(address) or "127.0.0.1"


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
    folder = str(engine.volumes.get(volume).attrs.get("Mountpoint") or "")
    if not folder or not os.access(folder, os.W_OK):
        return ""
    return folder
