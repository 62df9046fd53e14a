"""The container a server ran in, in words, from a run's evidence."""

from collections.abc import Mapping
from typing import Any

from benchsite.formatting import grouped, size

DIGITS = 12  # of an id, which is unique enough for the eye


def container_of(evidence: Mapping[str, Any]) -> dict[str, str] | None:
    """What a page says of it; None for a server that ran in no container."""
    found = evidence.get("container")
    if not isinstance(found, Mapping) or not found.get("reference"):
        return None
    digest = str(found.get("digest") or "").partition("@")[2]
    return {
        "image": str(found["reference"]),
        # The only name of an image that always means the same one.
        "digest": digest or str(found.get("image_id") or ""),
        "digest_of": "digest of the registry" if digest else "image id (it came from no registry)",
        "container": str(found.get("container") or "")[:DIGITS],
        "circumstances": ", ".join(_circumstances(found)),
    }


def _circumstances(found: Mapping[str, Any]) -> list[str]:
    network = found.get("network")
    memory, cpus = found.get("memory_bytes"), found.get("cpus")
    return [
        f"Docker {found.get('engine') or 'of an unknown version'}",
        "host network" if network == "host" else f"network {network}",
        f"memory limited to {size(memory)}" if memory else "no limit of memory",
        f"CPUs limited to {grouped(cpus, 2).rstrip('0').rstrip('.')}" if cpus else "no limit of CPUs",
    ]
