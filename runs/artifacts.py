"""Artifacts: content-addressed, zstd-compressed files behind Django's storage API, redacted before they are hashed."""

import hashlib
from io import BytesIO

import zstandard
from django.core.exceptions import ImproperlyConfigured
from django.core.files.base import ContentFile
from django.core.files.storage import Storage, storages

from runs.models import Artifact, ClientRun, Run
from runs.ycsb.redact import redact

# A worker that does not find this file sees another folder than the site does.
MARKER = "benchsite-artifacts"
TEXT_KINDS = frozenset({"summary", "stdout", "stderr", "properties", "server_config", "server_log"})


def storage() -> Storage:
    return storages["artifacts"]


def mark_storage() -> None:
    """Written by the site when it starts."""
    if not storage().exists(MARKER):
        storage().save(MARKER, ContentFile(b"Artifacts of a Benchsite.\n"))


def check_storage() -> None:
    """Raises ImproperlyConfigured in a worker that cannot see the site's artifacts."""
    if not storage().exists(MARKER):
        raise ImproperlyConfigured(
            "The artifact storage is not the site's: its marker file is missing. On another machine than the web "
            "server's, share the folder (BENCHSITE_ARTIFACTS) or set STORAGES['artifacts'] to an S3-compatible backend."
        )


def store(run: Run, kind: str, name: str, content: bytes, client_run: ClientRun | None = None) -> Artifact:
    """Keep one file of a run; storing the same name again replaces the row, never the content of another run."""
    if kind in TEXT_KINDS:
        content = redact(content.decode("utf-8", errors="replace")).encode()
    digest = hashlib.sha256(content).hexdigest()
    path = _path(digest)
    if not storage().exists(path):
        storage().save(path, ContentFile(zstandard.ZstdCompressor(level=3).compress(content)))
    artifact, _ = Artifact.objects.update_or_create(
        run=run,
        client_run=client_run,
        kind=kind,
        name=name,
        defaults={"team_id": run.team_id, "sha256": digest, "size": len(content)},
    )
    return artifact


def open_artifact(artifact: Artifact) -> bytes:
    """The content, decompressed."""
    with storage().open(_path(artifact.sha256)) as stored:
        return zstandard.ZstdDecompressor().stream_reader(BytesIO(stored.read())).read()


def _path(digest: str) -> str:
    return f"{digest[:2]}/{digest[2:]}.zst"
