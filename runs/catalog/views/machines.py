"""Machines: the site's hosts with what is known of them. Everybody reads, operators write."""

import uuid

from django.contrib import messages
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from benchsite.accounts.permissions import get_team, is_operator, operator_required, team_required
from benchsite.core.responses import get_posted
from runs.catalog.forms.clusters import machines_for
from runs.catalog.forms.machines import MachineForm
from runs.models import Machine
from runs.results.pages.lists import get_page
from runs.results.views.deletion import delete_page


@team_required("GET")
def machines(request: HttpRequest) -> HttpResponse:
    rows = Machine.objects.all() if is_operator(request) else machines_for(get_team(request))
    page = get_page(request, rows.prefetch_related("load_generators"))
    return render(
        request, "runs/machines/list.html", {"page": page, "machines": list(page), "operator": is_operator(request)}
    )


@team_required("GET")
def machine(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    rows = Machine.objects.all() if is_operator(request) else machines_for(get_team(request))
    found = get_object_or_404(rows, pk=pk)
    return render(
        request,
        "runs/machines/page.html",
        {
            "machine": found,
            "facts": sorted(found.facts.items()),
            "load_generators": found.load_generators.all(),
            "nodes": found.nodes.filter(Q(cluster__team=get_team(request))).select_related("cluster"),
            "teams": found.teams.all() if is_operator(request) else (),
            "operator": is_operator(request),
        },
    )


@operator_required("GET", "POST")
def machine_edit(request: HttpRequest, pk: uuid.UUID | None = None) -> HttpResponse:
    """A new one, or with its key one that is there."""
    machine = None
    if pk:
        machine = get_object_or_404(Machine, pk=pk)
    form = MachineForm(get_posted(request), instance=machine)
    if form.is_valid():
        saved = form.save()
        messages.success(request, f"The machine “{saved.name}” was saved.")
        return redirect("machine", pk=saved.pk)
    return render(
        request, "runs/machines/form.html", {"form": form, "machine": machine}, status=422 if form.is_bound else 200
    )


@operator_required("GET", "POST")
def machine_delete(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    machine = get_object_or_404(Machine, pk=pk)
    return delete_page(request, machine)
