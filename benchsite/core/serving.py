"""gunicorn's settings: the pages are loaded once for all workers, and each counts requests in a place that outlives it.

The workers write their counts into files of one folder, and any of them adds up the counts of all
(`benchsite.core.request_metrics`). A file belongs to a place among the workers, not to a process: the worker after a
dead one continues its counts. So counters never fall, and there are never more files than places.
"""

import gc
import os
import shutil
from pathlib import Path
from typing import Any

from benchsite.core.env import METRICS_FOLDER_VARIABLE, METRICS_NUMBER_VARIABLE

preload_app = True  # Workers share its memory, and begin at once.


def on_starting(arbiter: Any) -> None:
    """Nothing is counted yet, whatever an earlier life of this server left in the folder.

    What is loaded now stays for good: the garbage collector need not look through it again, which would copy it into
    each worker.
    """
    if folder := os.environ.get(METRICS_FOLDER_VARIABLE):
        shutil.rmtree(folder, ignore_errors=True)
        Path(folder).mkdir(parents=True)
    gc.collect()
    gc.freeze()


def pre_fork(arbiter: Any, worker: Any) -> None:
    """The first place that is free: gunicorn forgets a worker once its process is gone, and no sooner."""
    taken = {other.counting_place for other in arbiter.WORKERS.values()}
    worker.counting_place = next(place for place in range(len(taken) + 1) if place not in taken)


def post_fork(arbiter: Any, worker: Any) -> None:
    os.environ[METRICS_NUMBER_VARIABLE] = str(worker.counting_place)
