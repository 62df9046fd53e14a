"""Named baselines, and the runs they pin."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from django.http import HttpRequest
from ninja import Path, Schema
from pydantic import ConfigDict, Field, StringConstraints

from benchsite.accounts.models import Scope, Team
from benchsite.core.formatting import counted
from benchsite.rest.authentication import Needs, bearer_in, team_in
from benchsite.rest.problems import Problem
from benchsite.rest.schemas import RequestSchema
from reports.api.routers import baselines
from reports.models import Baseline
from reports.trends.baselines import BaselineRefused, set_baseline
from reports.trends.messages import (
    NAMED_ONE_BY_ONE,
    NO_RUN_OF_COMMIT,
    RUN_MISSING,
    RUNS_OF_COMMIT,
    RUNS_OR_COMMIT,
    SEVERAL_COMMITS,
)
from reports.trends.queries.baselines import (
    baseline_named,
    baselines_with_runs,
    commits_like,
    pinned_runs,
    runs_named,
    runs_of_commit,
)
from reports.trends.verdicts.baseline_selection import RULE
from runs.models import Run


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


Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$")]


def build_answer(baseline: Baseline, runs: list[Run]) -> BaselineAnswer:
    return BaselineAnswer(
        name=baseline.name,
        runs=[run.pk for run in runs],
        tests=len({run.config_key for run in runs}),
        rule=baseline.chosen,
        thresholds=baseline.thresholds,
        set_by=baseline.set_by.get_username() if baseline.set_by else "",
        set_at=baseline.set_at,
    )


@baselines.get("/baselines", response={200: BaselineList}, auth=Needs(Scope.RUNS_READ), summary="List baselines")
def list_baselines(request: HttpRequest) -> BaselineList:
    items = [build_answer(baseline, list(baseline.runs.all())) for baseline in baselines_with_runs(team_in(request))]
    return BaselineList(items=items, default_rule=RULE)


@baselines.get(
    "/baselines/{name}", response={200: BaselineAnswer}, auth=Needs(Scope.RUNS_READ), summary="Read one baseline"
)
def get_baseline(request: HttpRequest, name: Path[Name]) -> BaselineAnswer:
    baseline = baseline_named(team_in(request), name)
    if baseline is None:
        raise Problem("not-found", f"Your team has no baseline “{name}”.")
    return build_answer(baseline, pinned_runs(baseline))


@baselines.put(
    "/baselines/{name}",
    response={200: BaselineAnswer},
    auth=Needs(Scope.RUNS_WRITE),
    operation_id="set_baseline",
    summary="Let a name stand for these runs",
)
def put_baseline(request: HttpRequest, name: Path[Name], change: BaselineChange) -> BaselineAnswer:
    """The runs are pinned: they cannot be deleted until the name stands for others. Only runs that count can be."""
    team, user = team_in(request), bearer_in(request).user
    runs, chosen = _choose_runs(team, change)
    try:
        baseline = set_baseline(team, user, name, runs, chosen=chosen, thresholds=change.thresholds)
    except BaselineRefused as refused:
        fault = {"pointer": f"#/{refused.field}", "detail": str(refused), "code": refused.field}
        raise Problem("validation-error", str(refused), errors=[fault]) from refused  # type: ignore[list-item]
    return build_answer(baseline, pinned_runs(baseline))


def _choose_runs(team: Team, change: BaselineChange) -> tuple[list[Run], str]:
    """The runs that are asked for, and how they were."""
    if (change.runs is None) == (change.commit is None):
        raise Problem("validation-error", RUNS_OR_COMMIT)
    if change.runs is not None:
        runs = runs_named(team, change.runs)
        if len(runs) < len(set(change.runs)):
            raise Problem("not-found", RUN_MISSING)
        return runs, NAMED_ONE_BY_ONE.format(runs=counted(len(runs), "run"))

    commits = commits_like(team, change.commit or "")
    if len(commits) > 1:
        raise Problem("validation-error", SEVERAL_COMMITS.format(commit=change.commit))

    runs = runs_of_commit(team, commits[0], counted=True) if commits else []
    if not runs:
        raise Problem("not-found", NO_RUN_OF_COMMIT.format(commit=change.commit))

    return runs, RUNS_OF_COMMIT.format(commit=commits[0][:12])
