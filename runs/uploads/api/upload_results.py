"""What the API says of an upload: which runs it became, and what the validity checks say of them."""

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from django.http import HttpRequest
from django.urls import reverse
from ninja import Schema
from pydantic import ConfigDict, Field

from runs.api.schemas import ROOT
from runs.checks import CheckResult, compute_verdict
from runs.models import Finding, Run, Upload, Verdict
from runs.results.recording.uploaded_runs import UploadedRun
from runs.uploads.messages import DRY_RUN
from runs.uploads.metadata import RunMetadata

# The findings that are told; the rest are at `links.findings` of the run.
TOLD = (Finding.Severity.REJECT, Finding.Severity.WARN)
_ORDER = (Verdict.REJECT.value, Verdict.WARN.value, Verdict.PASS.value, Verdict.NONE.value)


class UploadFinding(Schema):
    """What one validity check warns of, or rejects."""

    check_id: str
    severity: str = Field(description="`reject` or `warn`.")
    title: str
    measured: str
    threshold: str
    message: str
    remedy: str


class UploadedRunAnswer(Schema):
    """One run in the files. Without an id it is not stored (`dry_run`)."""

    id: UUID | None
    name: str
    permalink: str | None = Field(description="The run's page.")
    url: str | None = Field(description="The run in this API.")
    verdict_url: str | None = Field(description="Its verdict against a baseline.")
    phase: str
    threads: int
    target_ops_s: int | None
    repeat: int | None
    clients: int
    throughput_ops_s: float | None = Field(description="Successful operations per second in the measured window.")
    verdict: str = Field(description="The worst finding of the validity checks: pass, warn, reject.")
    checks: int | None = Field(description="Validity checks that apply to it.")
    checks_assessed: int | None = Field(description="Of them: those that had their data. The others are no pass.")
    findings: list[UploadFinding] = Field(description="What warns or rejects.")


class UploadAnswer(Schema):
    """An upload and its runs, all of them stored together."""

    model_config = ConfigDict(extra="allow")

    id: UUID | None = Field(description="Of the upload; null: nothing was stored.")
    state: str = Field(description="`saved`, or `judged` (a dry run), or where a worker is with it.")
    url: str | None = Field(description="The upload in this API: where its state is asked for.")
    permalink: str | None = Field(description="The page of its run; of several, of the curve of the first.")
    sweep: UUID | None = Field(description="The curve that the measured runs belong to; later uploads may join it.")
    verdict: str = Field(description="The worst verdict of its runs; empty: they are not judged yet.")
    runs: list[UploadedRunAnswer]
    detail: str = Field("", description="What is under way, or went wrong.")


def upload_url(upload: Upload) -> str:
    return f"{ROOT}/uploads/{upload.pk}"


def stored_answer(
    request: HttpRequest, upload: Upload, runs: Sequence[Run], judged: Sequence[UploadedRun]
) -> dict[str, Any]:
    """The answer for an upload that was just stored."""
    answers = [
        _run(request, run, len(uploaded.files.clients), _findings(uploaded.findings))
        for run, uploaded in zip(runs, judged, strict=True)
    ]
    return _answer(request, upload, runs, answers)


def found_answer(request: HttpRequest, upload: Upload) -> dict[str, Any]:
    """The answer for an upload, from its rows."""
    runs = list(upload.runs.order_by("position").select_related("sweep").prefetch_related("client_runs"))
    findings: dict[UUID, list[Finding]] = {}
    rows = Finding.objects.filter(measurement_set__run__in=runs, measurement_set__is_current=True, severity__in=TOLD)
    for row in rows.select_related("measurement_set"):
        findings.setdefault(row.measurement_set.run_id, []).append(row)
    answers = [_run(request, run, len(run.client_runs.all()), _findings(findings.get(run.pk, ()))) for run in runs]
    return _answer(request, upload, runs, answers)


def dry_answer(metadata: RunMetadata, judged: Sequence[UploadedRun]) -> dict[str, Any]:
    """The answer of a dry run."""
    runs: list[dict[str, Any]] = [
        {
            "id": None, "permalink": None, "url": None, "verdict_url": None,
            "name": f"{metadata.database} {metadata.mode} {metadata.workload.short_name}",
            **uploaded.stated.model_dump(exclude={"index"}),
            "clients": len(uploaded.files.clients),
            "throughput_ops_s": uploaded.collected.merged.throughput_ops_s,
            **compute_verdict(finding.severity for finding in uploaded.findings),
            "findings": _findings(uploaded.findings),
        }
        for uploaded in judged
    ]  # fmt: skip

    return {
        "id": None, "state": "judged", "url": None, "permalink": None, "sweep": None,
        "verdict": _worst(run["verdict"] for run in runs), "runs": runs,
        "detail": DRY_RUN,
    }  # fmt: skip


def _answer(request: HttpRequest, upload: Upload, runs: Sequence[Run], answers: list[dict[str, Any]]) -> dict[str, Any]:
    measured = next((run.sweep_id for run in runs if run.phase == "measure"), None)
    page = None
    if len(answers) == 1:
        page = answers[0]["permalink"]
    elif runs and runs[0].sweep_id:
        page = request.build_absolute_uri(reverse("sweep", args=[measured or runs[0].sweep_id]))

    return {
        "id": str(upload.pk),
        "state": str(upload.state),
        "url": upload_url(upload),
        "permalink": page,
        "sweep": str(measured) if measured else None,
        "verdict": _worst(answer["verdict"] for answer in answers),
        "runs": answers,
        "detail": upload.error or _DETAILS.get(str(upload.state), ""),
    }


_DETAILS = {
    "received": "A worker reads it as soon as no run measures: ask again.",
    "reading": "A worker reads it: ask again.",
    "completed": "A worker saves it: ask again.",
    "saving": "A worker saves it: ask again.",
}


def _run(request: HttpRequest, run: Run, clients: int, findings: list[dict[str, str]]) -> dict[str, Any]:
    url = f"{ROOT}/runs/{run.pk}"
    return {
        "id": str(run.pk),
        "name": run.name,
        "permalink": request.build_absolute_uri(reverse("run", args=[run.pk])),
        "url": url,
        "verdict_url": f"{url}/verdict",
        "phase": str(run.phase),
        "threads": run.threads,
        "target_ops_s": run.target_ops_s,
        "repeat": run.repeat,
        "clients": clients,
        "throughput_ops_s": run.throughput_ops_s,
        "verdict": str(run.verdict),
        "checks": run.checks,
        "checks_assessed": run.checks_assessed,
        "findings": findings,
    }


def _findings(findings: Iterable[Finding | CheckResult]) -> list[dict[str, str]]:
    names = list(UploadFinding.model_fields)
    return [{name: str(getattr(finding, name)) for name in names} for finding in findings if finding.severity in TOLD]


def _worst(verdicts: Iterable[str]) -> str:
    return min(verdicts, key=_ORDER.index, default="")
