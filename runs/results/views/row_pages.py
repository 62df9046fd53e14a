"""The pages of rows that a team describes: their list, and the form of one. Addresses have the names of the model."""

from collections.abc import Callable
from typing import TypeVar
from uuid import UUID

from django.contrib import messages
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from benchsite.core.responses import form_status
from runs.catalog.forms.fields import NamedForm
from runs.catalog.forms.machines import MachineForm
from runs.results.pages.lists import get_page

M = TypeVar("M", bound=Model)


def list_page(
    request: HttpRequest, template: str, rows: QuerySet[M], describe: Callable[[M], object], **context: object
) -> HttpResponse:
    """One page of the rows, each as `describe` gives it to the template, which extends rows.html."""
    page = get_page(request, rows)
    described = [describe(row) for row in page]
    return render(request, template, {"page": page, "rows": described, **_names(rows.model), **context})


def find_row(model: type[M], pk: UUID | None) -> M | None:
    """The row to edit; None without a key, for a new one."""
    if pk is None:
        return None
    return get_object_or_404(model, pk=pk)


def edit_page(
    request: HttpRequest,
    template: str,
    model: type[Model],
    form: NamedForm | MachineForm,
    *,
    saves: bool = True,
    **context: object,
) -> HttpResponse:
    """Stores the row of a valid form and goes to its page; else the form, in a template that extends row_form.html.

    Without `saves` a button only asked for another form.
    """
    names = _names(model)
    if saves and form.is_valid():
        row = form.save()
        messages.success(request, f"The {names['kind']} “{row.name}” was saved.")
        return redirect(names["kind"], pk=row.pk)
    context = {"form": form, "row": form.instance, **names, **context}
    return render(request, template, context, status=form_status(form) if saves else 200)


def _names(model: type[Model]) -> dict[str, str]:
    return {"kind": str(model._meta.verbose_name), "plural": str(model._meta.verbose_name_plural)}
