"""Guards end a run that cannot succeed any more, whatever its purpose; what was measured until then is kept."""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchsite.core.formatting import grouped, percent, size
from runs.results.measures.host import MAX_DISK_SHARE
from runs.timeouts import CLIENT_ERRORS_TIMEOUT_S, CLIENT_STALL_TIMEOUT_S
from workers.generator.messages import DISK_FULL, NO_PROGRESS, TOO_MANY_ERRORS

MAX_ERROR_SHARE: Final = 0.5  # of the operations in one status interval


@dataclass(slots=True)
class ProgressGuard:
    """Watches the operations of one client. All times are seconds on one monotonic clock."""

    started_s: float
    _succeeded_s: float = 0.0  # when operations last succeeded
    _failing_s: float | None = None  # since when most operations fail
    _last_failing_s: float = 0.0  # the last interval in which they did
    _failed: int = 0  # operations since then
    _operations: int = 0

    def __post_init__(self) -> None:
        self._succeeded_s = self.started_s

    def add(self, now_s: float, succeeded: float, failed: float) -> None:
        """The operations of one status interval. An interval without any operation says nothing of errors."""
        if succeeded:
            self._succeeded_s = now_s
        if failed <= MAX_ERROR_SHARE * (succeeded + failed):
            if succeeded:
                self._failing_s, self._failed, self._operations = None, 0, 0
            return
        if self._failing_s is None:
            self._failing_s = now_s
        self._last_failing_s = now_s
        self._failed += round(failed)
        self._operations += round(succeeded + failed)

    def errors(self) -> str:
        """Why most operations have failed for too long, as a sentence; mostly empty."""
        if self._failing_s is None or self._last_failing_s - self._failing_s < CLIENT_ERRORS_TIMEOUT_S:
            return ""
        return TOO_MANY_ERRORS.format(
            failed=grouped(self._failed),
            operations=grouped(self._operations),
            seconds=grouped(self._last_failing_s - self._failing_s),
            max_share=percent(MAX_ERROR_SHARE),
            max_seconds=grouped(CLIENT_ERRORS_TIMEOUT_S),
        )

    def stall(self, now_s: float) -> str:
        """Why no operation has succeeded for too long, as a sentence; mostly empty."""
        if now_s - self._succeeded_s < CLIENT_STALL_TIMEOUT_S:
            return ""
        return NO_PROGRESS.format(seconds=grouped(now_s - self._succeeded_s))


def disk_problem(folder: Path, what: str) -> str:
    """Why the file system of `folder` is too full to measure on, as a sentence; mostly empty. As `df`, without what is
    reserved for root.
    """
    usage = shutil.disk_usage(folder)
    share = usage.used / ((usage.used + usage.free) or 1)
    if share <= MAX_DISK_SHARE:
        return ""
    return DISK_FULL.format(
        what=what, folder=folder, share=percent(share), free=size(usage.free), limit=percent(MAX_DISK_SHARE)
    )
