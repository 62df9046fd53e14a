"""Deleting a run with everything measured in it. A verb for pages and API; it leaves an entry in the audit log.

Other packages say what may not go: the functions named by RUN_PINS answer why a run stays, or nothing.
"""

from typing import Final

from django.conf import settings
from django.db import transaction
from django.db.models import ProtectedError
from django.utils.module_loading import import_string

from benchsite.accounts import audit
from benchsite.accounts.models import User
from benchsite.accounts.tenancy import all_teams
from runs.models import Artifact, Run, Sweep, Upload, UploadedFile
from runs.models.run import Status
from runs.results import artifacts

MAX_AT_ONCE: Final = 100


class DeletionRefused(Exception):
    """The run stays. The message says why and what to do."""


class RunPinned(DeletionRefused):
    """Something is held together by this run, such as a baseline."""


def obstacle(run: Run) -> DeletionRefused | None:
    """Why a run cannot be deleted now; None: it can."""
    if run.status not in Status.terminal():
        return DeletionRefused(f"“{run.name}” has not ended yet. Cancel it, or wait and delete it then.")
    for pinned in settings.RUN_PINS:
        if why := import_string(pinned)(run):
            return RunPinned(why)
    if needy := run.needed_by.order_by("position").first():
        return DeletionRefused(f"“{run.name}” loaded the data of “{needy.name}” and others. Delete those first.")
    return None


def delete_run(run: Run, by: User | None) -> None:
    """Delete one run of those that have ended, for ever; raises DeletionRefused, and nothing is deleted then.

    What its files held goes too, unless another run has the same content. A curve that was uploaded goes with its last
    point, and an upload with its last run.
    """
    with transaction.atomic():
        found = Run.objects.select_for_update().filter(pk=run.pk).first()
        if found is None:
            return  # Somebody else was first.
        if why := obstacle(found):
            raise why
        digests = set(found.artifacts.values_list("sha256", flat=True))
        said = ", ".join(filter(None, [str(found.pk), found.system, found.mode, found.workload_name, found.commit]))
        try:
            found.delete()
        except ProtectedError as error:
            raise RunPinned(f"“{run.name}” is needed: {next(iter(error.protected_objects))}.") from error
        digests |= _delete_what_is_empty(found)
        audit.note("run_deleted", team=found.team, actor=by, subject=found.name, text=said)
        transaction.on_commit(lambda: forget_content(digests))


def _delete_what_is_empty(run: Run) -> set[str]:
    """The upload and the uploaded curve of which this run was the last; the content that the upload had kept."""
    digests: set[str] = set()
    if run.upload_id and not Run.objects.filter(upload=run.upload_id).exists():
        digests = set(UploadedFile.objects.filter(upload=run.upload_id).values_list("sha256", flat=True)) - {""}
        _delete_unless_needed(Upload(pk=run.upload_id))
    if run.sweep_id and run.matrix_id is None and not Run.objects.filter(sweep=run.sweep_id).exists():
        _delete_unless_needed(Sweep(pk=run.sweep_id))
    return digests


def _delete_unless_needed(row: Upload | Sweep) -> None:
    try:
        with transaction.atomic():
            row.delete()
    except ProtectedError:
        return  # It serves something else, and stays empty.


def forget_content(digests: set[str]) -> None:
    """Remove from the storage what no row has any more; content lies under its hash, and may be everybody's."""
    for digest in sorted(digests):
        with transaction.atomic():
            # One at a time, and nobody can attach the same content meanwhile (`artifacts.attach`).
            artifacts.lock(digest, shared=False)
            if not _is_had(digest):
                artifacts.remove(digest)


@all_teams()
def _is_had(digest: str) -> bool:
    rows = (Artifact.objects.filter(sha256=digest), UploadedFile.objects.filter(sha256=digest))
    return any(some.exists() for some in rows)
