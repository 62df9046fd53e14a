"""The image a container is made of: there already, or fetched where the operator lets the conductor do so. No Django.

A tag names different images over time: what ran is told by its digest alone, which is kept with the run.
"""

from dataclasses import dataclass, field
from typing import Any

from docker.errors import APIError, ImageNotFound

from runs.builds import check_commit
from workers.provision.servers import ServerDidNotStart

COMMIT_LABEL = "org.opencontainers.image.revision"


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """An image of this machine."""

    reference: str  # repository:tag, as it was asked for
    image_id: str  # digest of its configuration, which every image has
    digest: str  # as its registry knows it; empty for one that was built here
    commit: str = field(repr=False)  # that its label states; empty: none


def find_image(engine: Any, reference: str, image_id: str = "", *, pull: bool, is_build: bool = False) -> Image:
    """The image on this machine, or the one with this id whatever the reference names now. With `pull` it is fetched
    where it is missing, and a build from a registry anew. Raises ServerDidNotStart naming the command that fetches it.
    """
    try:
        image = engine.images.get(image_id or reference)
    except ImageNotFound as error:
        if not pull:
            raise ServerDidNotStart(
                f"The image {reference} is not on the conductor's machine: run `docker pull {reference}` there. "
                "With BENCHSITE_DOCKER_PULL=True the conductor does so itself when it provisions a server."
            ) from error
        image = _pull(engine, reference)
    else:
        if pull and is_build and not image_id and image.attrs.get("RepoDigests"):
            image = _pull(engine, reference)

    digests = image.attrs.get("RepoDigests") or [""]
    digest = next((name for name in digests if reference.startswith(name.partition("@")[0])), digests[0])
    return Image(reference=reference, image_id=image.id, digest=digest, commit=_read_commit(image))


def _read_commit(image: Any) -> str:
    try:
        return check_commit(image.labels.get(COMMIT_LABEL, ""))
    except ValueError:
        return ""


def _pull(engine: Any, reference: str) -> Any:
    try:
        return engine.images.pull(reference)
    except APIError as error:
        raise ServerDidNotStart(
            f"The image {reference} could not be pulled: {error.explanation or error}. "
            "See whether its registry has that tag and this machine reaches it."
        ) from error
