"""Writes docker-compose.digests.yml: every image that is not built here, with its tag and digest, for a release.

    python .ci/write_digests.py
    docker compose --file docker-compose.yml --file docker-compose.digests.yml up --build --detach

The digests come from the registry by way of `docker buildx imagetools inspect`. Standard library only.
"""

import re
import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
OUTPUT: Final = "docker-compose.digests.yml"
DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")
SERVICE: Final = re.compile(r"^  ([\w-]+):(?: &\w+)?\n((?:    .*\n|\n)+)", re.MULTILINE)
IMAGE: Final = re.compile(r"^    image: (\S+)$", re.MULTILINE)
BASE: Final = re.compile(r"^ARG PYTHON_IMAGE=(\S+)$", re.MULTILINE)


def images_of_services(compose: str) -> dict[str, str]:
    """Service -> image, of the services whose image is somebody else's."""
    services = compose.partition("\nservices:\n")[2].partition("\nnetworks:\n")[0]
    images = {name: IMAGE.search(body) for name, body in SERVICE.findall(services)}
    return {name: image[1] for name, image in images.items() if image}


def built_services(compose: str) -> list[str]:
    """The services that build the image of this Dockerfile."""
    return [name for name, body in SERVICE.findall(compose) if re.search(r"^    build:", body, re.MULTILINE)]


def fetch_digest(image: str) -> str:
    """Raises RuntimeError where the registry does not answer with one."""
    command = ["docker", "buildx", "imagetools", "inspect", image, "--format", "{{.Manifest.Digest}}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    digest = done.stdout.strip()
    if done.returncode or not DIGEST.fullmatch(digest):
        raise RuntimeError(f"No digest of {image}: {(done.stderr or done.stdout).strip()[:300]}")
    return digest


def document(compose: str, dockerfile: str) -> str:
    """The override file. Raises RuntimeError."""
    base = BASE.search(dockerfile)
    if base is None:
        raise RuntimeError("The Dockerfile has no ARG PYTHON_IMAGE.")
    images = images_of_services(compose)
    pinned = {image: f"{image}@{fetch_digest(image)}" for image in {base[1], *images.values()}}
    lines = ["# Written by `make release`.", "services:"]
    lines += [f"  {name}:\n    image: {pinned[image]}" for name, image in sorted(images.items())]
    build = f'    build: {{args: {{PYTHON_IMAGE: "{pinned[base[1]]}"}}}}'
    lines += [f"  {name}:\n{build}" for name in sorted(built_services(compose))]
    return "\n".join(lines) + "\n"


def main() -> int:
    try:
        text = document((ROOT / "docker-compose.yml").read_text(), (ROOT / "Dockerfile").read_text())
    except (RuntimeError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    (ROOT / OUTPUT).write_text(text)
    print(f"Wrote {OUTPUT}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
