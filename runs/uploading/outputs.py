"""Outputs of a kit on their way into planned cells: as uploads that know their matrix."""

from collections.abc import Sequence

from django.core.files.base import File

from benchsite.teams.models import User
from runs.models import Matrix, Upload
from runs.uploading import life
from runs.uploading.reading import own_name
from runs.uploading.working import work_on


def receive_outputs(matrix: Matrix, user: User, files: "Sequence[tuple[str, File[bytes]]]") -> Upload:
    """Keep the files, and put them in their places at once where they are small; a worker does it where not."""
    named: dict[str, File[bytes]] = {}
    for name, file in files:
        named[own_name(name, named)] = file
    upload, claim = life.receive(matrix.team, user, list(named.items()))
    Upload.objects.filter(pk=upload.pk, claim=claim).update(matrix=matrix)
    life.let_go(upload.pk, claim)
    work_at_once(upload)
    upload.refresh_from_db()
    return upload


def work_at_once(upload: Upload) -> None:
    """What is small is done in the request; the rest waits for a worker."""
    if upload.size <= life.MOST_IN_REQUEST and (claim := life.begin(upload.pk)):
        work_on(upload.pk, claim)
