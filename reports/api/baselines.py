"""Named baselines, and the runs they pin."""

from typing import Annotated

from django.http import HttpRequest
from ninja import Path
from pydantic import StringConstraints

from benchsite.rest.authentication import Needs, bearer_in, team_in
from benchsite.rest.problems import Problem
from benchsite.teams.models import Scope, Team
from reports.api.routers import baselines
from reports.api.schemas import BaselineAnswer, BaselineChange, BaselineList
from reports.baselines import BaselineRefused, set_baseline
from reports.models import Baseline
from reports.queries.baselines import (
    baseline_named,
    baselines_with_runs,
    commits_like,
    pinned_runs,
    runs_named,
    runs_of_commit,
)
from reports.verdicts.baseline_selection import RULE
from runs.models import Run

Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$")]


def answer_of(baseline: Baseline, runs: list[Run]) -> BaselineAnswer:
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
    items = [answer_of(baseline, list(baseline.runs.all())) for baseline in baselines_with_runs(team_in(request))]
    return BaselineList(items=items, default_rule=RULE)


@baselines.get(
    "/baselines/{name}", response={200: BaselineAnswer}, auth=Needs(Scope.RUNS_READ), summary="Read one baseline"
)
def get_baseline(request: HttpRequest, name: Path[Name]) -> BaselineAnswer:
    baseline = baseline_named(team_in(request), name)
    if baseline is None:
        raise Problem("not-found", f"Your team has no baseline “{name}”.")
    return answer_of(baseline, pinned_runs(baseline))


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
    runs, chosen = _chosen(team, change)
    try:
        baseline = set_baseline(team, user, name, runs, chosen=chosen, thresholds=change.thresholds)
    except BaselineRefused as refused:
        fault = {"pointer": f"#/{refused.field}", "detail": str(refused), "code": refused.field}
        raise Problem("validation-error", str(refused), errors=[fault]) from refused  # type: ignore[list-item]
    return answer_of(baseline, pinned_runs(baseline))


def _chosen(team: Team, change: BaselineChange) -> tuple[list[Run], str]:
    """The runs that are asked for, and how they were."""
    if (change.runs is None) == (change.commit is None):
        raise Problem("validation-error", "Give either `runs` or `commit`.")
    if change.runs is not None:
        runs = runs_named(team, change.runs)
        if len(runs) < len(set(change.runs)):
            raise Problem("not-found", "One of these runs is not there.")
        return runs, f"{len(runs)} run{'' if len(runs) == 1 else 's'}, named one by one."
    commits = commits_like(team, change.commit or "")
    if len(commits) > 1:
        raise Problem("validation-error", f"Several commits begin with “{change.commit}”. Give more of it.")
    runs = runs_of_commit(team, commits[0], counted=True) if commits else []
    if not runs:
        raise Problem("not-found", f"No run of the commit “{change.commit}” counts.")
    return runs, f"The counted runs of commit {commits[0][:12]}."
