"""One try of one fault, from the submission of a matrix until nothing of it is left."""

import json
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext, suppress
from types import TracebackType
from uuid import UUID

import psycopg
from django.conf import settings
from django.db import connection

from benchmarks.faults.fault import Fault, Moment
from benchmarks.faults.outcome import Outcome, doubled_work, lost_results, unfinished_work, user_message
from benchmarks.faults.site import FaultSite, SiteTimeout
from runs.models import Deployment, Matrix, Run
from runs.models.run import Status
from workers.models import Lease

CHANNEL = "benchsite_faults"
CHECK_INTERVAL_S = 5.0
TRIGGER = f"""
CREATE OR REPLACE FUNCTION benchsite_faults_stage() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('{CHANNEL}',
        json_build_object('matrix', NEW.matrix_id, 'phase', NEW.phase, 'stage', NEW.stage)::text);
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER benchsite_faults_stage AFTER UPDATE OF stage ON runs_run
    FOR EACH ROW WHEN (NEW.stage IS DISTINCT FROM OLD.stage) EXECUTE FUNCTION benchsite_faults_stage();
"""
MOMENT_TIMEOUT_S = 120
END_TIMEOUT_S = 300  # from the end of the fault
LEFT_OVER_TIMEOUT_S = 40
TRIES_PER_SITE = 3  # benchsite.local.supervisor ends the site at the fourth death of one part


class StageWatch:
    """A trigger in the site's database notifies of stages as they begin, so that short ones are not missed.

    It begins to listen when it is made; `wait` also sees what happened since then.
    """

    def __init__(self, dsn: str) -> None:
        with connection.cursor() as cursor:
            cursor.execute(TRIGGER)
        self._connection = psycopg.connect(dsn, autocommit=True)
        self._connection.execute(f"LISTEN {CHANNEL}")

    def __enter__(self) -> "StageWatch":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()

    def wait(self, matrix: Matrix, moment: Moment, timeout_s: float) -> bool:
        """Returns at the moment; False where it did not come in time, or every run has ended without it."""
        end = time.monotonic() + timeout_s
        unfinished = Run.objects.filter(matrix=matrix).exclude(status__in=Status.terminal())
        while time.monotonic() < end and unfinished.exists():
            for notification in self._connection.notifies(timeout=CHECK_INTERVAL_S):
                change = json.loads(notification.payload)
                if change == {"matrix": str(matrix.pk), "phase": moment.phase, "stage": moment.stage}:
                    time.sleep(moment.delay_s)
                    return True
        return False


class LeaseWatch(threading.Thread):
    """Measures how long the runs that hold machines now go on holding them; beside whatever ends the fault."""

    def __init__(self, site: FaultSite, outcome: Outcome) -> None:
        super().__init__(name="leases", daemon=True)
        self.site, self.outcome = site, outcome
        self.struck: list[UUID] = list(Lease.objects.exclude(run=None).values_list("run_id", flat=True).distinct())
        self.began = time.monotonic()

    def run(self) -> None:
        held = Lease.objects.filter(run_id__in=self.struck)
        with suppress(SiteTimeout):
            self.site.until(lambda: not held.exists(), END_TIMEOUT_S, "the leases to be free")
        self.outcome.free_after_s = time.monotonic() - self.began
        connection.close()


class Trial:
    """A matrix, the fault, and what was observed."""

    def __init__(self, site: FaultSite, fault: Fault) -> None:
        self.site, self.fault = site, fault
        self.outcome = Outcome()
        self.site_ended = False

    def run(self) -> Outcome:
        began = time.monotonic()
        if self.fault.moment is None:
            with self.fault.cause(self.site):
                matrix = self.site.submit()
                time.sleep(self.fault.outage_s)
        else:
            matrix = self._cause_at(self.fault.moment)
        self._wait_for_end(matrix)
        outcome = self.outcome
        outcome.stuck += unfinished_work(matrix)
        outcome.lost += lost_results(self.fault, matrix)
        outcome.doubled += doubled_work(matrix)
        if not self.site_ended:
            outcome.left_over += [*self.site.orphans(), *map(str, self.site.left_folders())]
        outcome.message = user_message(matrix)
        self.outcome.duration_s = time.monotonic() - began
        return self.outcome

    def _cause_at(self, moment: Moment) -> Matrix:
        with StageWatch(settings.DATABASE_URL) as stages:
            matrix = self.site.submit()
            reached = stages.wait(matrix, moment, MOMENT_TIMEOUT_S)
        if not reached:
            self.outcome.stuck.append(f"no run came to the moment of the fault ({moment})")
            return matrix
        watch = LeaseWatch(self.site, self.outcome)
        watch.start()
        with self.fault.cause(self.site):
            time.sleep(self.fault.outage_s)
        self._until(lambda: not (watch.is_alive() and self.site.runs()), END_TIMEOUT_S)
        return matrix

    def _until(self, condition: Callable[[], bool], timeout_s: float) -> None:
        """Returns when the condition on rows holds, or the time is up."""
        with suppress(SiteTimeout):
            self.site.until(condition, timeout_s, "the end")

    def _wait_for_end(self, matrix: Matrix) -> None:
        """Every run has ended and holds no machine, the server under test is gone, every part of the site runs."""

        def ended() -> bool:
            if not self.site.runs():
                return True
            return not unfinished_work(matrix)

        self._until(ended, END_TIMEOUT_S)
        if not self.site.runs():
            log = self.site.log("supervisor").splitlines()
            self.outcome.stuck.append(f"the site ended: {' '.join(log[-3:])}")
            self.site_ended = True
            return
        standing = Deployment.objects.filter(matrix=matrix).exclude(state=Deployment.State.GONE)
        self._until(
            lambda: (
                not (
                    standing.exists()
                    or self.site.left_folders()
                    or self.site.orphans()
                    or self.site.missing_parts()
                    or lost_results(self.fault, matrix)
                )
            ),
            LEFT_OVER_TIMEOUT_S,
        )
        self.outcome.stuck += [f"{part} does not run" for part in self.site.missing_parts()]
        self.outcome.stuck += [f"{deployment} is not given up" for deployment in standing]


def run_tries(site: FaultSite, fault: Fault, tries: int, say: Callable[[str], None]) -> list[Outcome]:
    """Try the fault so often, one try after the other; `say` gets a few lines for each.

    The site is started anew for a fault that needs an environment of its own, before its supervisor gives up a part
    that died too often, and where a try left it broken.
    """
    outcomes: list[Outcome] = []
    if fault.environment:
        site.down()
    with fault.environment(site) if fault.environment else nullcontext():
        for number in range(1, tries + 1):
            if not site.runs():
                site.renew()
            site.tries += 1
            outcome = _try(site, fault)
            if outcome.failed or site.tries == TRIES_PER_SITE or (fault.environment and number == tries):
                outcome.left_over += site.down()
            outcomes.append(outcome)
            say(f"{fault.name} {number}/{tries}: {outcome.summary()}")
    return outcomes


def _try(site: FaultSite, fault: Fault) -> Outcome:
    trial = Trial(site, fault)
    try:
        return trial.run()
    except SiteTimeout as error:
        trial.outcome.stuck.append(str(error))
        return trial.outcome
