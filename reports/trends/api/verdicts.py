"""Verdicts of runs against a baseline, and comparisons of any two groups of runs."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db import connection
from django.http import HttpRequest
from ninja import Query, Schema
from pydantic import Field, TypeAdapter

from benchsite.accounts.models import Scope
from benchsite.rest.authentication import Needs, bearer_in, team_in
from benchsite.rest.problems import Fault, Problem
from benchsite.rest.schemas import RequestSchema, Word, owned, refusals
from reports.api.routers import verdicts
from reports.trends.analysis.verdict_rules import Verdict, combined
from reports.trends.baselines import BaselineRefused, accept_level
from reports.trends.queries.baselines import runs_named, runs_with_sweep
from reports.trends.upload_alerts import tell
from reports.trends.verdicts.baseline_selection import BaselineUnknown, verdict_of_run
from reports.trends.verdicts.builds import NoSuchBuild, judge_builds
from reports.trends.verdicts.serialization import BuildsAnswer, CompareAnswer, SideAnswer, VerdictDocument
from reports.trends.verdicts.sides import Incomparable, compared
from runs.models import Matrix, Run, Status

MAX_S: Final = 30
MAX_WAITING: Final = 4
RETRY_AFTER_S: Final = 10
EVERY_S: Final = 0.5
# They hold over all processes, and go when a connection goes.
_LOCKS: Final = 0x62_65_6E_63  # "benc": the class of these locks
DOCUMENTS: Final = TypeAdapter(list[VerdictDocument])
MAX_JUDGED: Final = 20  # runs of one upload


class TooManyWaiting(Exception):
    """Every slot is taken: ask again later."""


@contextmanager
def take_waiting_slot() -> Iterator[None]:
    """One of the few slots of those who wait. Raises TooManyWaiting."""
    with connection.cursor() as cursor:
        for number in range(MAX_WAITING):
            if _try_lock(cursor, number):
                break
        else:
            raise TooManyWaiting
        try:
            yield
        finally:
            cursor.execute("SELECT pg_advisory_unlock(%s, %s)", [_LOCKS, number])


def _try_lock(cursor, number: int) -> bool:  # type: ignore[no-untyped-def]
    cursor.execute("SELECT pg_try_advisory_lock(%s, %s)", [_LOCKS, number])
    (is_locked,) = cursor.fetchone()
    return bool(is_locked)


def wait_for_end(run: Run, seconds: float) -> None:
    """Until the run has ended, or so long; its row is read anew. Raises TooManyWaiting where it would have to wait."""
    if run.status in Status.terminal() or seconds <= 0:
        return
    left_s: float = min(seconds, MAX_S)
    until = time.monotonic() + left_s
    with take_waiting_slot():
        while run.status not in Status.terminal() and left_s > 0:
            time.sleep(min(EVERY_S, left_s))
            run.refresh_from_db(fields=["status", "finished_at", "verdict", "throughput_ops_s", "reason", "evidence"])
            left_s = until - time.monotonic()


def against_a_baseline(request: HttpRequest, runs: Sequence[Run]) -> Mapping[str, Any]:
    """`against`: the verdicts of the measured runs, and what they come to. Nothing where nobody asked for it."""
    name = request.GET.get("baseline", "").replace("\0", "")[:200]
    if not name and request.GET.get("judge", "") not in ("1", "true"):
        return {}
    measured = [run.pk for run in runs if run.phase == "measure"][:MAX_JUDGED]
    verdicts = [_judge_upload(run, name) for run in runs_named(runs[0].team, measured)]
    return {
        "against": {
            "verdict": str(combined([Verdict(document.verdict) for document in verdicts])),
            "verdicts": DOCUMENTS.dump_python(verdicts, mode="json"),
        }
    }


def _judge_upload(run: Run, name: str) -> VerdictDocument:
    """The upload is stored: an unknown baseline does not undo it, and is the reason of the verdict."""
    try:
        document = verdict_of_run(run, baseline=name)
    except BaselineUnknown:
        reason = f"Not judged: your team has no baseline “{name}”. Set it with PUT /api/v1/baselines/{{name}}."
        return VerdictDocument("inconclusive", (reason,), SideAnswer((run.pk,)), test=run.config_key)
    tell(run, document)
    return document


class Thresholds(Schema):
    """Other practical thresholds than the baseline's or the usual ones."""

    throughput_percent: float | None = Field(None, ge=0.1, le=1000, description="5 unless the baseline says other.")
    mean_percent: float | None = Field(None, ge=0.1, le=1000, description="Of mean latencies; 5.")
    p99_percent: float | None = Field(None, ge=0.1, le=1000, description="Of p99 latencies; 10.")

    def shares(self) -> dict[str, float]:
        percents = {"throughput": self.throughput_percent, "mean": self.mean_percent, "p99": self.p99_percent}
        return {name: value / 100 for name, value in percents.items() if value is not None}


class VerdictQuery(Thresholds):
    """Against what, and for how long to wait."""

    baseline: Word = Field("", description="A baseline's name; empty: what the rule finds.")
    branch: Word = Field("", description="Where the rule looks; empty: main, else master, else trunk, else its own.")
    wait: float = Field(0, ge=0, le=MAX_S, description="Seconds to wait for the end of a run that is going.")


class CompareQuery(Thresholds):
    """Run ids (commas between them), a baseline, a commit or its first seven characters, `branch:NAME` (its
    newest commit), `this-week`, `last-week` (the default branch).
    """

    base: Word = Field(min_length=1)
    new: Word = Field(min_length=1)


@verdicts.get(
    "/runs/{uuid:run_id}/verdict",
    response={200: VerdictDocument, **refusals(503)},
    auth=Needs(Scope.RUNS_READ),
    summary="Judge a run against a baseline",
)
def get_verdict(request: HttpRequest, run_id: UUID, query: Query[VerdictQuery]) -> VerdictDocument:
    """The run and the other repeats of its commit, against a named baseline or what the rule finds.

    A verdict needs three keys: an effect beyond the practical threshold, an interval that agrees, and environments that
    are alike. Where one is missing it is `inconclusive`; where no new run counts, `error`.
    """
    run: Run = owned(runs_with_sweep().select_related("team"), run_id)
    try:
        wait_for_end(run, query.wait)
        document = verdict_of_run(run, baseline=query.baseline, branch=query.branch, thresholds=query.shares())
    except BaselineUnknown as unknown:
        no_baseline = Problem(
            "not-found",
            f"Your team has no baseline “{unknown!s}”. Set it with PUT /api/v1/baselines/{{name}}.",
            errors=[{"pointer": "query.baseline", "detail": "no baseline of this name", "code": "baseline"}],
        )
        raise no_baseline from unknown
    except TooManyWaiting:
        raise Problem(
            "overloaded",
            "Too many requests wait for runs already. Ask without `wait`, or again later.",
            headers={"Retry-After": str(RETRY_AFTER_S)},
        ) from None

    # What somebody tries out with other rules is no news, and who may only read sends no mail.
    if not (query.branch or query.shares()) and Scope.RUNS_WRITE in bearer_in(request).scopes:
        tell(run, document)
    return document


class Acceptance(RequestSchema):
    """Why the new level is acceptable."""

    note: Word = Field("", description="Shown beside the change.")


class AcceptanceAnswer(Schema):
    """The level with which later commits are compared."""

    test: str
    run: UUID = Field(description="The first run of the level.")
    commit: str
    note: str
    accepted_at: datetime


@verdicts.post(
    "/runs/{uuid:run_id}/accept",
    response={200: AcceptanceAnswer},
    auth=Needs(Scope.RUNS_WRITE),
    operation_id="accept_level",
    summary="Accept the level of a test that begins with a commit",
)
def accept(request: HttpRequest, run_id: UUID, acceptance: Acceptance) -> AcceptanceAnswer:
    """A loss stays a regression until later commits are back at the level, or a person accepts the new one: then the
    test is compared with nothing before this run's commit.
    """
    run: Run = owned(runs_with_sweep().select_related("team"), run_id)
    try:
        point = accept_level(run, bearer_in(request).user, acceptance.note)
    except BaselineRefused as refused:
        raise Problem("validation-error", str(refused)) from refused
    return AcceptanceAnswer(
        test=point.config_key, run=point.run_id, commit=run.commit, note=point.note, accepted_at=point.changed_at
    )


class BuildsQuery(Schema):
    new: Word = Field("", description="The name of a build; empty: the first of the plan.")
    base: Word = Field("", description="Empty: the second.")


@verdicts.get(
    "/matrices/{uuid:matrix_id}/verdict",
    response={200: BuildsAnswer, **refusals(404)},
    auth=Needs(Scope.RUNS_READ, Scope.MATRICES_RUN),
    operation_id="judge_builds",
    summary="Judge the builds of one plan against each other",
)
def get_builds_verdict(request: HttpRequest, matrix_id: UUID, query: Query[BuildsQuery]) -> BuildsAnswer:
    """Repeats that the plan interleaves are compared block by block, so no session beside it is needed. The first
    comparison is the verdict; the others say how both builds stand to the further ones.
    """
    matrix = owned(Matrix.objects.select_related("team"), matrix_id)
    try:
        return judge_builds(matrix, query.new, query.base)
    except NoSuchBuild as error:
        raise Problem("not-found", str(error)) from error


@verdicts.get(
    "/compare",
    response={200: CompareAnswer, **refusals(404, 422)},
    auth=Needs(Scope.RUNS_READ),
    summary="Compare two groups of runs, test by test",
)
def compare(request: HttpRequest, query: Query[CompareQuery]) -> CompareAnswer:
    """Each test that both groups have runs of is judged. Where none may be compared, the problem says which fields
    differ (`incomparable`).
    """
    try:
        return compared(team_in(request), query.base, query.new, query.shares())
    except Incomparable as refused:
        errors: list[Fault] = [
            {"pointer": f"environment.{difference.field}", "detail": difference.detail, "code": difference.field}
            for difference in refused.differs
        ]
        raise Problem("incomparable", str(refused), errors=errors) from refused
