"""The image a container is made of: there already, or fetched where the operator lets the conductor do so. No Django.

A tag names different images over time: what ran is told by its digest alone, which is kept with the run.
"""

from dataclasses import dataclass
from typing import Any

from docker.errors import APIError, ImageNotFound

from workers.provision.servers import ServerDidNotStart


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """An image of this machine."""

    reference: str  # repository:tag, as it was asked for
    image_id: str  # digest of its configuration, which every image has
    digest: str  # as its registry knows it; empty for one that was built here


def find_image(engine: Any, reference: str, *, pull: bool) -> Image:
    """The image on this machine. Raises ServerDidNotStart naming the command that fetches it."""
    try:
        found = engine.images.get(reference)
    except ImageNotFound as error:
        if not pull:
            raise ServerDidNotStart(
                f"The image {reference} is not on the conductor's machine: run `docker pull {reference}` there. "
                "With BENCHSITE_DOCKER_PULL=True the conductor does so itself when it provisions a server."
            ) from error
        found = _pull(engine, reference)
    digests = found.attrs.get("RepoDigests") or [""]
    repository = reference.partition(":")[0]
    digest = next((name for name in digests if name.partition("@")[0] == repository), digests[0])
    return Image(reference=reference, image_id=found.id, digest=digest)


def _pull(engine: Any, reference: str) -> Any:
    try:
        return engine.images.pull(reference)
    except APIError as error:
        raise ServerDidNotStart(
            f"The image {reference} could not be pulled: {error.explanation or error}. "
            "See whether its registry has that tag and this machine reaches it."
        ) from error
