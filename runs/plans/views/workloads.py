"""Workloads: what is asked of a database, and of how much data."""

import json
import uuid
from collections.abc import Mapping

from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render

from benchsite.accounts.models import Role
from benchsite.accounts.permissions import get_team, has_role, team_required
from benchsite.core.formatting import exact
from benchsite.core.responses import get_posted
from runs.models import Workload
from runs.plans.forms.workloads import EXAMPLES, WorkloadFieldsForm, WorkloadForm, in_order, preset
from runs.results.views.deletion import delete_page
from runs.results.views.row_pages import edit_page, find_row, list_page
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

KEPT_BY_PRESETS = ("properties", "recordcount", "fieldcount", "fieldlength", "readallfields", "writeallfields")


@team_required("GET")
def workloads(request: HttpRequest) -> HttpResponse:
    rows = Workload.objects.annotate(used=Count("matrices", distinct=True))
    return list_page(
        request,
        "runs/workloads/list.html",
        rows.order_by("name"),
        lambda row: (row, compute_mix(row.properties), get_dataset(row.properties), find_shares(row.properties)),
        may_add=has_role(request, Role.RUNNER),
        examples=EXAMPLES,
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
    letter = request.GET.get("preset", "")
    raw = "recordcount" not in request.POST if request.method == "POST" else "raw" in request.GET
    form = (WorkloadForm if raw else WorkloadFieldsForm)(
        get_posted(request),
        team=get_team(request),
        instance=find_row(Workload, pk),
        initial=preset(letter) or preset("A"),
    )
    shares = []
    if not raw:
        shares = [form[name] for name in PROPORTIONS]

    return edit_page(
        request,
        "runs/workloads/form.html",
        Workload,
        form,
        raw=raw,
        shares=shares,
        presets=[
            (key, _describe_mix(CORE_WORKLOADS[key]), text, _encode_preset(key)) for key, text in EXAMPLES.items()
        ],
        letter=letter if letter in EXAMPLES else "A",
        # What has a field of its own is refused as a property beside it.
        declared_properties=[row for name, row in WORKLOAD_PROPERTIES.items() if name not in form.fields],
    )


def _describe_mix(properties: Mapping[str, str]) -> str:
    """The shares in percent, the largest first: "95/5"."""
    shares = sorted((share for _, share in compute_mix(properties)), reverse=True)
    return "/".join(exact(round(100 * share)) for share in shares)


def _encode_preset(letter: str) -> str:
    """The values that the form takes over without a request, as JSON: names, mix and distributions, no size."""
    values = {**(preset(letter) or {}), **CORE_WORKLOADS[letter]}
    return json.dumps({name: value for name, value in values.items() if name not in KEPT_BY_PRESETS})


@team_required("GET", "POST", role=Role.RUNNER)
def workload_delete(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    return delete_page(request, get_object_or_404(Workload, pk=pk))


def compute_mix(properties: Mapping[str, str]) -> list[tuple[str, float]]:
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
