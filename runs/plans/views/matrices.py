"""Matrices: the list, and the builder with its preview."""

from collections.abc import Iterable
from datetime import timedelta
from itertools import groupby
from operator import attrgetter
from typing import TypeVar

from django.contrib import messages
from django.db import transaction
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone

from benchsite.accounts.models import Role, User
from benchsite.accounts.permissions import get_team, get_user, team_required
from benchsite.core.responses import get_posted
from benchsite.core.table import Columns, or_empty
from runs.identifiers import parse_uuid
from runs.models import Matrix, Run, Sweep
from runs.plans import PlanError, Problem, preview, start_trial, submit
from runs.plans.forms.matrices import MatrixForm
from runs.plans.forms.rows import Exclusion
from runs.plans.preview import Cell
from runs.queue.pages.progress import COUNTS, with_progress
from runs.queue.pages.queue import queue
from runs.results.pages.lists import MAX_ROWS, ListFilter, Menu, Order, export, get_page, search_field

M = TypeVar("M", bound=Model)


def build_grid(cells: Iterable[Cell]) -> dict[str, object] | None:
    """A row for each entry, whose `value` is "database:mode", as the form names it; None without a cell."""
    rows = []
    above = None
    for (database_id, mode), group in groupby(cells, key=attrgetter("database_id", "mode")):
        row = list(group)
        rows.append(
            {
                "database": row[0].database_name,
                "mode": mode,
                "value": f"{database_id}:{mode}",
                "first": database_id != above,  # the first row of its database
                "cells": row,
            }
        )
        above = database_id
    if not rows:
        return None
    return {"workloads": [cell.workload_name for cell in row], "rows": rows}


COLUMNS: Columns = {
    "id": "pk",
    "name": "name",
    "purpose": "purpose",
    "state": "progress.status_word",
    **{f"runs_{name}": f"progress.{name}" for name in COUNTS},
    "created_by": or_empty("created_by.username"),
    "created_at": "created_at",
    "submitted_at": "submitted_at",
    "tags": "tags",
    "notes": "notes",
}
SORTS = {
    "newest": ["-created_at"],
    "oldest": ["created_at"],
    "name": ["name"],
    "name-reversed": ["-name"],
    "purpose": ["purpose"],
    "purpose-reversed": ["-purpose"],
    "by": ["created_by__username"],
    "by-reversed": ["-created_by__username"],
}


class MatrixFilter(ListFilter):
    noun, plural = "matrix", "matrices"
    q = search_field("name, tag or note")
    archived = Menu("Archived", choices=[("0", "left out"), ("1", "shown too")], initial="0")
    sort = Order(SORTS)

    def apply(self) -> QuerySet[Matrix]:
        search = self.values["q"]
        rows = Matrix.objects.select_related("created_by")
        if self.values["archived"] == "0":
            rows = rows.filter(archived_at=None)
        if search:
            rows = rows.filter(Q(name__icontains=search) | Q(tags__contains=[search]) | Q(notes__icontains=search))
        return self.order(rows, "-created_at", "pk")


@team_required("GET")
def matrices(request: HttpRequest) -> HttpResponse:
    chosen = MatrixFilter(request.GET)
    page = get_page(request, chosen.apply())
    has_archived = Matrix.objects.exclude(archived_at=None).exists()
    if not has_archived:
        del chosen.fields["archived"]
    context = {"filter": chosen, "page": page, "rows": with_progress(page), "hides_rows": has_archived}
    return render(request, "runs/matrices/list.html", context)


@team_required("GET")
def matrices_export(request: HttpRequest, form: str) -> StreamingHttpResponse:
    """The list's search as comma-separated values or JSON."""
    rows = MatrixFilter(request.GET).apply()
    return export(form, "matrices", COLUMNS, with_progress(rows[:MAX_ROWS]))


@team_required("GET", "POST", role=Role.RUNNER)
def matrix_add(request: HttpRequest) -> HttpResponse:
    """The builder. POST previews, adds an exclusion, tries, or submits, by the button that was pressed."""
    form = builder(request)
    problems: tuple[Problem, ...] = ()
    if form.final and form.is_valid():
        try:
            matrix = _submit(form, get_user(request), trial="trial" in request.POST)
        except PlanError as error:
            problems = error.problems
        else:
            subject = "The matrix"
            if "trial" in request.POST:
                subject = "A trial run of"
            messages.success(request, f"{subject} “{matrix.name}” was put in the queue.")
            return redirect("matrix", pk=matrix.pk)

    if "exclude" in request.POST:
        entry, _, workload = request.POST["exclude"].partition("|")
        form.exclusions.append(Exclusion(entry[:120], workload[:40]))

    refused = form.final
    context = {"form": form, **foresee(form), "problems": problems, "refused": refused}
    return render(request, "runs/matrices/builder.html", context, status=422 if refused else 200)


@transaction.atomic
def _submit(form: MatrixForm, user: User, *, trial: bool) -> Matrix:
    """The stored matrix: submitted, or only its trial run is. Raises PlanError; nothing is stored then."""
    matrix = form.store(user)
    if trial:
        start_trial(matrix, user)
    else:
        submit(matrix, user)
    return matrix


@team_required("POST", role=Role.RUNNER)
def matrix_preview(request: HttpRequest) -> HttpResponse:
    """The preview alone, for the builder while a person types."""
    form = builder(request)
    return render(request, "runs/matrices/preview.html", {"form": form, "alone": True, **foresee(form)})


def builder(request: HttpRequest) -> MatrixForm:
    """The form as it was sent, or as the matrix or sweep named in the URL has it."""
    return MatrixForm(
        get_posted(request),
        team=get_team(request),
        source=_named(request, "from", Matrix.objects.all()),
        final=bool({"submit", "trial"} & request.POST.keys()),
        start=request.GET,
        extends=_named(request, "extends", Sweep.objects.select_related("team")),
    )


def _named(request: HttpRequest, parameter: str, rows: QuerySet[M]) -> M | None:
    """The team's row that the address or the form names; None without the parameter."""
    key = request.GET.get(parameter) or request.POST.get(parameter)
    if not key:
        return None
    return get_object_or_404(rows, pk=parse_uuid(key))


def foresee(form: MatrixForm) -> dict[str, object]:
    """The preview of the plan; only the form's own errors while there are any."""
    bound = form
    if not form.is_bound:
        bound = MatrixForm(form.as_posted(), team=form.team, source=form.source, extends=form.extends)
    if not bound.is_valid():
        return {"foreseen": None, "faulty": bound}

    plan = bound.build_draft().build_plan()
    planned = preview(plan)
    now = timezone.now()
    free_at = queue(Run.objects.none(), now).free_at
    start = max([now, *(ends_at for machine, ends_at in free_at.items() if str(machine) in plan.machine_ids)])

    return {
        # The preview with its grid and its place in the queue.
        "foreseen": {
            "preview": planned,
            "grid": build_grid(planned.cells),
            "starts_at": start,
            "ends_at": start + timedelta(seconds=planned.seconds),
            "waits": start > now,
        },
        "no_sizes": bound.cleaned_data["records_rule"] and not planned.sizes,
    }
