"""Uploads by programs: a manifest and files become runs, once for each key, however often the request is repeated.

What is small is read, judged and stored at once, in one transaction with its key. What is large is kept with its key
for a worker, which goes the way of `working`.
"""

import hashlib
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.conf import settings
from django.db import DataError, IntegrityError, transaction
from django.utils import timezone

from benchsite.accounts.models import Team, User
from runs.models import Run, Upload, UploadKey
from runs.queue.team_usage import refuse_full_storage
from runs.results.recording.uploaded_runs import UploadedRun, judged_runs, keep_files, save_runs
from runs.uploads import keys, upload_lifecycle
from runs.uploads.inline import TooMuchAtOnce, read_at_once
from runs.uploads.manifest import Manifest
from runs.uploads.metadata import RunMetadata
from runs.uploads.reads import Reads, runs_in
from runs.uploads.team_metadata import build_metadata
from runs.uploads.upload_errors import ResultRefused, check_files, refused_run
from runs.uploads.upload_handlers import ReceivedFile
from runs.ycsb.errors import LimitExceeded, UnreadableFile, YcsbError
from runs.ycsb.file_grouping import RunFiles
from runs.ycsb.redact import allow_names

log = logging.getLogger(__name__)
State = Upload.State
NOTHING: Final = {"files": [], "runs": [], "more_runs": 0}  # `Upload.recognised` of what nobody is asked about
# Makes the body of the answer from what was stored.
Answer = Callable[[Upload, Sequence[Run], Sequence[UploadedRun]], Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class UploadRequest:
    """One upload as it was asked for."""

    team: Team
    user: User
    key: str
    manifest: Manifest
    files: Sequence[ReceivedFile]

    def fingerprint(self) -> str:
        """Equal for equal manifests and files, however the form around them was written."""
        stated = self.manifest.model_dump(mode="json", exclude_unset=True)
        files = sorted([file.name, file.digest.hexdigest()] for file in self.files)
        return hashlib.sha256(json.dumps([stated, files], sort_keys=True).encode()).hexdigest()

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files)

    @property
    def is_small(self) -> bool:
        return self.size <= settings.UPLOAD_AT_ONCE_BYTES


def upload(request: UploadRequest, answer: Answer) -> tuple[UploadKey, bool]:
    """Store it, unless its key was used before: the key, and whether it was.

    Raises KeyBusy, KeyReused, ManifestRefused, ResultRefused.
    """
    if request.is_small:
        try:
            return _store_now(request, answer)
        except TooMuchAtOnce:
            pass  # It unpacks to more than a request may read.
    return _keep_for_worker(request)


def judge_only(request: UploadRequest) -> tuple[RunMetadata, list[UploadedRun]]:
    """Judge an upload and store nothing. Raises ManifestRefused, ResultRefused."""
    refusal = "This is more than is judged in a request: upload it, and a worker reads it."
    if not request.is_small:
        raise ResultRefused("payload-too-large", refusal)
    try:
        metadata, _, runs = _judge(request, Upload(team=request.team, user=request.user))
    except TooMuchAtOnce:
        raise ResultRefused("payload-too-large", refusal) from None
    return metadata, runs


def _store_now(request: UploadRequest, answer: Answer) -> tuple[UploadKey, bool]:
    fingerprint = request.fingerprint()
    with transaction.atomic():
        if earlier := keys.hold(request.team, request.key, fingerprint):
            return earlier, True

        refuse_full_storage(request.team, request.size)
        row = Upload(team=request.team, user=request.user, size=request.size)
        metadata, reads, judged = _judge(request, row)
        try:
            row.state, row.saved_at, row.grouping = State.SAVED, timezone.now(), request.manifest.grouping
            row.manifest = request.manifest.model_dump(mode="json", exclude_unset=True)
            row.utc_offsets = request.manifest.utc_offsets
            row.stated = metadata.model_dump(mode="json")
            row.recognised = dict(NOTHING)
            files = upload_lifecycle.make_file_rows(reads.members.values(), row.pk)
            stored: list[UploadKey] = []

            def build_key(runs: Sequence[Run]) -> list[UploadKey]:
                body = answer(row, runs, judged)
                stored.append(
                    keys.make_row(request.team, request.key, fingerprint, upload=row, status=201, answer=body)
                )
                return stored

            keep_files(reads, judged)
            save_runs(row, metadata, judged, reads, before=([row], files), after=build_key)
        except (IntegrityError, DataError) as error:
            log.info("An upload was refused by the database: %s", str(error).splitlines()[0])
            raise ResultRefused("malformed-result", upload_lifecycle.IMPOSSIBLE) from error

    return stored[0], False


def _judge(request: UploadRequest, row: Upload) -> tuple[RunMetadata, Reads, list[UploadedRun]]:
    """All that can be known before anything is stored."""
    if not request.files:
        raise ResultRefused("validation-error", "Send at least one file as “files”.")

    try:
        with allow_names(request.team.harmless_properties):
            reads = read_at_once(
                [(file.name, file.read()) for file in request.files], most_expanded=settings.UPLOAD_EXPANDED_BYTES
            )
    except LimitExceeded as error:
        raise ResultRefused("payload-too-large", str(error)) from error

    check_files(reads)
    groups = runs_in(reads, request.manifest.grouping, request.manifest.utc_offsets)
    metadata = build_metadata(request.manifest, request.team, groups)
    try:
        return metadata, reads, judged_runs(row, metadata, groups, reads)
    except YcsbError as error:
        raise refused_run(reads, groups, error) from error


def _keep_for_worker(request: UploadRequest) -> tuple[UploadKey, bool]:
    """Keep the files with their key. A worker reads them, states what the manifest says, and saves the runs."""
    fingerprint = request.fingerprint()
    if earlier := keys.find(request.team, request.key, fingerprint):
        return earlier, True

    row, claim = upload_lifecycle.receive(
        request.team, request.user, [(file.name, file.content()) for file in request.files]
    )
    earlier = None
    try:
        with transaction.atomic():
            earlier = keys.hold(request.team, request.key, fingerprint)
            if earlier is None:
                manifest = request.manifest.model_dump(mode="json", exclude_unset=True)
                grouping = {"grouping": request.manifest.grouping, "utc_offsets": request.manifest.utc_offsets}
                upload_lifecycle.let_go(row.pk, claim, manifest=manifest, **grouping)
                key = keys.make_row(request.team, request.key, fingerprint, upload=row, status=202, answer={})
                key.save(force_insert=True)
    except (keys.KeyBusy, keys.KeyReused):
        upload_lifecycle.discard(row)
        raise

    if earlier is not None:
        upload_lifecycle.discard(row)  # Another request with the same key was quicker.
        return earlier, True

    row.refresh_from_db()
    return key, False


def stated_later(row: Upload, reads: Reads, groups: Sequence[RunFiles]) -> Mapping[str, object]:
    """The metadata of a large upload by its manifest, as JSON. Raises YcsbError."""
    try:
        check_files(reads)
    except ResultRefused as error:
        raise UnreadableFile(str(error)) from error
    return build_metadata(Manifest.model_validate(row.manifest), row.team, groups).model_dump(mode="json")
