"""Machines: the site's hosts with what is known of them. Everybody reads, operators write."""

import uuid

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render

from benchsite.accounts.permissions import get_team, is_operator, operator_required, team_required
from benchsite.core.responses import get_posted
from runs.catalog.forms.clusters import machines_for
from runs.catalog.forms.machines import MachineForm
from runs.models import Machine
from runs.results.views.deletion import delete_page
from runs.results.views.row_pages import edit_page, find_row, list_page


@team_required("GET")
def machines(request: HttpRequest) -> HttpResponse:
    rows = _get_machines(request).prefetch_related("load_generators")
    return list_page(request, "runs/machines/list.html", rows, lambda row: row, may_add=is_operator(request))


@team_required("GET")
def machine(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    machine = get_object_or_404(_get_machines(request), pk=pk)
    return render(
        request,
        "runs/machines/page.html",
        {
            "machine": machine,
            "facts": sorted(machine.facts.items()),
            "load_generators": machine.load_generators.all(),
            "nodes": machine.nodes.filter(cluster__team=get_team(request)).select_related("cluster"),
            "teams": machine.teams.all() if is_operator(request) else (),
            "operator": is_operator(request),
        },
    )


@operator_required("GET", "POST")
def machine_edit(request: HttpRequest, pk: uuid.UUID | None = None) -> HttpResponse:
    """A new one, or with its key one that is there."""
    form = MachineForm(get_posted(request), instance=find_row(Machine, pk))
    return edit_page(request, "runs/machines/form.html", Machine, form)


@operator_required("GET", "POST")
def machine_delete(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    return delete_page(request, get_object_or_404(Machine, pk=pk))


def _get_machines(request: HttpRequest) -> QuerySet[Machine]:
    if is_operator(request):
        return Machine.objects.all()
    return machines_for(get_team(request))
