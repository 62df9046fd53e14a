"""What the API says of runs, wherever it says it."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal, TypeVar
from uuid import UUID

from django.db.models import Model, QuerySet
from django.urls import reverse
from ninja import Schema
from pydantic import ConfigDict, Field

from benchsite.rest.schemas import Moment, Word
from runs.models import Run

M = TypeVar("M", bound=Model)
ROOT = "/api/v1"
SOURCE = "`scheduled`: run by this site; `uploaded`: run elsewhere."


class OnPage(Schema):
    """An answer about a row that has a page, whose address has the name of the model."""

    @staticmethod
    def resolve_permalink(row: Model, context: Mapping[str, Any]) -> str:
        address: str = context["request"].build_absolute_uri(page_address(row))
        return address


def page_address(row: Model) -> str:
    """The path of the page of a row."""
    return reverse(str(row._meta.model_name), args=[row.pk])


class RowSelection(Schema):
    """Which runs or sweeps; what is left out restricts nothing."""

    system: Word | None = Field(None, description="Its slug in the catalog, such as `redis`.")
    database: Word | None = Field(None, description="The database's name.")
    mode: Word | None = Field(None, description="The durability mode's slug.")
    workload: Word | None = Field(None, description="The workload's name.")
    label: Word | None = None
    phase: Literal["measure", "load", "any"] = Field("measure", description="Loads are left out unless asked for.")
    matrix: UUID | None = None
    since: Moment | None = Field(None, description="Submitted or uploaded then or later.")
    until: Moment | None = Field(None, description="Submitted or uploaded before.")

    def narrow(self, rows: QuerySet[M], **filters: object) -> QuerySet[M]:
        """The rows that this query lets through; of further lookups those whose value is not None."""
        filters |= {
            "system": self.system,
            "mode": self.mode,
            "workload_name": self.workload,
            "tags__contains": [self.label.lower()] if self.label is not None else None,
            "phase": None if self.phase == "any" else self.phase,
            "matrix_id": self.matrix,
            "created_at__gte": self.since,
            "created_at__lt": self.until,
        }
        return rows.filter(**{lookup: value for lookup, value in filters.items() if value is not None})


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


class RejectionAnswer(Schema):
    check_id: str
    title: str
    measured: str
    limit: str


class RunAnswer(OnPage):
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
                    "rejected_by": [],
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
    workload: str = Field(validation_alias="workload_name")
    purpose: str
    threads: int = Field(description="Over all clients; 0: nobody knows.")
    target_ops_s: int | None = Field(description="The load offered by all clients; null: as much as they could.")
    repeat: int
    status: str = Field(description="queued, dispatched, running, succeeded, failed or cancelled.")
    stage: str
    reason: str = Field(description="Why it did not succeed; empty: it did, or is not over.")
    reason_detail: str
    verdict: str = Field(description="The worst finding of the validity checks: pass, warn, reject; empty: not judged.")
    checks: int | None = Field(description="Validity checks that apply to it; null: not judged.")
    checks_assessed: int | None = Field(description="Of them: those that had their data. The others are no pass.")
    rejected_by: list[RejectionAnswer] = Field(
        validation_alias="rejections", description="The validity checks that reject it."
    )
    verdict_override: str = Field(description="The written reason for counting a rejected run; empty: none.")
    throughput_ops_s: float | None = Field(description="Successful operations per second in the measured window.")
    excluded_reason: str = Field(description="Why it is left out of comparisons; empty: it is not.")
    commit: str = Field(description="Of the code that was measured.")
    branch: str
    committed_at: datetime | None = Field(description="Its place in histories; null: when the run finished.")
    labels: list[str] = Field(validation_alias="tags")
    notes: str
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    links: RunLinks

    @staticmethod
    def resolve_database(run: Run) -> str:
        return run.sweep.database_name if run.sweep else run.spec["database"]["name"]

    @staticmethod
    def resolve_version(run: Run) -> str:
        return run.sweep.version if run.sweep else run.spec["database"]["version"]

    @staticmethod
    def resolve_links(run: Run) -> RunLinks:
        own = f"{ROOT}/runs/{run.pk}"
        parts = ("measurements", "series", "findings", "events", "artifacts", "verdict")
        sweep = None
        if run.sweep_id:
            sweep = f"{ROOT}/sweeps/{run.sweep_id}"
        matrix = None
        if run.matrix_id:
            matrix = f"{ROOT}/matrices/{run.matrix_id}"

        return RunLinks(
            self=own,
            page=page_address(run),
            sweep=sweep,
            matrix=matrix,
            **{part: f"{own}/{part}" for part in parts},
        )
