"""Empties the page caches of servers under test by the command that the operator of the conductor wrote."""

import shlex
import subprocess
import time
from typing import Final

from django.conf import settings

from benchsite.core.child_environment import child_environment
from runs.models import Matrix, Run
from runs.queue.reasons import Reason
from workers.errors import RunFailed

TIMEOUT_S: Final = 300.0
MAX_OUTPUT: Final = 500  # characters


def drop_page_caches(run: Run) -> float | None:
    """The seconds that it took; None where the plan does not ask for it. Raises RunFailed."""
    if run.spec["resets"].get("rung") != Matrix.Reset.DROP_CACHES:
        return None
    if not settings.DROP_CACHES_COMMAND:
        raise RunFailed(
            Reason.BAD_PLAN,
            "The plan empties page caches between rungs, and this conductor has no command for it: set "
            "BENCHSITE_DROP_CACHES_COMMAND on its machine, or choose another reset.",
        )

    began = time.monotonic()
    try:
        subprocess.run(
            shlex.split(settings.DROP_CACHES_COMMAND),
            env=child_environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIMEOUT_S,
            check=True,
        )  # fmt: skip
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        raise RunFailed(Reason.BAD_PLAN, f"The command that empties page caches failed: {error}") from error
    except subprocess.CalledProcessError as error:
        output = (error.stderr or error.stdout)[-MAX_OUTPUT:].strip()
        text = f"The command that empties page caches ended with code {error.returncode}: {output}"
        raise RunFailed(Reason.BAD_PLAN, text) from error

    return round(time.monotonic() - began, 3)
