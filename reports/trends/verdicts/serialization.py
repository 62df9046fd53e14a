"""A verdict as the API says it. Throughput in ops/s, latencies in µs, thresholds as shares."""

import datetime as dt
import uuid
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from ninja import Schema
from pydantic import ConfigDict, Field

from reports.compare.analysis.comparability import EnvironmentAnswer, required_fields
from reports.trends.analysis.verdict_rules import ALGORITHM, VERSION

VerdictWord = Literal["pass", "improvement", "regression", "mixed", "inconclusive", "error"]


def described(description: str) -> object:
    """A field's text in the API's description."""
    return Field(description=description)


def describe_verdict(schema: dict[str, Any]) -> None:
    required_fields(schema)
    schema["examples"] = [
        {
            "verdict": "regression",
            "reasons": ["Regression: throughput 12 % lower.", "Throughput is 12 % lower: ratio 0.880 ..."],
            "needs_more_repeats": None,
            "pending": False,
            "since": "3f2a91c",
            "algorithm": "three keys, levels of sessions 1, Bonferroni and Holm",
            "algorithm_version": VERSION,
        }
    ]


@dataclass(frozen=True, slots=True)
class SideAnswer:
    """The runs of one side that count."""

    __pydantic_config__ = ConfigDict(json_schema_extra=required_fields)

    runs: tuple[uuid.UUID, ...]
    commit: Annotated[str, described("Empty: of none, or of several.")] = ""
    branch: str = ""
    name: Annotated[str, described("Of a named baseline; empty: it has no name.")] = ""
    chosen: Annotated[str, described("How these runs were chosen, as a sentence.")] = ""


class LeftOutAnswer(Schema):
    """A run that is part of a side and does not count: rejected, excluded, failed."""

    run: uuid.UUID
    name: str
    side: Literal["new", "base"]
    reason: str


class MetricAnswer(Schema):
    """One metric. Throughput in ops/s, latencies in µs; values are geometric means of sessions."""

    name: str = Field(description="`throughput`, `READ mean`, `READ p99`.")
    unit: Literal["ops/s", "µs"]
    kind: str = Field(description="Of a latency: `service` or `response`.")
    state: Literal["improved", "regressed", "held", "accepted", "flagged", "inconclusive", "not comparable"]
    new: float | None = Field(description="Of the sessions that the ratio is made of.")
    base: float | None
    new_measured: float | None = Field(
        description="Of the side's own runs, as its point of the history has it; `new` may be of a level."
    )
    base_measured: float | None
    ratio: float | None = Field(description="How many times better the new side is, of latencies too; null: none.")
    low: float | None = Field(description="Lower end of the ratio's 95 % interval; null: there is no interval.")
    high: float | None
    new_runs: int
    base_runs: int
    new_sessions: int = Field(description="Sessions (CI jobs), or blocks of one plan, that the ratio is made of.")
    base_sessions: int = Field(description="With those of the test's history at the same level.")
    threshold: float = Field(description="The practical threshold, as a share.")
    p: float | None
    adjusted_p: float | None = Field(description="By Holm, among the metrics of all tests and looks.")
    needs_more_repeats: int | None = Field(
        description="Sessions of each side; null: none is lacking, or no number helps."
    )
    reason: str


@dataclass(frozen=True, slots=True)
class VerdictDocument:
    """What is said of new runs against a baseline, and everything it is said by."""

    __pydantic_config__ = ConfigDict(json_schema_extra=describe_verdict)

    verdict: VerdictWord
    reasons: Annotated[tuple[str, ...], described("Whole sentences; the first says what was found.")]
    new: SideAnswer
    base: Annotated[SideAnswer | None, described("Null: there is nothing to judge against yet.")] = None
    metrics: tuple[MetricAnswer, ...] = ()
    environment: EnvironmentAnswer = field(default_factory=EnvironmentAnswer)
    left_out: tuple[LeftOutAnswer, ...] = ()
    needs_more_repeats: int | None = None
    noise_floor: Annotated[
        float | None,
        described("What the same test differs by in another session on these machines; null: unknown."),
    ] = None
    flagged: Annotated[
        bool, described("Worse in its only session: measure this test again in a new session (CI job).")
    ] = False
    since: Annotated[str, described("The commit with which a loss that lasts began; empty: none is open.")] = ""
    since_run: Annotated[uuid.UUID | None, described("The first run of that loss.")] = None
    accepted_run: Annotated[
        uuid.UUID | None, described("Of a loss that a person accepted: the run with which that level begins.")
    ] = None
    tests: Annotated[int, described("Tests of the commit, over which the error is shared.")] = 1
    certainty: Annotated[str, described("How sure the verdict is, in a sentence; empty where nothing was judged.")] = ""
    pending: Annotated[bool, described("The run has not ended: ask again, or with `wait`.")] = False
    test: Annotated[str, described("Which test the runs are measurements of; equal for those of one history.")] = ""
    algorithm: str = ALGORITHM
    algorithm_version: int = VERSION

    @property
    def headline(self) -> str:
        """The verdict as one sentence."""
        return self.reasons[0]


class CompareAnswer(Schema):
    """Two groups of runs, test by test."""

    model_config = ConfigDict(json_schema_extra=required_fields)

    verdict: VerdictWord = Field(description="What the verdicts of all tests come to.")
    comparisons: tuple[VerdictDocument, ...]
    only_new: tuple[str, ...] = Field(description="Tests that the base has no run of; by name.")
    only_base: tuple[str, ...]
    algorithm: str = ALGORITHM
    algorithm_version: int = VERSION


class BuildAnswer(Schema):
    """One build of a plan. Empty: not known."""

    name: str
    version: str = Field(description="As the server says.")
    commit: str
    branch: str
    committed_at: dt.datetime | None
    digest: str = Field(description="SHA-256 over its files, or the digest of its image.")
    counted: int = Field(description="Its measured runs that count.")


class BuildComparisonAnswer(Schema):
    """One build against another, test by test."""

    new: str = Field(description="The name of a build.")
    base: str
    verdict: VerdictWord
    tests: tuple[VerdictDocument, ...]


class BuildsAnswer(Schema):
    """The builds of one plan against each other."""

    model_config = ConfigDict(json_schema_extra=required_fields)

    verdict: VerdictWord = Field(description="That of the first comparison.")
    pending: bool = Field(description="Runs of the plan have not ended: ask again, or with `wait`.")
    builds: tuple[BuildAnswer, ...]
    comparisons: tuple[BuildComparisonAnswer, ...]
    algorithm: str = ALGORITHM
    algorithm_version: int = VERSION
