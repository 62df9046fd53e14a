"""The life of an upload. The only writer of `Upload.state`.

    RECEIVED -> READING -> RECOGNISED -> COMPLETED -> SAVING -> SAVED     (with a manifest: READING -> COMPLETED)
                   |            ^                        |
                 FAILED         +-- could not be saved --+

Of a saved upload, `continue_with_rest` makes another one for the runs that were not selected.

Whoever works on an upload (the request it came with, or a worker) holds a random claim, on which each of its writes is
fenced. A claim that falls silent is taken away: the upload waits for a worker again, once; then it is given up. Nothing
is stored in halves: what was read is written in one transaction, and so are the runs. Time is PostgreSQL's own.
"""

import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from django.core.files.base import File
from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now

from benchsite.accounts.models import Team, User
from runs.models import Upload, UploadedFile
from runs.queue.team_usage import refuse_full_storage
from runs.timeouts import UPLOAD_SILENT_AFTER
from runs.uploads import keys, staging, upload_handlers
from runs.uploads.messages import SAVED_BEFORE
from runs.uploads.reads import RedactedMember, own_name

State = Upload.State
# Up to this many bytes, as they come, are read in the request; more wait for a worker.
MAX_IN_REQUEST = 1024**2
# What nobody has saved by then is dropped.
KEPT_FOR = timedelta(days=1)
MAX_ATTEMPTS = 2
# What the row of a file has of the file that was read.
MEMBER_FIELDS = ("name", "size", "path", "sha256", "redacted_lines", "error", "notes", "damage")
WORK = {State.RECEIVED: State.READING, State.COMPLETED: State.SAVING}
GAVE_UP = (
    "The reader was lost twice (killed, perhaps for want of memory), and nothing was stored. Import fewer files at a "
    "time, or tell an operator of this site."
)
IMPOSSIBLE = "These files state something impossible: a negative count, or a number beyond anything measured."
BROKE_OFF = "The files did not arrive completely: import them again."


class UploadGone(Exception):
    """This worker no longer owns the upload: it was discarded, or its claim was taken for dead."""


def make_file_rows(members: Iterable[RedactedMember], upload_id: uuid.UUID) -> list[UploadedFile]:
    """Files that were read, as new rows of their upload in this order; not yet stored."""
    return [
        UploadedFile(upload_id=upload_id, position=position, **{name: getattr(member, name) for name in MEMBER_FIELDS})
        for position, member in enumerate(members)
    ]


def receive(team: Team, user: User, files: Sequence[tuple[str, "File[bytes]"]]) -> tuple[Upload, uuid.UUID]:
    """Keep the files of a request, which holds the claim until it lets go of what is complete."""
    mine = uuid.uuid4()
    named: dict[str, File[bytes]] = {}
    for name, file in files:
        named[own_name(name, named)] = file

    # The row comes first: a folder without one is a stray, and is dropped.
    size = sum(file.size for _, file in files)
    refuse_full_storage(team, size)
    upload = Upload.objects.create(team=team, user=user, claim=mine, heartbeat_at=Now(), size=size)
    rows = [
        UploadedFile(
            upload=upload, position=position, name=name, size=file.size,
            path=staging.keep_original(upload.pk, position, file),
        )
        for position, (name, file) in enumerate(named.items())
    ]  # fmt: skip
    UploadedFile.objects.bulk_create(rows)
    return upload, mine


def let_go(upload_id: uuid.UUID, claim: uuid.UUID, **fields: Any) -> None:
    """All its files have arrived; with `fields` what was stated along with them."""
    Upload.objects.filter(pk=upload_id, claim=claim).update(claim=None, heartbeat_at=None, **fields)


def begin(upload_id: uuid.UUID) -> uuid.UUID | None:
    """RECEIVED -> READING or COMPLETED -> SAVING with a fresh claim; None where somebody else was first."""
    mine = uuid.uuid4()
    for waits, works in WORK.items():
        won = Upload.objects.filter(pk=upload_id, state=waits, claim__isnull=True).update(
            state=works, claim=mine, heartbeat_at=Now(), began_at=Now(), attempts=F("attempts") + 1, step="",
            bytes_done=0, bytes_total=0,
        )  # fmt: skip
        if won:
            return mine
    return None


def waiting() -> Upload | None:
    """The upload that has waited longest for a worker; None while another is worked on, one at a time."""
    if Upload.objects.filter(state__in=WORK.values()).exists():
        return None
    unclaimed = Upload.objects.filter(state__in=WORK, claim__isnull=True)
    return unclaimed.order_by("created_at").only("pk", "state", "attempts").first()


def beat(upload_id: uuid.UUID, claim: uuid.UUID, **progress: Any) -> None:
    """A sign of life, with how far it is. Raises UploadGone."""
    rows = Upload.objects.filter(pk=upload_id, claim=claim, state__in=WORK.values())
    if not rows.update(heartbeat_at=Now(), **progress):
        raise UploadGone(f"Upload {upload_id} is no longer this worker's.")


def recognise(
    upload_id: uuid.UUID,
    claim: uuid.UUID,
    members: Sequence[RedactedMember],
    recognised: Mapping[str, Any],
    stated: Mapping[str, Any] | None = None,
) -> None:
    """READING -> RECOGNISED, or -> COMPLETED where its manifest says all that a person would: what was in the files
    takes the place of the files. Raises UploadGone.
    """
    to = State.RECOGNISED if stated is None else State.COMPLETED
    with transaction.atomic():
        _move(upload_id, claim, State.READING, to, recognised=recognised, stated=stated or {}, error="", attempts=0)
        UploadedFile.objects.filter(upload=upload_id).delete()
        UploadedFile.objects.bulk_create(make_file_rows(members, upload_id))


def regroup(upload: Upload, grouping: str, utc_offsets: Mapping[str, str]) -> bool:
    """RECOGNISED -> RECEIVED, to be read once more with its files grouped otherwise."""
    rows = Upload.objects.filter(pk=upload.pk, state=State.RECOGNISED)
    return bool(rows.update(state=State.RECEIVED, grouping=grouping, utc_offsets=utc_offsets, error=""))


def complete(upload: Upload, stated: Mapping[str, Any]) -> bool:
    """RECOGNISED -> COMPLETED with what the person added; False where it was completed before (a second click)."""
    rows = Upload.objects.filter(pk=upload.pk, state=State.RECOGNISED)
    return bool(rows.update(state=State.COMPLETED, stated=stated, error=""))


def continue_with_rest(upload: Upload, user: User) -> Upload | None:
    """SAVED: another import of its files, RECOGNISED, to save the other runs in them; None where there are none.

    The files are artifacts by now, which both imports have.
    """
    with transaction.atomic():
        upload = Upload.objects.select_for_update().get(pk=upload.pk)
        positions = set(upload.runs.values_list("position", flat=True))
        runs = upload.recognised["runs"]
        rest = {number for number, run in enumerate(runs) if not run["error"]} - positions
        if upload.state != State.SAVED or not rest:
            return None
        begun = Upload.objects.create(
            team=upload.team, user=user, state=State.RECOGNISED, grouping=upload.grouping,
            utc_offsets=upload.utc_offsets, size=upload.size,
            recognised=_mark_saved(upload, {number for number in range(len(runs)) if number not in rest}),
        )  # fmt: skip
        UploadedFile.objects.bulk_create(make_file_rows(upload.files.all(), begun.pk))
        # Another click offers them no second time.
        Upload.objects.filter(pk=upload.pk).update(recognised=_mark_saved(upload, rest))
    return begun


def _mark_saved(upload: Upload, positions: Collection[int]) -> dict[str, Any]:
    """`Upload.recognised` with these runs as those of another import; what could not be merged keeps its reason."""
    runs = [
        {**run, "error": run["error"] or SAVED_BEFORE, "is_saved": True} if number in positions else run
        for number, run in enumerate(upload.recognised["runs"])
    ]
    return {**upload.recognised, "runs": runs}


def saved(upload_id: uuid.UUID, claim: uuid.UUID) -> None:
    """SAVING -> SAVED, in the transaction that inserts the runs. Raises UploadGone."""
    _move(upload_id, claim, State.SAVING, State.SAVED, saved_at=Now())
    UploadedFile.objects.filter(upload=upload_id).update(path="")
    transaction.on_commit(lambda: staging.drop_folder(str(upload_id)))


def fail(upload_id: uuid.UUID, claim: uuid.UUID, why: str) -> None:
    """What could not be read has failed; what could not be saved goes back to the person who completes it, where there
    is one."""
    mine = Upload.objects.filter(pk=upload_id, claim=claim)
    by_a_program = mine.filter(state=State.SAVING).exclude(manifest={})
    if by_a_program.update(state=State.FAILED, claim=None, error=why):
        _forget_files(upload_id)
        return
    if mine.filter(state=State.SAVING).update(state=State.RECOGNISED, claim=None, error=why, attempts=0):
        return
    if mine.filter(state__in=[State.RECEIVED, State.READING]).update(state=State.FAILED, claim=None, error=why):
        _forget_files(upload_id)


def discard(upload: Upload) -> bool:
    """Forget an upload that is not saved, with everything of it; who works on it finds itself fenced.

    Its key goes with it: nothing is left that a repeated request could be answered with.
    """
    with transaction.atomic():
        row = Upload.objects.select_for_update().filter(pk=upload.pk).exclude(state=State.SAVED).first()
        if row is None:
            return False
        keys.free(row)
        row.delete()
    staging.drop_folder(str(upload.pk))
    return True


def reap() -> None:
    """Take away the claims that fell silent. The work waits for another worker, once."""
    silent = Upload.objects.filter(claim__isnull=False, heartbeat_at__lt=Now() - UPLOAD_SILENT_AFTER)
    for upload in silent.only("pk", "claim", "state", "attempts"):
        assert upload.claim is not None
        if upload.state == State.RECEIVED:
            fail(upload.pk, upload.claim, BROKE_OFF)
        else:
            give_back(upload.pk, upload.claim, upload.attempts)


def give_back(upload_id: uuid.UUID, claim: uuid.UUID, attempts: int) -> None:
    """The worker of this upload was lost: another may try, once more."""
    if attempts >= MAX_ATTEMPTS:
        fail(upload_id, claim, GAVE_UP)
        return
    mine = Upload.objects.filter(pk=upload_id, claim=claim)
    for waits, works in WORK.items():
        mine.filter(state=works).update(state=waits, claim=None, heartbeat_at=None)


def expire() -> None:
    """Drop what nobody has saved in time, and whatever lies in the storage without an upload."""
    for upload in Upload.objects.filter(created_at__lt=Now() - KEPT_FOR).exclude(state=State.SAVED):
        discard(upload)
    folders = staging.folders()  # before the rows are looked at: one that comes meanwhile is none of these
    pending = {str(key) for key in Upload.objects.exclude(state=State.SAVED).values_list("pk", flat=True)}
    for stray in folders - pending:
        staging.drop_folder(stray)
    upload_handlers.drop_strays(KEPT_FOR.total_seconds())
    keys.expire()


def _move(upload_id: uuid.UUID, claim: uuid.UUID, old: State, new: State, **fields: Any) -> None:
    rows = Upload.objects.filter(pk=upload_id, claim=claim, state=old)
    if not rows.update(state=new, claim=None, heartbeat_at=None, **fields):
        raise UploadGone(f"Upload {upload_id} is no longer this worker's.")


def _forget_files(upload_id: uuid.UUID) -> None:
    UploadedFile.objects.filter(upload=upload_id).update(path="")
    staging.drop_folder(str(upload_id))
