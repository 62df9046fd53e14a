"""Workloads: what is asked of a database, and of how much data."""

import uuid

from django.contrib import messages
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from benchsite.accounts.models import Role
from benchsite.accounts.permissions import get_team, team_required
from benchsite.core.formatting import exact
from benchsite.core.responses import get_posted
from runs.models import Workload
from runs.plans.forms.workloads import EXAMPLES, WorkloadFieldsForm, WorkloadForm, in_order, preset
from runs.results.pages.lists import get_page
from runs.results.views.deletion import delete_page
from runs.ycsb.errors import PropertyError
from runs.ycsb.key_shares import KeyShares, compute_key_shares
from runs.ycsb.properties import (
    CORE_WORKLOADS,
    PROPORTIONS,
    WORKLOAD_PROPERTIES,
    Dataset,
    check_workload,
    dataset,
    workload_warnings,
)


@team_required("GET")
def workloads(request: HttpRequest) -> HttpResponse:
    rows = Workload.objects.annotate(used=Count("matrices", distinct=True))
    page = get_page(request, rows.order_by("name"))
    return render(
        request,
        "runs/workloads/list.html",
        {
            "page": page,
            "rows": [
                (
                    workload,
                    compute_mix(workload.properties),
                    get_dataset(workload.properties),
                    find_shares(workload.properties),
                )
                for workload in page
            ],
            "examples": EXAMPLES,
        },
    )


@team_required("GET")
def workload(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    row = get_object_or_404(Workload, pk=pk)
    return render(
        request,
        "runs/workloads/page.html",
        {
            "workload": row,
            "mix": compute_mix(row.properties),
            "data": get_dataset(row.properties),
            "shares": find_shares(row.properties),
            "warnings": list_warnings(row.properties),
            "properties": [(n, v, WORKLOAD_PROPERTIES.get(n)) for n, v in in_order(row.properties).items()],
            "matrices": row.matrices.all()[:10],
        },
    )


@team_required("GET", "POST", role=Role.RUNNER)
def workload_edit(request: HttpRequest, pk: uuid.UUID | None = None) -> HttpResponse:
    """Adds a workload, or edits that of the key: as number fields, or with `?raw=1` as YCSB properties."""
    workload = None
    if pk:
        workload = get_object_or_404(Workload, pk=pk)
    letter = request.GET.get("preset", "")
    raw = "recordcount" not in request.POST if request.method == "POST" else "raw" in request.GET
    form = (WorkloadForm if raw else WorkloadFieldsForm)(
        get_posted(request),
        team=get_team(request),
        instance=workload,
        initial=preset(letter) or preset("A"),
    )
    if form.is_valid():
        saved = form.save()
        messages.success(request, f"The workload “{saved.name}” was saved.")
        return redirect("workload", pk=saved.pk)
    shares = []
    if not raw:
        shares = [form[name] for name in PROPORTIONS]
    return render(
        request,
        "runs/workloads/form.html",
        {
            "form": form,
            "workload": workload,
            "raw": raw,
            "shares": shares,
            "presets": [
                (
                    key,
                    "/".join(
                        exact(round(100 * share))
                        for share in sorted(dict(compute_mix(dict(mix))).values(), reverse=True)
                    ),
                    text,
                )
                for (key, text), mix in zip(EXAMPLES.items(), CORE_WORKLOADS.values(), strict=True)
            ],
            "letter": letter if letter in EXAMPLES else "A",
            "known": WORKLOAD_PROPERTIES.values(),
        },
        status=422 if form.is_bound else 200,
    )


@team_required("GET", "POST", role=Role.RUNNER)
def workload_delete(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    workload = get_object_or_404(Workload, pk=pk)
    return delete_page(request, workload)


def compute_mix(properties: dict[str, str]) -> list[tuple[str, float]]:
    """The operations of a workload with their shares of all operations, those without a share left out."""
    weights: dict[str, float] = {}
    for name, operation in PROPORTIONS.items():
        try:
            weights[operation] = float(properties.get(name, "0"))
        except ValueError:
            continue
    total = sum(weights.values())
    return [(operation, weight / total) for operation, weight in weights.items() if weight > 0 and total > 0]


def get_dataset(properties: dict[str, str]) -> Dataset | None:
    """The data set; None where stored properties are no longer accepted."""
    try:
        return dataset(check_workload(properties))
    except PropertyError:
        return None


def find_shares(properties: dict[str, str]) -> KeyShares | None:
    """How much of the requests the hottest keys get; None where stored properties are no longer accepted."""
    try:
        return compute_key_shares(check_workload(properties))
    except PropertyError:
        return None


def list_warnings(properties: dict[str, str]) -> list[str]:
    try:
        return list(workload_warnings(check_workload(properties)))
    except PropertyError as error:
        return list(error.problems.values())
