"""Whatever an upload waits for, done: its files are read, or its runs saved. In the request, or in a worker."""

import logging
import uuid
from collections.abc import Sequence

from django.core.files.base import File
from django.db import DataError, IntegrityError

from benchsite.accounts.models import Team, User
from runs.models import Upload
from runs.results.recording.uploaded_runs import record_upload
from runs.uploads import upload_lifecycle
from runs.uploads.api_upload import stated_later
from runs.uploads.file_pipeline import read
from runs.uploads.upload_lifecycle import UploadGone
from runs.ycsb.errors import YcsbError

log = logging.getLogger(__name__)


def receive_files(team: Team, user: User, files: "Sequence[tuple[str, File[bytes]]]") -> Upload:
    """Keep what people bring, and read it at once where it is small; a worker does it where not."""
    upload, claim = upload_lifecycle.receive(team, user, files)
    upload_lifecycle.let_go(upload.pk, claim)
    work_at_once(upload)
    upload.refresh_from_db()
    return upload


def work_at_once(upload: Upload) -> None:
    """Small uploads are read in the request; others wait for a worker."""
    if upload.size <= upload_lifecycle.MAX_IN_REQUEST and (claim := upload_lifecycle.begin(upload.pk)):
        work_on(upload.pk, claim)


def work_on(upload_id: uuid.UUID, claim: uuid.UUID) -> None:
    """The caller has begun the work (`life.begin`). Whatever goes wrong is said on the upload's page."""
    try:
        upload = Upload.objects.select_related("user", "team").get(pk=upload_id, claim=claim)
        if upload.state == Upload.State.READING:
            read(upload, claim, stated_later if upload.manifest else None)
        else:
            record_upload(upload, claim)
    except (UploadGone, Upload.DoesNotExist):
        log.info("Upload %s was discarded.", upload_id)
    except MemoryError:
        upload_lifecycle.fail(
            upload_id, claim, "These files need more memory than reading them may take: import fewer at a time."
        )
    except YcsbError as error:
        upload_lifecycle.fail(upload_id, claim, str(error))
    except (IntegrityError, DataError) as error:
        log.info("Upload %s was refused by the database: %s", upload_id, str(error).splitlines()[0])
        upload_lifecycle.fail(upload_id, claim, upload_lifecycle.IMPOSSIBLE)
    except Exception as error:
        log.exception("Upload %s failed inside Benchsite.", upload_id)
        why = f"Benchsite itself failed ({type(error).__name__}: {str(error)[:300]}). Tell an operator of this site."
        upload_lifecycle.fail(upload_id, claim, why)
