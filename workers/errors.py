"""How a run fails: with a reason of `runs.queue.reasons.Reason` and a sentence that says what to do."""

from runs.queue.reasons import Reason


class RunFailed(Exception):
    """The run cannot succeed any more."""

    def __init__(self, reason: Reason, detail: str) -> None:
        self.reason, self.detail = reason, detail
        super().__init__(detail)
