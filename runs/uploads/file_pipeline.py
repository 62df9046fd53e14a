"""Files to what a person is shown: unpacked, redacted, read, grouped into runs. Memory stays bounded throughout.

First every file is unpacked and written again without its secrets; then only those copies are read, here and when the
runs are saved. So nothing secret can get any further, and whatever is shown can be computed again from what is kept.
"""

import hashlib
import io
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, BinaryIO, get_args

import msgspec
import numpy as np
import zstandard

from runs.models import Upload, UploadedFile
from runs.results import artifacts
from runs.uploads import staging, upload_handlers, upload_lifecycle
from runs.uploads.file_redaction import without_secrets
from runs.uploads.recognition import MAX_RUNS, FoundRun, Recognised, describe_file, describe_run, shortened
from runs.uploads.upload_lifecycle import own_name
from runs.ycsb.block import Note
from runs.ycsb.clients import merge_run
from runs.ycsb.errors import UnreadableFile, YcsbError
from runs.ycsb.files import Member, open_members
from runs.ycsb.grouping import RunFiles, group, is_named
from runs.ycsb.grouping_notes import GroupingNote
from runs.ycsb.hdr import IntervalLog
from runs.ycsb.hints import read_hints
from runs.ycsb.readers import read_file
from runs.ycsb.readers.results import ReadFile
from runs.ycsb.redact import allow_names

# Of one upload, all archives unpacked.
MAX_MEMBERS = 300
REPORT_EVERY_S = 1.0
# What a damaged file did to the runs in it.
ALL_DOUBTFUL, END_MISSING = "doubtful", "cut"


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
State = Callable[[Upload, "Reads", Sequence[RunFiles]], Mapping[str, object]]


def read(upload: Upload, claim: uuid.UUID, state: State | None = None) -> None:
    """READING -> RECOGNISED, whatever the files hold, or -> COMPLETED with what `state` says. Raises UploadGone."""
    with allow_names(upload.team.harmless_properties):
        _read_all(upload, claim, state)


def _read_all(upload: Upload, claim: uuid.UUID, state: State | None) -> None:
    progress = Progress(upload.pk, claim)
    stored = list(upload.files.all())
    # What was read before is only to be grouped otherwise.
    is_read = any(file.sha256 or file.error for file in stored)
    files = stored
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


@dataclass(frozen=True, slots=True)
class Reads:
    """The redacted files of an upload, read.

    However long a histogram log is, it stands here as one interval over all of it: that says whose it is and what it
    counts, and leaves memory bounded however many files there are. Of a few small files the logs are `whole`.
    """

    members: Mapping[str, UploadedFile]
    files: tuple[ReadFile, ...]
    whole: bool = False

    def origin(self, log: IntervalLog) -> tuple[ReadFile, IntervalLog]:
        """Where this very log stands, and the name it has there: clients' logs are given common names."""
        for file in self.files:
            for stored_log in file.logs:
                if stored_log.count is log.count:
                    return file, stored_log
        raise LookupError(log.operation)


def read_members(kept: Sequence[UploadedFile], progress: Progress | None = None, *, whole: bool = False) -> Reads:
    """Every file, one after the other; `whole` for those that are small enough to stay in memory."""
    if progress is not None:
        progress.begin("reading", sum(member.size for member in kept))
    files = []
    for member in kept:
        report = None
        if progress is not None:
            report = progress.file(member.size)
        file = None
        if not whole:
            file = _read_before(member)
        if file is None:
            file = _read(member, report, summed=not whole)
            if not whole:
                file = replace(file, runs=tuple(replace(run, logs=tuple(map(overall, run.logs))) for run in file.runs))
                _keep(member, file)
        elif report is not None:
            report(member.size)
        files.append(file)
    return Reads({member.name: member for member in kept}, tuple(files), whole)


def read_whole(logs: Sequence[IntervalLog], reads: Reads) -> tuple[IntervalLog, ...]:
    """These logs with all their intervals, read from their files again."""
    origins = [reads.origin(log) for log in logs]
    whole: dict[int, IntervalLog] = {}
    for file in {file.name: file for file, _ in origins}.values():
        again = _read(reads.members[file.name], None).logs
        whole |= zip(map(id, file.logs), again, strict=True)
    pairs = zip(logs, origins, strict=True)
    return tuple(replace(whole[id(stored)], operation=log.operation) for log, (_, stored) in pairs)


def _keep(member: UploadedFile, file: ReadFile) -> None:
    """Grouping an upload otherwise, and saving it, need the sums of its logs again, and decoding takes long."""
    if member.path and file.format == "hdr-log":
        staging.keep_sums(member.path, msgspec.msgpack.encode(file, enc_hook=lambda array: array.tolist()))


def _read_before(member: UploadedFile) -> ReadFile | None:
    """The file that `_keep` stored for this member; None without one, or where a process died in the middle of it."""
    kept = None
    if member.path:
        kept = staging.read_sums(member.path)
    try:
        if kept is not None:
            return msgspec.msgpack.decode(kept, type=ReadFile, dec_hook=_array)
        return None
    except msgspec.DecodeError:
        return None


def _array(kind: Any, values: Any) -> "np.ndarray[Any, Any]":
    """The type of a column is np.ndarray[Any, np.dtype[np.float64]]."""
    return np.array(values, dtype=get_args(get_args(kind)[1])[0])


def overall(log: IntervalLog) -> IntervalLog:
    """The log as one interval from its beginning to its end."""
    if not len(log):
        return log
    start_s = log.start_s.min()
    index, count = log.histogram().sparse()
    return replace(
        log,
        start_s=np.array([start_s]),
        length_s=np.array([(log.start_s + log.length_s).max() - start_s]),
        max_us=np.array([log.max_us.max()]),
        offsets=np.array([0, index.size]),
        index=index.astype(np.int32),
        count=count,
    )


def read_chunks(member: UploadedFile) -> Iterator[bytes]:
    """The content of a redacted file, piece by piece."""
    with _opened(member) as stream:
        while piece := stream.read(artifacts.CHUNK):
            yield piece


def _opened(member: UploadedFile) -> AbstractContextManager[BinaryIO]:
    """Saved members are among the artifacts, others in the storage of uploads."""
    if member.content is not None:
        return nullcontext(io.BytesIO(member.content))
    if member.path:
        return staging.opened(member.path)
    return artifacts.opened(member.sha256)


def _read(member: UploadedFile, report: Callable[[int], None] | None, *, summed: bool = False) -> ReadFile:
    if member.error:
        return ReadFile(name=member.name, error=member.error, size=member.size)
    noticed = tuple(Note(note["text"], note["line"]) for note in member.notes)
    with _opened(member) as stream:
        (read,) = read_file(member.name, stream, progress=report, summed=summed)
    runs = read.runs
    if member.damage:
        doubtful = runs
        if member.damage != ALL_DOUBTFUL:
            doubtful = runs[-1:]
        runs = tuple(replace(run, complete=False) if run in doubtful else run for run in runs)
    return replace(read, runs=runs, warnings=(*noticed, *read.warnings))


def runs_in(reads: Reads, grouping: str, utc_offsets: Mapping[str, str] | None = None) -> list[RunFiles]:
    """The runs that these files are of."""
    offsets_s = {name: parse_utc_offset(text) for name, text in (utc_offsets or {}).items()}
    if grouping == Upload.Grouping.APART:
        runs = list(chain.from_iterable(group([file], utc_offsets_s=offsets_s) for file in reads.files))
    else:
        together = grouping == Upload.Grouping.TOGETHER
        runs = list(group(reads.files, together=together, utc_offsets_s=offsets_s))
    clients = list(chain.from_iterable(run.clients for run in runs))
    notes = []
    for name in offsets_s:
        if not any(is_named(name, client) for client in clients):
            notes.append(GroupingNote("offset_of_no_client", (), {"name": name}))
    return [replace(run, notes=(*run.notes, *notes)) for run in runs]


def parse_utc_offset(text: str) -> float:
    """Seconds of an offset from UTC as it is stated: +02:00."""
    hours, minutes = text[1:].split(":")
    return (int(hours) * 3600 + int(minutes) * 60) * (-1 if text.startswith("-") else 1)


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


def redact_all(upload_id: uuid.UUID, stored: Sequence[UploadedFile], progress: Progress) -> list[UploadedFile]:
    """Every file unpacked, and kept without its secrets; one that cannot be unpacked keeps the reason."""
    progress.begin("unpacking, and taking secrets out", sum(original.size for original in stored))
    kept: list[UploadedFile] = []
    names: set[str] = set()
    for original in stored:
        with staging.opened(original.path) as stream:
            try:
                for member in open_members(original.name, stream, progress=progress.file(original.size)):
                    if len(kept) >= MAX_MEMBERS:
                        raise UnreadableFile(
                            f"There are more than {MAX_MEMBERS:,} files; the rest was not looked at: bring fewer."
                        )
                    kept.append(_redacted_into_storage(upload_id, len(kept), member, own_name(member.name, names)))
                    names.add(kept[-1].name)
            except UnreadableFile as error:
                kept.append(UploadedFile(name=own_name(original.name, names), size=original.size, error=str(error)))
                names.add(kept[-1].name)
    return kept


def _redacted_into_storage(upload_id: uuid.UUID, position: int, member: Member, name: str) -> UploadedFile:
    with tempfile.TemporaryFile(dir=upload_handlers.folder()) as draft:
        with zstandard.ZstdCompressor(level=3).stream_writer(draft, closefd=False) as compressed:
            read = redacted(member, name, compressed.write)
        if read.error:
            return read
        draft.seek(0)
        read.path = staging.keep_redacted(upload_id, position, draft)
        return read


def redacted(
    member: Member, name: str, write: Callable[[bytes], object], *, raises: tuple[type[Exception], ...] = ()
) -> UploadedFile:
    """One file without its secrets, block by block into `write`; what is wrong with it stands in its `error`.

    Only errors of the classes `raises` are raised.
    """
    digest, size, hidden, damage = hashlib.sha256(), 0, 0, ""
    try:
        for block in member.blocks():
            content, lines = without_secrets(block.data)
            if block.unterminated:
                # Ended with a line feed it would be read as a whole line, and its last value may be cut.
                content = content.removesuffix(b"\n")
            write(content)
            digest.update(content)
            size, hidden = size + len(content), hidden + lines
    except raises:
        raise
    except UnreadableFile as error:
        return UploadedFile(name=name, size=member.size, error=str(error))
    if member.damage is not None:
        damage = END_MISSING
        if member.damage.is_doubtful:
            damage = ALL_DOUBTFUL
    notes = [{"text": note.text, "line": note.line} for note in member.notes]
    return UploadedFile(
        name=name, size=size, sha256=digest.hexdigest(), redacted_lines=hidden, notes=notes, damage=damage
    )
