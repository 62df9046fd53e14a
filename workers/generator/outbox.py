"""Stores what clients wrote, and keeps their folders until that has succeeded."""

import contextlib
import logging
import platform
import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Final

from django.conf import settings

from benchsite.core.backoff import retry_with_backoff
from benchsite.core.formatting import grouped
from runs.queue.reasons import Reason
from runs.timeouts import ENDED_RUN_TIMEOUT_S, STORE_TIMEOUT_S
from workers.generator.site_client import (
    RUN_DELETED,
    FileTooLarge,
    SiteClient,
    SiteRefused,
    SiteUnreachable,
    site_client,
)
from workers.generator.work_folder import ClientResult, WorkFolder, opened_work_folder
from workers.processes.process_registry import end_earlier_lives

log = logging.getLogger(__name__)
DELIVERY_INTERVAL_S: Final = 30.0
TOO_LARGE: Final = ".too-large"  # a folder beside those of the clients
# OSError is an error of the work folder itself.
STORE_ERRORS: Final = (SiteUnreachable, SiteRefused, OSError)
# How the worker saw the processes of clients end, by the id of the client run.
_exits: dict[str, str] = {}
_process_lost = threading.Event()


class RunEnded(Exception):
    """The run does not wait for this client any more."""


def store_output(site: SiteClient, folder: WorkFolder, check: Callable[[], None]) -> None:
    """Store a client's output, with attempts for some minutes; `check` ends them by raising RunEnded.

    What is not stored then stays in the folder, for `deliver_leftovers`.
    """
    try:
        retry_with_backoff(
            lambda: deliver(site, folder, check),
            errors=STORE_ERRORS,
            check=check,
            timeout_s=STORE_TIMEOUT_S,
            is_transient=lambda error: not isinstance(error, FileNotFoundError),
        )
    except RunEnded:
        log.warning("%s: its run has ended; its output is stored later.", folder.path)
    except STORE_ERRORS as error:
        log.error("%s: not stored within %.0f s (%s).", folder.path, STORE_TIMEOUT_S, error)
        detail = (
            f"The output could not be stored within {grouped(STORE_TIMEOUT_S)} s: {_take_first_line(error)}. It is "
            f"kept in {folder.path} on {platform.node()} and stored as soon as that is possible."
        )
        with contextlib.suppress(RunEnded, SiteRefused):
            retry_with_backoff(
                lambda: site.fail(folder.client_run_id, folder.claim, Reason.OUTPUT_NOT_STORED, detail),
                errors=(SiteUnreachable,),
                check=check,
            )


def deliver(site: SiteClient, folder: WorkFolder, check: Callable[[], None] = lambda: None) -> None:
    """Store every file of a client that has ended, then its result, and remove its folder. Can be repeated.

    The folder is removed without that only where the site says that the run was deleted. A file above the site's limit
    is kept below TOO_LARGE, and the run says so. After ENDED_RUN_TIMEOUT_S, `check` is called before each file, and
    ends the delivery by raising. Raises one of STORE_ERRORS.
    """
    assert folder.result is not None  # The process has ended.
    pk, claim = folder.client_run_id, folder.claim
    patience_end = time.monotonic() + ENDED_RUN_TIMEOUT_S
    shelf = settings.WORK_DIR / TOO_LARGE / str(pk)
    too_large = dict[Path, str]()
    try:
        site.note_stopped(pk, claim)
        for kind, path in folder.files():
            if time.monotonic() > patience_end:
                check()
            try:
                site.store_file(pk, claim, kind, path)
            except FileTooLarge as refusal:
                too_large[path] = f"{refusal}; it is kept in {shelf} on {platform.node()}"

        site.complete(pk, claim, asdict(folder.result), list(too_large.values()))
        for path in too_large:
            shelf.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.rename(shelf / path.name)
    except SiteRefused as refusal:
        if refusal.code != RUN_DELETED:
            raise
        log.warning("%s: its run was deleted; the folder is removed.", folder.path)

    folder.remove()


def deliver_leftovers(site: SiteClient, generator: str) -> None:
    """One attempt for each folder that an earlier process of this load generator left."""
    for path in sorted(settings.WORK_DIR.glob("[!.]*")):
        with opened_work_folder(path) as folder:
            if folder is None or folder.generator != generator:
                continue
            if folder.result is None:
                end_earlier_lives(settings.GUARDED_DIR)
                folder.record_result(_lost_result(generator, _exits.pop(str(folder.client_run_id), "")))
            try:
                deliver(site, folder)
                log.info("%s: stored what an earlier process had left.", path)
            except STORE_ERRORS as error:
                log.warning("%s: not stored yet (%s).", path, _take_first_line(error))


def report_lost_process(client_run_id: str, exit_status: str) -> None:
    """The pool process of a client ended before the client did, in Celery's words ("signal 15 (SIGTERM)").

    Its output is delivered at once, with the cause.
    """
    _exits[client_run_id] = exit_status
    _process_lost.set()


def _lost_result(generator: str, exit_status: str) -> ClientResult:
    """The result of a client whose process ended; `exit_status` is empty where the whole worker had ended."""
    reason, cause = Reason.WORKER_LOST, "was killed"
    if "SIGTERM" in exit_status:
        reason, cause = Reason.INTERRUPTED, "was stopped by an operator (SIGTERM)"
    elif "SIGKILL" in exit_status:
        cause = "was killed (SIGKILL: by an operator, or by the kernel for lack of memory; see `dmesg` there)"
    elif exit_status:
        cause = f"ended ({exit_status})"
    detail = f"The process of {generator} that ran this client {cause}; its output so far is stored."
    return ClientResult(reason, detail)


def deliver_forever(generator: str) -> None:
    """Look for leftovers now, every half minute, and when a pool process is lost."""
    while True:
        _process_lost.clear()
        try:
            deliver_leftovers(site_client(), generator)
        except Exception:
            log.exception("The output of earlier clients could not be looked at.")
        _process_lost.wait(DELIVERY_INTERVAL_S)


def _take_first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
