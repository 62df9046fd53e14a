"""Waits for what a load or an earlier run has left a server to do: compactions, checkpoints, replication."""

import logging
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from workers.provision.administration.base import Administration, AdministrationError

log = logging.getLogger(__name__)

POLL_S: Final = 1.0
# Between two pieces of work there may be an instant without any.
MIN_QUIET_POLLS: Final = 2
PENDING: Final = "_pending"
# Work of clients, this look among it: no background work, and never quite done.
OF_CLIENTS: Final = frozenset({"reads_pending", "writes_pending", "requests_pending"})
# A replica is never quite behind nor quite up to date; by the unit of the lag.
MAX_LAGS: Final = {"replication_lag_bytes": 2.0**20, "replication_lag_s": 1.0}


def await_settled(administration: Administration, limit_s: float, check: Callable[[], None]) -> dict[str, Any]:
    """Returns once the server states no background work, at the latest after `limit_s`: how long that took, and what is
    left of the work. Where the server cannot be asked, nothing is waited for. `check` is called between the looks.
    """
    began, quiet = time.monotonic(), 0
    pending: dict[str, float] = {}
    try:
        with administration.open_counters() as read:
            while True:
                pending = find_background_work(read().values)
                quiet = 0 if pending else quiet + 1
                waited_s = time.monotonic() - began
                if quiet == MIN_QUIET_POLLS or waited_s >= limit_s:
                    break
                check()
                time.sleep(min(POLL_S, max(limit_s - waited_s, 0.0)))
    except AdministrationError as error:
        log.warning("The background work of the server is not known: %s", error)
        pending = {}

    return {"waited_s": round(time.monotonic() - began, 1), "pending": pending}


def find_background_work(values: Mapping[str, float]) -> dict[str, float]:
    """The counters of pending work among those of one moment."""
    names = [name for name in values if name.endswith(PENDING) and name not in OF_CLIENTS]
    tasks = {name: values[name] for name in names if values[name] > 0}
    lags = {name: values[name] for name, limit in MAX_LAGS.items() if values.get(name, 0.0) > limit}
    return tasks | lags
