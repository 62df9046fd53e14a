"""What the API says of runs, wherever it says it."""

from datetime import datetime
from uuid import UUID

from django.http import HttpRequest
from django.urls import reverse
from ninja import Schema
from pydantic import ConfigDict, Field

from runs.models import Run

ROOT = "/api/v1"
SOURCE = (
    "`scheduled`: run by this site; `uploaded`: run elsewhere; `by_hand`: planned here and run by a person with the "
    "plan's kit, whose outputs were brought."
)


class RunLinks(Schema):
    """Where to read on; addresses of this site."""

    self: str
    page: str = Field(description="The run's page, for people.")
    measurements: str
    series: str
    findings: str
    events: str
    artifacts: str
    verdict: str = Field(description="Its verdict against a baseline.")
    sweep: str | None = Field(description="The curve it is a point of.")
    matrix: str | None = Field(description="The plan it comes from; null: uploaded.")


class RunAnswer(Schema):
    """One run: one measured point, in short. Its numbers are at `links.measurements`."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "id": "0197f9d4-8a52-7c31-9d4e-1f6a3f1b2c4d",
                    "name": "redis always A 16t r1",
                    "permalink": "https://benchsite.example/runs/0197f9d4-8a52-7c31-9d4e-1f6a3f1b2c4d/",
                    "system": "redis",
                    "mode": "always",
                    "database": "redis",
                    "version": "7.0.15",
                    "workload": "A",
                    "threads": 16,
                    "repeat": 1,
                    "status": "succeeded",
                    "verdict": "pass",
                    "throughput_ops_s": 48211.5,
                    "labels": ["nightly"],
                }
            ]
        }
    )

    id: UUID
    name: str
    permalink: str = Field(description="The run's page, with the site's address where it is known.")
    source: str = Field(description=SOURCE)
    phase: str = Field(description="`measure`, or `load`: the data set was written.")
    system: str
    mode: str = Field(description="The durability mode.")
    database: str
    version: str = Field(description="Of the system, as stated.")
    workload: str
    purpose: str
    threads: int = Field(description="Over all clients.")
    target_ops_s: int | None = Field(description="The load offered by all clients; null: as much as they could.")
    repeat: int
    status: str = Field(description="queued, dispatched, running, succeeded, failed or cancelled.")
    stage: str
    reason: str = Field(description="Why it did not succeed; empty: it did, or is not over.")
    reason_detail: str
    verdict: str = Field(description="The worst finding of the validity checks: pass, warn, reject; empty: not judged.")
    checks: int | None = Field(description="Validity checks that apply to it; null: not judged.")
    checks_assessed: int | None = Field(description="Of them: those that had their data. The others are no pass.")
    verdict_override: str = Field(description="The written reason for counting a rejected run; empty: none.")
    throughput_ops_s: float | None = Field(description="Successful operations per second in the measured window.")
    excluded_reason: str = Field(description="Why it is left out of comparisons; empty: it is not.")
    commit: str = Field(description="Of the code that was measured.")
    branch: str
    labels: list[str]
    notes: str
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    links: RunLinks


def run_answer(run: Run, request: HttpRequest | None = None) -> RunAnswer:
    """One run as the API says it; `sweep` should have been selected with it. With a request its permalink is whole."""
    page = reverse("run", args=[run.pk])
    sweep = run.sweep
    return RunAnswer(
        id=run.pk,
        name=run.name,
        permalink=request.build_absolute_uri(page) if request is not None else page,
        source=run.source,
        phase=run.phase,
        system=run.system,
        mode=run.mode,
        database=sweep.database_name if sweep else run.spec["database"]["name"],
        version=sweep.version if sweep else run.spec["database"]["version"],
        workload=run.workload_name,
        purpose=run.purpose,
        threads=run.threads,
        target_ops_s=run.target_ops_s,
        repeat=run.repeat,
        status=run.status,
        stage=run.stage,
        reason=run.reason,
        reason_detail=run.reason_detail,
        verdict=run.verdict,
        checks=run.checks,
        checks_assessed=run.checks_assessed,
        verdict_override=run.verdict_override,
        throughput_ops_s=run.throughput_ops_s,
        excluded_reason=run.excluded_reason,
        commit=run.commit,
        branch=run.branch,
        labels=run.tags,
        notes=run.notes,
        created_at=run.created_at,
        started_at=run.started_at,
        finished_at=run.finished_at,
        links=_links(run, page),
    )


def _links(run: Run, page: str) -> RunLinks:
    own = f"{ROOT}/runs/{run.pk}"
    return RunLinks(
        self=own,
        page=page,
        measurements=f"{own}/measurements",
        series=f"{own}/series",
        findings=f"{own}/findings",
        events=f"{own}/events",
        artifacts=f"{own}/artifacts",
        verdict=f"{own}/verdict",
        sweep=f"{ROOT}/sweeps/{run.sweep_id}" if run.sweep_id else None,
        matrix=f"{ROOT}/matrices/{run.matrix_id}" if run.matrix_id else None,
    )
