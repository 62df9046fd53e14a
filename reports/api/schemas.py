"""What the API says of verdicts and baselines. The fields are those of `reports.verdicts.answers`."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from ninja import Schema
from pydantic import ConfigDict, Field

from benchsite.rest.schemas import RequestSchema

VerdictWord = Literal["pass", "improvement", "regression", "mixed", "inconclusive", "error"]


class SideAnswer(Schema):
    """The runs of one side that count."""

    runs: list[UUID]
    commit: str = Field(description="Empty: of none, or of several.")
    branch: str
    name: str = Field(description="Of a named baseline; empty: it has no name.")
    chosen: str = Field(description="How these runs were chosen, as a sentence.")


class LeftOutAnswer(Schema):
    """A run that is part of a side and does not count: rejected, excluded, failed."""

    run: UUID
    name: str
    side: Literal["new", "base"]
    reason: str


class MetricAnswer(Schema):
    """One metric. Throughput in ops/s, latencies in µs; means over the runs are geometric."""

    name: str = Field(description="`throughput`, `READ mean`, `READ p99`.")
    unit: Literal["ops/s", "µs"]
    kind: str = Field(description="Of a latency: `service` or `response`.")
    state: Literal["improved", "regressed", "held", "flagged", "inconclusive", "not comparable"]
    new: float | None
    base: float | None
    ratio: float | None = Field(description="How many times better the new side is, of latencies too; null: none.")
    low: float | None = Field(description="Lower end of the ratio's 95 % interval; null: there is no interval.")
    high: float | None
    new_runs: int
    base_runs: int
    new_sessions: int = Field(description="Sessions (CI jobs) that the ratio is made of.")
    base_sessions: int = Field(description="With those of the test's history at the same level.")
    threshold: float = Field(description="The practical threshold, as a share.")
    p: float | None
    adjusted_p: float | None = Field(description="By Holm, among the metrics of all tests and looks.")
    needs_more_repeats: int | None = Field(
        description="Sessions of each side; null: none is lacking, or no number helps."
    )
    reason: str


class DiffersAnswer(Schema):
    field: str = Field(description="What differs, in a word: `hardware`, `workload`, `threads`, `mode` ...")
    detail: str


class EnvironmentAnswer(Schema):
    """Whether both sides were measured under the same conditions."""

    comparable: bool
    differs: list[DiffersAnswer]
    ignored: list[str] = Field(description="What differs and is what a verdict is about, such as the version.")
    unknown: list[str] = Field(description="What nobody stated; it stops nothing.")


class VerdictDocument(Schema):
    """What is said of new runs against a baseline, and everything it is said by."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "verdict": "regression",
                    "reasons": ["Regression: worse in throughput.", "Throughput is 12 % lower: ratio 0.880 ..."],
                    "needs_more_repeats": None,
                    "pending": False,
                    "algorithm": "three keys, session means 1, Holm",
                    "algorithm_version": 2,
                }
            ]
        }
    )

    verdict: VerdictWord
    reasons: list[str] = Field(description="Whole sentences; the first says the verdict.")
    new: SideAnswer
    base: SideAnswer | None = Field(description="Null: there is nothing to judge against yet.")
    metrics: list[MetricAnswer]
    environment: EnvironmentAnswer
    left_out: list[LeftOutAnswer]
    needs_more_repeats: int | None
    noise_floor: float | None = Field(
        description="What the same test differs by in another session on these machines; null: unknown."
    )
    flagged: bool = Field(description="Worse in its only session: measure this test again in a new session (CI job).")
    tests: int = Field(description="Tests of the commit, over which the error is shared.")
    pending: bool = Field(description="The run has not ended: ask again, or with `wait`.")
    test: str = Field(description="Which test the runs are measurements of; equal for those of one history.")
    algorithm: str
    algorithm_version: int


class CompareAnswer(Schema):
    """Two groups of runs, test by test."""

    verdict: VerdictWord = Field(description="What the verdicts of all tests come to.")
    comparisons: list[VerdictDocument]
    only_new: list[str] = Field(description="Tests that the base has no run of; by name.")
    only_base: list[str]
    algorithm: str
    algorithm_version: int


class BaselineAnswer(Schema):
    """A name for runs that others are judged against. The runs it pins cannot be deleted."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "name": "release-1.2",
                    "runs": ["0197f9d4-8a52-7c31-9d4e-1f6a3f1b2c4d"],
                    "tests": 1,
                    "rule": "The counted runs of commit 3f2a91c.",
                    "thresholds": {"READ p99": 0.2},
                    "set_by": "ci",
                    "set_at": "2026-03-01T12:00:00Z",
                }
            ]
        }
    )

    name: str
    runs: list[UUID]
    tests: int = Field(description="How many different tests the runs are of.")
    rule: str = Field(description="How the runs were chosen.")
    thresholds: dict[str, float] = Field(description="Practical thresholds as shares, by metric or statistic.")
    set_by: str
    set_at: datetime


class BaselineList(Schema):
    """All baselines of the team, by name."""

    items: list[BaselineAnswer]
    default_rule: str = Field(description="What a run is judged against where no baseline is named.")


class BaselineChange(RequestSchema):
    """What the name is to stand for: these runs, or the runs of a commit that count."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"commit": "3f2a91c"}, {"runs": ["0197f9d4-8a52-7c31-9d4e-1f6a3f1b2c4d"]}]},
    )

    runs: list[UUID] | None = Field(None, min_length=1, max_length=500)
    commit: str | None = Field(None, min_length=4, max_length=64, pattern=r"^[A-Za-z0-9._-]+$")
    thresholds: dict[str, float] | None = Field(
        None, description="Shares, such as 0.05; by `throughput`, `mean`, `p99`, or of one operation, `READ p99`."
    )
