"""The stages of runs as they begin: a trigger in the site's database notifies, so that short stages are not missed."""

import json
import time
from types import TracebackType

import psycopg
from django.db import connection

from benchmarks.faults.fault import Moment
from runs.models import Matrix, Run
from runs.models.run import Status

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


class StageWatch:
    """Begins to listen when it is made; `wait` also sees what happened since then."""

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
