"""Databases: one configured system on one cluster, with what each of its durability modes means."""

import uuid

from django.contrib import messages
from django.contrib.postgres.aggregates import ArrayAgg
from django.core.exceptions import ValidationError
from django.db.models import Count
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse

from benchsite.accounts.models import Role
from benchsite.accounts.permissions import get_team, has_role, team_required
from benchsite.core.responses import form_status, get_posted
from runs.catalog import load_catalog
from runs.catalog.forms.databases import DatabaseForm
from runs.catalog.forms.own_modes import OwnModeForm, delete_own_mode, find_user
from runs.catalog.topology import draw_servers
from runs.models import Cluster, Database, Matrix
from runs.results.pages.durability import mode_rows
from runs.results.views.deletion import delete_page
from runs.results.views.row_pages import edit_page, find_row, list_page

MAX_MATRICES = 10  # on the page of a database, the newest


@team_required("GET")
def databases(request: HttpRequest) -> HttpResponse:
    rows = Database.objects.select_related("cluster").annotate(used=Count("entries__matrix", distinct=True))
    return list_page(
        request,
        "runs/databases/list.html",
        rows.order_by("name"),
        lambda row: (row, load_catalog().get(row.system, row.flavour, row.own_modes)),
        may_add=has_role(request, Role.RUNNER),
        has_cluster=Cluster.objects.exists(),
    )


@team_required("GET")
def database(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    row = get_object_or_404(
        Database.objects.select_related("cluster").prefetch_related("cluster__nodes__machine"), pk=pk
    )
    system = load_catalog().get(row.system, row.flavour, row.own_modes)
    modes = mode_rows(system, row.settings, row.binding_properties) if system else []
    waiting = [mode["mode"] for mode in modes if not row.has_copies_for(mode["mode"])]
    servers, copies = draw_servers(row, system), row.count_copies()
    matrices = Matrix.objects.filter(entries__database=row).order_by("-created_at")
    matrices = matrices.annotate(modes=ArrayAgg("entries__mode", order_by="entries__mode"))
    return render(
        request,
        "runs/databases/page.html",
        {
            "database": row,
            "system": system,
            "modes": modes,
            "servers": servers,
            "on_one_machine": copies > 1 and len({box["machine"] for box in servers}) == 1,
            "copies": copies,
            "unmeasurable": [mode.slug for mode in waiting],
            "needed_copies": 1 + max((mode.replicas_needed for mode in waiting), default=0),
            "matrices": matrices[:MAX_MATRICES],
            "used": matrices.count(),
        },
    )


@team_required("GET", "POST", role=Role.RUNNER)
def database_edit(request: HttpRequest, pk: uuid.UUID | None = None) -> HttpResponse:
    """A new one, or with its key one that is there."""
    # The form as it was typed, with the fields of the system that was chosen.
    is_filled = "fill" in request.POST
    form = DatabaseForm(
        None if is_filled else get_posted(request),
        team=get_team(request),
        instance=find_row(Database, pk),
        initial={"system": request.GET.get("system", "redis"), "cluster": request.GET.get("cluster", "")},
        typed=request.POST.dict() if is_filled else {},
    )
    system = load_catalog().get(form["system"].value() or "", "ycsb" if form["client"].value() else "")
    modes = mode_rows(system, {}, {}) if system else []
    return edit_page(
        request,
        "runs/databases/form.html",
        Database,
        form,
        system=system,
        modes=modes,
        has_cluster=Cluster.objects.exists(),
    )


@team_required("GET", "POST", role=Role.RUNNER)
def own_mode_add(request: HttpRequest, pk: uuid.UUID, base: str) -> HttpResponse:
    """A copy of one of the system's modes, with the record and the settings that the owner of the database states."""
    database = get_object_or_404(Database, pk=pk)
    system = load_catalog().get(database.system, database.flavour)
    if system is None or base not in system.modes:
        raise Http404(f"{database.name} has no durability mode {base} to copy.")

    form = OwnModeForm(get_posted(request), database=database, system=system, base=system.modes[base])
    return _own_mode_page(request, form, copied=base)


@team_required("GET", "POST", role=Role.RUNNER)
def own_mode_edit(request: HttpRequest, pk: uuid.UUID, mode: str) -> HttpResponse:
    """An own mode is changed in its place while nothing uses it; later a copy is: results keep the mode they had."""
    database = get_object_or_404(Database, pk=pk)
    system = load_catalog().get(database.system, database.flavour)
    own = database.own_modes.get(mode)
    if system is None or own is None or own["base"] not in system.modes:
        raise Http404(f"{database.name} has no own mode {mode}.")

    used_by = find_user(database, mode)
    form = OwnModeForm(
        get_posted(request),
        database=database,
        system=system,
        base=system.modes[own["base"]],
        copied=own,
        replaced="" if used_by else mode,
    )
    return _own_mode_page(request, form, copied=mode, used_by=used_by)


def _own_mode_page(request: HttpRequest, form: OwnModeForm, *, copied: str, used_by: str = "") -> HttpResponse:
    """`copied` is the slug of the mode that the form begins with."""
    database = form.database
    if form.is_valid():
        try:
            slug = form.save()
        except ValidationError as error:
            form.add_error(None, error)
        else:
            messages.success(request, f"The mode {slug} of “{database.name}” was saved.")
            return redirect(f"{reverse('database', args=[database.pk])}#mode-{slug}")

    context = {"form": form, "database": database, "system": form.system, "copied": copied, "used_by": used_by}
    return render(request, "runs/databases/own_mode.html", context, status=form_status(form))


@team_required("POST", role=Role.RUNNER)
def own_mode_delete(request: HttpRequest, pk: uuid.UUID, mode: str) -> HttpResponseBase:
    """Delete an own mode that no matrix and no deployment has."""
    database = get_object_or_404(Database, pk=pk)
    try:
        delete_own_mode(pk, mode)
    except ValidationError as refused:
        messages.error(request, refused.message)
    else:
        if mode in database.own_modes:
            messages.success(request, f"The mode {mode} of “{database.name}” was deleted.")
    return redirect("database", pk=pk)


@team_required("GET", "POST", role=Role.RUNNER)
def database_delete(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    return delete_page(request, get_object_or_404(Database, pk=pk))
