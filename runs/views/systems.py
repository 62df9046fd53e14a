"""Systems: the catalog, read only."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET

from benchsite.teams.models import Role
from benchsite.teams.permissions import has_role, team_of, team_required
from runs.catalog import UnknownSystem, load_catalog
from runs.models import Database
from runs.pages.durability import mode_rows
from runs.pages.measured_loss import measured_table
from runs.verifications import verifications_of


@require_GET
@team_required
def systems(request: HttpRequest) -> HttpResponse:
    found = sorted(load_catalog().systems.values(), key=lambda system: system.name.lower())
    context = {
        "systems": [
            (system, list(dict.fromkeys(entry.label for entry in verifications_of(system.slug)))) for system in found
        ],
        "digest": load_catalog().digest,
    }
    return render(request, "runs/systems/list.html", context)


@require_GET
@team_required
def system(request: HttpRequest, slug: str) -> HttpResponse:
    try:
        found = load_catalog().system(slug)
    except UnknownSystem as error:
        raise Http404(str(error)) from error
    if found.slug != slug:
        return redirect("system", slug=found.slug)  # An alias, such as postgres for postgresql.
    return render(
        request,
        "runs/systems/page.html",
        {
            "system": found,
            "modes": mode_rows(found),
            "measured": measured_table(found),
            "verifications": verifications_of(found.slug),
            "settings": sorted(found.settings.values(), key=lambda declared: declared.name),
            "governed": found.governed_settings,
            "properties": found.binding.properties.values(),
            "databases": Database.objects.filter(team=team_of(request), system=found.slug),
            "may_edit": has_role(request, Role.RUNNER),
        },
    )
