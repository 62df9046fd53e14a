"""One fault: when it is caused, how, for how long, and which failure of a run it excuses."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from benchmarks.faults.site import FaultSite
from runs.models.run import Phase, Stage
from runs.queue.reasons import Reason

Cause = Callable[[FaultSite], AbstractContextManager[None]]


@dataclass(frozen=True, slots=True)
class Moment:
    """A stage of the first run of a phase; `delay_s` seconds into it."""

    phase: Phase
    stage: Stage
    delay_s: float = 0.0

    def __str__(self) -> str:
        return self.stage.label if self.phase == Phase.MEASURE else f"{self.stage.label}, load"


LOADING = Moment(Phase.LOAD, Stage.LOADING, 1.5)
MEASURING = Moment(Phase.MEASURE, Stage.MEASURING, 2.0)
IDLE = None  # before the matrix is submitted


@dataclass(frozen=True, slots=True)
class Fault:
    """`cause` is a context: the fault lasts from its start to its end, `outage_s` seconds later."""

    name: str
    cause: Cause
    moment: Moment | None
    outage_s: float
    # The fault itself destroys what the struck run measures: that run may fail, with one of these reasons.
    excuses: frozenset[Reason]
    environment: Cause | None  # of a site of its own, for all tries


FAULTS: dict[str, Fault] = {}


def fault(
    name: str,
    *,
    moment: Moment | None,
    outage_s: float = 0.0,
    excuses: frozenset[Reason] = frozenset(),
    environment: Cause | None = None,
) -> Callable[[Callable[[FaultSite], Iterator[None]]], None]:
    """Registers a generator function as a fault: it causes the fault, yields once, and ends the fault."""

    def register(cause: Callable[[FaultSite], Iterator[None]]) -> None:
        FAULTS[name] = Fault(name, contextmanager(cause), moment, outage_s, excuses, environment)

    return register
