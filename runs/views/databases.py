"""Databases: one configured system on one cluster, with what each of its durability modes means."""

import uuid

from django.contrib import messages
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods

from benchsite.teams.models import Role
from benchsite.teams.permissions import has_role, owned_or_404, role_required, team_of, team_required
from runs.catalog import load_catalog
from runs.forms.databases import DatabaseForm
from runs.models import Cluster, Database
from runs.pages.durability import mode_rows
from runs.pages.lists import page_of
from runs.views.deletion import delete_page


@require_GET
@team_required
def databases(request: HttpRequest) -> HttpResponse:
    rows = (
        Database.objects.filter(team=team_of(request))
        .select_related("cluster")
        .annotate(used=Count("entries__matrix", distinct=True))
        .order_by("name")
    )
    page = page_of(request, rows)
    return render(
        request,
        "runs/databases/list.html",
        {
            "page": page,
            "rows": [(database, load_catalog().get(database.system, database.flavour)) for database in page],
            "has_cluster": Cluster.objects.filter(team=team_of(request)).exists(),
            "may_edit": has_role(request, Role.RUNNER),
        },
    )


@require_GET
@team_required
def database(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    found = owned_or_404(Database.objects.select_related("cluster"), request, pk)
    system = load_catalog().get(found.system, found.flavour)
    return render(
        request,
        "runs/databases/page.html",
        {
            "database": found,
            "system": system,
            "modes": mode_rows(system, found.settings, found.binding_properties) if system else [],
            "entries": found.entries.select_related("matrix").order_by("-matrix__created_at")[:10],
            "may_edit": has_role(request, Role.RUNNER),
        },
    )


@require_http_methods(["GET", "POST"])
@role_required(Role.RUNNER)
def database_edit(request: HttpRequest, pk: uuid.UUID | None = None) -> HttpResponse:
    """A new one, or with its key one that is there."""
    database = owned_or_404(Database.objects.all(), request, pk) if pk else None
    form = DatabaseForm(
        request.POST if request.method == "POST" else None,
        team=team_of(request),
        instance=database,
        initial={"system": request.GET.get("system", "redis"), "cluster": request.GET.get("cluster", "")},
    )
    if form.is_valid():
        saved = form.save()
        messages.success(request, f"The database “{saved.name}” was saved.")
        return redirect("database", pk=saved.pk)
    system = load_catalog().get(form["system"].value() or "", "ycsb" if form["client"].value() else "")
    return render(
        request,
        "runs/databases/form.html",
        {
            "form": form,
            "database": database,
            "system": system,
            "modes": mode_rows(system, {}, {}) if system else [],
            "has_cluster": Cluster.objects.filter(team=team_of(request)).exists(),
        },
        status=422 if form.is_bound else 200,
    )


@require_http_methods(["GET", "POST"])
@role_required(Role.RUNNER)
def database_delete(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    database = owned_or_404(Database.objects.all(), request, pk)
    return delete_page(request, database)
