"""The one page that asks before something is deleted, naming it, and explains why something cannot be."""

from collections.abc import Callable, Iterable

from django.contrib import messages
from django.db import router, transaction
from django.db.models import Model
from django.db.models.deletion import Collector, ProtectedError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from benchsite.teams import audit
from benchsite.teams.permissions import team_of, user_of
from runs.models import MatrixEntry

SHOWN = 5


def blockers(thing: Model, also: Iterable[Model] = ()) -> list[dict[str, object]]:
    """Everything that protects `thing`, by kind, with how many there are and the first names.

    `also` are rows that need it without the database's knowing.
    """
    blocking = list(also)
    try:
        # Collecting is the first half of deleting: it finds what is protected and changes nothing.
        Collector(using=router.db_for_write(type(thing))).collect([thing])
    except ProtectedError as error:
        blocking += list(error.protected_objects)
    by_kind: dict[tuple[str, str], set[str]] = {}
    for row in blocking:
        # A person knows the matrix, not the row that ties it to a database.
        shown = row.matrix if isinstance(row, MatrixEntry) else row
        words = (str(shown._meta.verbose_name), str(shown._meta.verbose_name_plural))
        by_kind.setdefault(words, set()).add(str(shown))
    return [
        {
            "kind": one if len(names) == 1 else many,
            "count": len(names),
            "names": sorted(names)[:SHOWN],
            "more": max(len(names) - SHOWN, 0),
        }
        for (one, many), names in sorted(by_kind.items())
    ]


def delete_page(request: HttpRequest, thing: Model, also: Callable[[], Iterable[Model]] = tuple) -> HttpResponse:
    """GET asks, POST deletes and goes to the list of its kind. A protected thing stays, with the reasons.

    The addresses of its page and of the list have the name of the model.
    """
    kind = str(thing._meta.verbose_name)
    found = blockers(thing, also())
    if request.method == "POST" and not found:
        name = str(thing)
        try:
            with transaction.atomic():
                thing.delete()
                audit.note("thing_deleted", team=team_of(request), actor=user_of(request), subject=name, text=kind)
        except ProtectedError:
            found = blockers(thing, also())  # Somebody began to use it while the page was being read.
        else:
            messages.success(request, f"The {kind} “{name}” was deleted.")
            return redirect(str(thing._meta.verbose_name_plural))
    context = {"thing": thing, "kind": kind, "back": reverse(kind, args=[thing.pk]), "blockers": found}
    return render(request, "runs/delete.html", context, status=409 if request.method == "POST" else 200)
