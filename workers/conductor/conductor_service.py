"""The loop of one conductor process: it takes the work it may do from the rows, and does each piece in a thread.

Any number of these processes share the work, on any number of hosts: each row is claimed by one of them.
"""

import logging
import threading
import time
from collections.abc import Callable
from functools import partial
from uuid import UUID

from django.db import connection
from django.db.models.functions import Now

from runs.models import Conductor, Run, Status
from runs.plans.submission import CONDUCTOR_CHANNEL
from runs.queue.database_retries import DATABASE_ERRORS
from runs.timeouts import CONDUCTOR_STOP_TIMEOUT_S
from runs.uploads import upload_lifecycle
from workers.conductor import conductor_identity, deployment
from workers.conductor.conductor import complete_run, conduct_claimed_run
from workers.conductor.heartbeat import stopping
from workers.conductor.upload_reader import measuring_here, read_upload
from workers.generator import alive_file

log = logging.getLogger(__name__)
# A dispatched run is told by NOTIFY; this often the loop looks whether it must stop.
WAIT_S = 1.0
# Other work is looked for this often, and so are dispatched runs whose notification was lost.
CHECK_INTERVAL_S = 5.0
# The free disk of this host, and which faults it can apply, are noted this often while nothing is measured on it.
DISK_INTERVAL_S = 60.0


class ConductorService:
    """One conductor process. `capacity` is how many runs it carries out at a time."""

    def __init__(self, conductor: Conductor) -> None:
        self.conductor, self.capacity = conductor, conductor.capacity
        self._jobs: dict[tuple[str, UUID], threading.Thread] = {}
        self._chores_done_at = -CHECK_INTERVAL_S
        self._disk_noted_at = -DISK_INTERVAL_S

    def serve(self) -> None:
        """Work until `stopping` is set; then end the runs, and stop the servers with their data kept."""
        while not stopping.is_set():
            try:
                self._listen()
            except DATABASE_ERRORS as error:
                log.warning("The database does not answer (%s); trying again.", str(error).partition("\n")[0])
                connection.close()
                stopping.wait(WAIT_S)

        end = time.monotonic() + CONDUCTOR_STOP_TIMEOUT_S
        for kind, key in self._jobs:
            if kind == "run":  # What else goes on is done again by the next conductor.
                self._jobs[kind, key].join(max(0.0, end - time.monotonic()))

        deployment.stop_all()

    def _listen(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute(f"LISTEN {CONDUCTOR_CHANNEL}")

        log.info("Conducting as %s, %d runs at a time.", self.conductor, self.capacity)
        is_notified = True
        while not stopping.is_set():
            is_due = time.monotonic() - self._chores_done_at >= CHECK_INTERVAL_S
            if is_notified or is_due:
                self._take_runs()
            if is_due:
                self._chores_done_at = time.monotonic()
                self._do_chores()
            is_notified = False
            for _ in connection.connection.notifies(timeout=WAIT_S, stop_after=1):
                is_notified = True

    def _take_runs(self) -> None:
        while self._count("run") < self.capacity:
            claimed = conductor_identity.claim_run(self.conductor)
            if claimed is None:
                return
            run_id, claim = claimed
            self._start(("run", run_id), partial(conduct_claimed_run, run_id, claim))

    def _do_chores(self) -> None:
        """Everything beside dispatched runs: signs of life, dead neighbours, late output, servers and uploads."""
        Conductor.objects.filter(pk=self.conductor.pk).update(last_seen_at=Now())
        alive_file.touch()
        conductor_identity.end_lives_of_others()
        for deployment_id in conductor_identity.deployments_to_tidy(self.conductor):
            self._start(("deployment", deployment_id), partial(deployment.tidy_deployment, deployment_id))

        if measuring_here():
            return  # Merging and reading would disturb the measurement.

        if time.monotonic() - self._disk_noted_at >= DISK_INTERVAL_S and conductor_identity.note_host_facts():
            self._disk_noted_at = time.monotonic()
        if not self._count("late output"):
            late = Run.objects.filter(late_output_at__isnull=False, status__in=Status.terminal())
            run_id = late.order_by("late_output_at").values_list("pk", flat=True).first()
            if run_id:
                self._start(("late output", run_id), partial(complete_run, run_id))
        if not self._count("upload"):
            upload = upload_lifecycle.waiting()
            if upload:
                self._start(("upload", upload.pk), partial(read_upload, upload.pk))

    def _count(self, kind: str) -> int:
        self._jobs = {key: thread for key, thread in self._jobs.items() if thread.is_alive()}
        return sum(of_kind == kind for of_kind, _ in self._jobs)

    def _start(self, key: tuple[str, UUID], job: Callable[[], None]) -> None:
        """In a thread of its own, unless the same piece of work is being done already."""
        if key in self._jobs and self._jobs[key].is_alive():
            return
        kind, pk = key
        thread = threading.Thread(target=_do, args=[key, job], name=f"{kind} {pk}", daemon=True)
        self._jobs[key] = thread
        thread.start()


def _do(key: tuple[str, UUID], job: Callable[[], None]) -> None:
    try:
        job()
    except Exception:
        log.exception("%s %s failed inside Benchsite.", *key)
    finally:
        connection.close()
