"""Files to what a person is shown: unpacked, redacted, read, grouped into runs. Memory stays bounded throughout.

First every file is unpacked and written again without its secrets; then only those copies are read, here and when the
runs are saved. So nothing secret can get any further, and whatever is shown can be computed again from what is kept.
"""

import tempfile
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from itertools import chain
from typing import Any, BinaryIO, get_args

import msgspec
import numpy as np
import zstandard

from runs.models import Upload, UploadedFile
from runs.results import artifacts
from runs.uploads import staging, upload_handlers, upload_lifecycle
from runs.uploads.reads import (
    MAX_MEMBERS,
    Reads,
    RedactedFile,
    RedactedMember,
    open_content,
    own_name,
    read_member,
    redact_member,
    runs_in,
)
from runs.uploads.recognition import MAX_RUNS, FoundRun, Recognised, describe_file, describe_run, shortened
from runs.ycsb.clients import merge_run
from runs.ycsb.errors import UnreadableFile, YcsbError
from runs.ycsb.file_grouping import RunFiles
from runs.ycsb.files import Member, open_members
from runs.ycsb.form_defaults import read_hints
from runs.ycsb.hdr import sum_up
from runs.ycsb.readers.results import ReadFile
from runs.ycsb.redact import allow_names

REPORT_EVERY_S = 1.0


class Progress:
    """Tells the upload's row how far its reader is, at most once a second. Raises UploadGone where it is gone."""

    def __init__(self, upload_id: uuid.UUID, claim: uuid.UUID) -> None:
        self.upload_id, self.claim = upload_id, claim
        self.step, self.total, self.before, self.done = "", 0, 0, 0
        self.reported_at = 0.0

    def begin(self, step: str, total: int) -> None:
        """A step of so many bytes."""
        self.step, self.total, self.before, self.done = step, total, 0, 0
        self._tell()

    def file(self, size: int) -> Callable[[int], None]:
        """For one file of the step: what it returns is told how many bytes of it are done."""
        self.before, self.done = self.before + self.done, 0

        def within(done: int) -> None:
            self.done = min(done, size)
            if time.monotonic() - self.reported_at >= REPORT_EVERY_S:
                self._tell()

        return within

    def _tell(self) -> None:
        self.reported_at = time.monotonic()
        upload_lifecycle.beat(
            self.upload_id, self.claim, step=self.step, bytes_done=self.before + self.done, bytes_total=self.total
        )


# What a manifest says of the runs that were found; raises YcsbError.
State = Callable[[Upload, Reads, Sequence[RunFiles]], Mapping[str, object]]


def read(upload: Upload, claim: uuid.UUID, state: State | None = None) -> None:
    """READING -> RECOGNISED, whatever the files hold, or -> COMPLETED with what `state` says. Raises UploadGone."""
    with allow_names(upload.team.harmless_properties):
        _read_all(upload, claim, state)


def _read_all(upload: Upload, claim: uuid.UUID, state: State | None) -> None:
    progress = Progress(upload.pk, claim)
    stored = list(upload.files.all())
    # What was read before is only to be grouped otherwise.
    is_read = any(file.sha256 or file.error for file in stored)
    files: Sequence[RedactedMember] = stored
    if not is_read:
        files = redact_all(upload.pk, stored, progress)
    reads = read_members(files, progress)
    stated = None
    if state is not None:
        stated = state(upload, reads, runs_in(reads, upload.grouping, upload.utc_offsets))
    recognised = recognise(reads, upload.grouping, upload.utc_offsets)
    upload_lifecycle.recognise(upload.pk, claim, files, recognised, stated)
    if not is_read:
        for file in stored:
            staging.drop(file.path)


def read_members(members: Sequence[RedactedMember], progress: Progress | None = None) -> Reads:
    """Every file, one after the other."""
    if progress is not None:
        progress.begin("reading", sum(member.size for member in members))
    files = []
    for member in members:
        report = progress.file(member.size) if progress else None
        file = _read_before(member)
        if file is None:
            file = read_member(member, open_stored, report, summed=True)
            file = replace(file, runs=tuple(replace(run, logs=tuple(map(sum_up, run.logs))) for run in file.runs))
            _keep(member, file)
        elif report is not None:
            report(member.size)
        files.append(file)

    return Reads({member.name: member for member in members}, tuple(files), opener=open_stored)


def open_stored(member: RedactedMember) -> AbstractContextManager[BinaryIO]:
    """Saved members are among the artifacts, others in the storage of uploads or in memory."""
    if member.content is not None:
        return open_content(member)
    if member.path:
        return staging.opened(member.path)
    return artifacts.opened(member.sha256)


def _keep(member: RedactedMember, file: ReadFile) -> None:
    """Grouping an upload otherwise, and saving it, need the sums of its logs again, and decoding takes long."""
    if member.path and file.format == "hdr-log":
        staging.keep_sums(member.path, msgspec.msgpack.encode(file, enc_hook=lambda array: array.tolist()))


def _read_before(member: RedactedMember) -> ReadFile | None:
    """The file that `_keep` stored for this member; None without one, or where a process died in the middle of it."""
    content = staging.read_sums(member.path) if member.path else None
    if content is None:
        return None
    try:
        return msgspec.msgpack.decode(content, type=ReadFile, dec_hook=_array)
    except msgspec.DecodeError:
        return None


def _array(kind: Any, values: Any) -> "np.ndarray[Any, Any]":
    """The type of a column is np.ndarray[Any, np.dtype[np.float64]]."""
    return np.array(values, dtype=get_args(get_args(kind)[1])[0])


def recognise(reads: Reads, grouping: str, utc_offsets: Mapping[str, str] | None = None) -> Recognised:
    """`Upload.recognised`: shown before anything is saved."""
    groups = runs_in(reads, grouping, utc_offsets)
    used = set(chain.from_iterable(run.names for run in groups))
    files = [replace(file, error=None) if file.name in used else file for file in reads.files]
    return {
        "files": shortened([describe_file(file, reads.members[file.name].redacted_lines) for file in files]),
        "runs": [_recognise_run(run) for run in groups[:MAX_RUNS]],
        "more_runs": max(len(groups) - MAX_RUNS, 0),
    }


def _recognise_run(run: RunFiles) -> FoundRun:
    hints = read_hints(run.summaries)
    try:
        return describe_run(run, merge_run(run), hints)
    except YcsbError as error:
        return describe_run(run, error, hints)


def redact_all(upload_id: uuid.UUID, stored: Sequence[UploadedFile], progress: Progress) -> list[RedactedFile]:
    """Every file unpacked, and kept without its secrets; one that cannot be unpacked keeps the reason."""
    progress.begin("unpacking, and taking secrets out", sum(original.size for original in stored))
    redacted: list[RedactedFile] = []
    names: set[str] = set()
    for original in stored:
        with staging.opened(original.path) as stream:
            try:
                for member in open_members(original.name, stream, progress=progress.file(original.size)):
                    if len(redacted) >= MAX_MEMBERS:
                        raise UnreadableFile(
                            f"There are more than {MAX_MEMBERS:,} files; the rest was not looked at: bring fewer."
                        )
                    redacted.append(
                        _redacted_into_storage(upload_id, len(redacted), member, own_name(member.name, names))
                    )
                    names.add(redacted[-1].name)
            except UnreadableFile as error:
                redacted.append(RedactedFile(name=own_name(original.name, names), size=original.size, error=str(error)))
                names.add(redacted[-1].name)

    return redacted


def _redacted_into_storage(upload_id: uuid.UUID, position: int, member: Member, name: str) -> RedactedFile:
    with tempfile.TemporaryFile(dir=upload_handlers.folder()) as draft:
        with zstandard.ZstdCompressor(level=3).stream_writer(draft, closefd=False) as compressed:
            read = redact_member(member, name, compressed.write)
        if read.error:
            return read
        draft.seek(0)
        read.path = staging.keep_redacted(upload_id, position, draft)
        return read
