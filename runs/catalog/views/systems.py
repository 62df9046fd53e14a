"""Systems: the catalog, read only."""

from collections.abc import Sequence
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from benchsite.accounts.permissions import team_required
from benchsite.core.formatting import counted, grouped, percent, significant
from runs.catalog import Mode, System, UnknownSystem, load_catalog
from runs.catalog.measured_losses import MeasuredLoss, load_measured_losses
from runs.catalog.messages import DID_NOT_START, LOSS_SHARE, OLDEST_LOST
from runs.models import Database
from runs.results.pages.durability import mode_rows
from runs.results.verifications import load_verifications


def measured_tables(system: System) -> list[dict[str, Any]]:
    """The results for the catalog's modes of the system, weakest first, in a table for each number of nodes.

    `columns` are faults, with the disk where it is not an ordinary one; `rows` have a cell for each, None where it was
    not measured.
    """
    losses = [loss for loss in load_measured_losses() if loss.system == system.slug and loss.mode in system.modes]
    return [
        _measured_table(system, nodes, [loss for loss in losses if loss.nodes == nodes])
        for nodes in sorted({loss.nodes for loss in losses})
    ]


def _measured_table(system: System, nodes: int, losses: Sequence[MeasuredLoss]) -> dict[str, Any]:
    columns = list(dict.fromkeys(_column(loss) for loss in losses))
    rows = []
    for mode in system.modes.values():
        by_column = {_column(loss): _cell(loss, mode) for loss in losses if loss.mode == mode.slug}
        if by_column:
            rows.append((mode, [by_column.get(column) for column in columns]))
    versions = ", ".join(dict.fromkeys(loss.version for loss in losses))
    return {"nodes": counted(nodes, "node"), "versions": versions, "columns": columns, "rows": rows}


def _column(loss: MeasuredLoss) -> str:
    return ", ".join(part for part in (loss.fault.value, str(loss.disk)) if part)


def _cell(loss: MeasuredLoss, mode: Mode) -> dict[str, str]:
    """In how many faults writes were lost, how much, and what of it contradicts the record in the catalog."""
    faults = f"lost in {grouped(loss.with_loss)} of {grouped(loss.faults)}"
    if loss.max_loss_share is not None:
        detail = [LOSS_SHARE.format(share=percent(loss.max_loss_share))]
    elif loss.oldest_lost_median_s is not None and loss.oldest_lost_max_s is not None:
        ages = f"{significant(loss.oldest_lost_median_s)} s, at most {significant(loss.oldest_lost_max_s)} s"
        detail = [OLDEST_LOST.format(ages=ages)]
    else:
        detail = []

    detail += [
        counted(number, noun) for number, noun in ((loss.holes, "hole"), (loss.damaged, "damaged record")) if number
    ]
    if loss.not_started:
        detail.append(DID_NOT_START.format(times=grouped(loss.not_started)))
    return {"faults": faults, "detail": "; ".join(detail), "contradiction": loss.contradiction(mode.durability)}


@team_required("GET")
def systems(request: HttpRequest) -> HttpResponse:
    rows = []
    for system in sorted(load_catalog().systems.values(), key=lambda system: system.name.lower()):
        labels = dict.fromkeys(verification["label"] for verification in load_verifications(system.slug))
        rows.append((system, list(labels)))
    context = {"systems": rows, "digest": load_catalog().digest}
    return render(request, "runs/systems/list.html", context)


@team_required("GET")
def system(request: HttpRequest, slug: str) -> HttpResponse:
    try:
        system = load_catalog().system(slug)
    except UnknownSystem as error:
        raise Http404(str(error)) from error

    if system.slug != slug:
        return redirect("system", slug=system.slug)  # An alias, such as postgres for postgresql.

    return render(
        request,
        "runs/systems/page.html",
        {
            "system": system,
            "modes": mode_rows(system),
            "measured": measured_tables(system),
            "verifications": load_verifications(system.slug),
            "settings": sorted(system.settings.values(), key=lambda declared: declared.name),
            "governed": system.governed_settings,
            "properties": system.binding.properties.values(),
            "databases": Database.objects.filter(system=system.slug),
        },
    )
