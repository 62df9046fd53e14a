"""A verdict as plain values. Throughput in ops/s, latencies in µs, thresholds as shares."""

import uuid
from dataclasses import dataclass, field

from reports.analysis.verdicts import ALGORITHM, VERSION


@dataclass(frozen=True, slots=True)
class Side:
    """The runs of one side that count."""

    runs: tuple[uuid.UUID, ...]
    commit: str = ""  # empty: of none, or of several
    branch: str = ""
    name: str = ""  # of a named baseline
    chosen: str = ""  # how these runs were chosen, as a sentence


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A run that is part of a side and does not count."""

    run: uuid.UUID
    name: str
    side: str  # "new" or "base"
    reason: str


@dataclass(frozen=True, slots=True)
class MetricAnswer:
    """One metric. `ratio` says how many times better the new side is: above 1 is better, also of latencies."""

    name: str
    unit: str
    kind: str  # of a latency: "service" or "response"
    state: str
    new: float | None  # geometric mean over the runs
    base: float | None
    ratio: float | None
    low: float | None  # of the 95 % interval of the ratio; None: there is none
    high: float | None
    new_runs: int
    base_runs: int
    new_sessions: int  # that the ratio is made of
    base_sessions: int  # with those of the history at the same level
    threshold: float
    p: float | None
    adjusted_p: float | None
    needs_more_repeats: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class Differs:
    field: str
    detail: str


@dataclass(frozen=True, slots=True)
class EnvironmentAnswer:
    comparable: bool = True
    differs: tuple[Differs, ...] = ()
    ignored: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class VerdictAnswer:
    """What is said of new runs against a baseline, and everything it is said by."""

    verdict: str
    reasons: tuple[str, ...]
    new: Side
    base: Side | None = None  # None: there is nothing to judge against
    metrics: tuple[MetricAnswer, ...] = ()
    environment: EnvironmentAnswer = field(default_factory=EnvironmentAnswer)
    left_out: tuple[LeftOut, ...] = ()
    needs_more_repeats: int | None = None
    noise_floor: float | None = None
    pending: bool = False  # the run has not ended
    flagged: bool = False  # worse in its only session: measure it again in a new one
    tests: int = 1  # of the commit, over which the error is shared
    test: str = ""  # the `config_key` of the runs: which test they are measurements of
    algorithm: str = ALGORITHM
    algorithm_version: int = VERSION

    @property
    def headline(self) -> str:
        """The verdict as one sentence."""
        return self.reasons[0]
