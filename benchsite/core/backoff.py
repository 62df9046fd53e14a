"""Repeats an operation that meets errors which may pass."""

import logging
import time
from collections.abc import Callable
from typing import Final, TypeVar

log = logging.getLogger(__name__)
# An outage of minutes loses nothing; a longer one ends the operation with its error.
RETRY_TIMEOUT_S: Final = 600.0
MIN_DELAY_S: Final = 0.1
MAX_DELAY_S: Final = 5.0

Result = TypeVar("Result")


def retry_with_backoff(
    operation: Callable[[], Result],
    *,
    errors: tuple[type[Exception], ...],
    check: Callable[[], None] = lambda: None,
    timeout_s: float = RETRY_TIMEOUT_S,
    is_transient: Callable[[Exception], bool] = lambda error: True,
) -> Result:
    """The operation's result, at its first attempt that meets none of `errors`.

    `check` is called before each new attempt, and ends the attempts by raising. An error that is not transient, and
    the last one after `timeout_s`, is raised.
    """
    end, delay_s = time.monotonic() + timeout_s, MIN_DELAY_S
    while True:
        try:
            return operation()
        except errors as error:
            if not is_transient(error) or time.monotonic() + delay_s > end:
                raise
            log.warning("%s; trying again in %.1f s.", str(error).strip().partition("\n")[0], delay_s)
        time.sleep(delay_s)
        delay_s = min(2 * delay_s, MAX_DELAY_S)
        check()
