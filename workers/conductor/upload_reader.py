"""Uploads that are too large for a request: a child process of the conductor's reads them.

A child of its own, because a stranger's file may need much time and memory, and what happens to the child happens to
nobody else. It stands still while a run measures on this machine.
"""

import contextlib
import logging
import os
import signal
import sys
import time
import uuid

from django.conf import settings
from django.db import DatabaseError, connection

from benchsite.core.paths import make_log_folder
from runs.models import Upload
from runs.timeouts import HEARTBEAT_INTERVAL_S, UPLOAD_STOP_TIMEOUT_S
from runs.uploads import upload_lifecycle
from workers.generator.host_identity import host_key
from workers.models import Lease
from workers.processes.guarded_process import Guarded, StartError, start_guarded

log = logging.getLogger(__name__)
CHECK_INTERVAL_S = 1.0
# By whether the reader is stopped.
SIGNALS = {False: signal.SIGCONT, True: signal.SIGSTOP}
PROGRESS = {False: {}, True: {"step": "held while a run measures"}}


def measuring_here() -> bool:
    """Whether a run holds this machine."""
    return Lease.objects.filter(machine__host_key=host_key()).exists()


def read_upload(upload_id: uuid.UUID) -> None:
    """Read or save one upload from end to end; nothing is done where it is claimed, or a run measures here."""
    if measuring_here():
        return

    claim = upload_lifecycle.begin(upload_id)
    if claim is None:
        return

    attempts = Upload.objects.values_list("attempts", flat=True).get(pk=upload_id)
    try:
        child = start_child(upload_id, claim)
    except StartError as error:
        upload_lifecycle.fail(
            upload_id, claim, f"The reader could not be started: {error}. Tell an operator of this site."
        )
        return

    if _watch(child, upload_id, claim) != 0:
        log.warning("The reader of upload %s ended with %s.", upload_id, child.exit_code)
        upload_lifecycle.give_back(upload_id, claim, attempts)


def start_child(upload_id: uuid.UUID, claim: uuid.UUID) -> Guarded:
    """The reader itself, which goes when this process goes. Raises StartError."""
    log_file = settings.VAR_DIR / "log" / "reader.log"
    make_log_folder(log_file.parent)  # A conductor on a machine of its own has no supervisor.
    return start_guarded(
        [sys.executable, settings.BASE_DIR / "manage.py", "read_upload", str(upload_id), str(claim)],
        registry=settings.GUARDED_DIR,
        label=f"reader of upload {upload_id}",
        env=os.environ,  # It is a part of the site.
        stderr=log_file,
        grace_s=UPLOAD_STOP_TIMEOUT_S,
    )


def _watch(child: Guarded, upload_id: uuid.UUID, claim: uuid.UUID) -> int | None:
    """Wait for the child's end: beat for it, hold it while a run measures, end it when its upload is discarded."""
    is_stopped, beaten = False, time.monotonic()
    while not child.wait_for_exit(CHECK_INTERVAL_S):
        try:
            if measuring_here() != is_stopped:
                is_stopped = not is_stopped
                _signal(child, SIGNALS[is_stopped])
            if time.monotonic() - beaten >= HEARTBEAT_INTERVAL_S:
                upload_lifecycle.beat(upload_id, claim, **PROGRESS[is_stopped])
                beaten = time.monotonic()
        except upload_lifecycle.UploadGone:
            _signal(child, signal.SIGCONT)  # What stands still does not hear that it is to stop.
            child.stop()
        except DatabaseError as error:
            log.warning("Upload %s: no heartbeat (%s).", upload_id, str(error).splitlines()[0])
            connection.close()

    return child.stop()


def _signal(child: Guarded, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):  # It has just ended.
        os.killpg(child.pgid, number)
