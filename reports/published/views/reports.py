"""A team's reports: the list, one report with its link and revisions, building it, looking at it, publishing it."""

import base64
import uuid
from contextlib import suppress
from itertools import chain
from typing import Any, Final

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, JsonResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.gzip import gzip_page

from benchsite.accounts.models import Role
from benchsite.accounts.permissions import get_team, get_user, has_role, team_required
from benchsite.core.responses import form_status, get_posted
from reports.compare.queries.computed_cache import build_key, cache_values, cached_values
from reports.compare.views.figures import answer_to
from reports.models import Report, ReportRevision
from reports.published import forms as forms, links, publication, rights
from reports.published.content import Content, digest
from reports.published.drafts import parse_draft
from reports.published.figures import ReportFigure
from reports.published.pages import get_page
from reports.published.queries.reports import get_reports, get_revisions
from reports.published.sanitizer import notes_html

LENGTH: Final = 64
MAX_LISTED: Final = 200
PICTURE: Final = "picture-"  # and the name of a figure: a field with its PNG, base64


def _build_key(report: Report, digest: str) -> str:
    return build_key(report.team_id, "report preview", report.pk, digest)


@team_required("GET")
def reports(request: HttpRequest) -> HttpResponse:
    """The team's reports, the newest change first."""
    team = get_team(request)
    rows = list(get_reports(team)[:MAX_LISTED])
    public = sum(report.access == Report.Access.PUBLIC for report in rows)
    context = {"reports": rows, "public": public, "team": team}
    return render(request, "reports/report/list.html", context)


@team_required("POST", role=Role.RUNNER)
def add(request: HttpRequest) -> HttpResponse:
    """A draft about the comparison in the compare page's address."""
    query, title = request.POST.get("query", ""), request.POST.get("title", "")
    report = publication.begin(get_team(request), get_user(request), query, title)
    return redirect("report-publish", report.pk)


@team_required("GET")
@never_cache
def report(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    """One report: where it is read, by whom, and everything that was published of it."""
    return _render_report(request, _get_report(pk))


def _render_report(request: HttpRequest, row: Report, form: forms.AccessForm | None = None) -> HttpResponse:
    link = links.find_link(row)
    may_delete = rights.may_delete(row, get_user(request))
    form = form or _build_access_form(request, row)
    revisions = list(get_revisions(row))
    context = {
        "report": row,
        "revisions": revisions,
        "pictures": (),
        "ancestors": settings.EMBED_ANCESTORS,
        "link": link,
        "site": request.build_absolute_uri("/").rstrip("/"),
        "address": "",
        "expired": row.has_expired,
        "form": form,
        "can_open": may_delete,
        "can_delete": may_delete,
    }
    if link:
        context["address"] = request.build_absolute_uri(f"/r/{link.token}")
    if link and revisions:
        context["pictures"] = _title_pictures(revisions[0])
    return render(request, "reports/report/report.html", context, status=form_status(form))


def _title_pictures(revision: ReportRevision) -> list[tuple[str, str]]:
    """The names of a revision's pictures with the titles of their figures."""
    names = list(revision.pictures.values_list("name", flat=True))
    if not names:
        return []
    titles = {figure["name"]: figure["title"] for figure in publication.load_content(revision)["figures"]}
    return [(name, titles.get(name, name)) for name in names]


def _build_access_form(request: HttpRequest, row: Report, data: QueryDict | None = None) -> forms.AccessForm:
    form = forms.AccessForm(data, initial=forms.access_initial(row))
    if rights.is_public(row) or has_role(request, Role.ADMIN):
        return form
    return form.without_public()


@team_required("GET", "POST", role=Role.RUNNER)
@never_cache
def edit(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    """The builder: what is shown in which order, and what is said about it."""
    row = _get_report(pk)
    draft = parse_draft(row.draft)
    built_report = publication.built(row)
    initial = forms.texts_initial(draft, row.title, built_report.headline)
    form = forms.TextsForm(get_posted(request), initial=initial)
    if form.is_valid():
        changed = forms.changed_draft(draft, form.cleaned_data, request.POST, built_report)
        publication.keep(row, changed, form.cleaned_data["title"])
        if "look" in request.POST:
            return redirect("report-publish", row.pk)
        return redirect("report-edit", row.pk)

    compare = reverse("compare")
    if draft.query:
        compare += f"?{draft.query}"
    context = {
        "report": row,
        "form": form,
        "made": built_report,
        "items": forms.list_items(built_report),
        "footnotes": forms.list_footnotes(draft),
        "footnote_columns": forms.footnote_choices(built_report),
        "footnote_sides": dict.fromkeys(chain.from_iterable(built_report.rows.values())),
        "compare": compare,
    }
    return render(request, "reports/report/edit.html", context, status=form_status(form))


@team_required("POST", role=Role.RUNNER)
def notes(request: HttpRequest) -> HttpResponse:
    """Notes as readers will see them, while they are written."""
    html = notes_html(request.POST.get("notes", ""))
    return render(request, "reports/report/notes.html", {"notes": html})


@team_required("GET", "POST", role=Role.RUNNER)
@never_cache
def publish(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    """Exactly what will be visible, what was taken out of it, and the button."""
    row = _get_report(pk)
    if request.method == "GET":
        return _render_preview(request, row)
    if "redact" in request.POST:
        # Of what looks like a name or an address, what may be seen nevertheless.
        draft = parse_draft(row.draft)
        texts = [match.text for match in publication.built(row).found]
        publication.keep(row, forms.with_kept(draft, request.POST, texts), row.title)
        return redirect("report-publish", row.pk)

    try:
        seen = request.POST.get("seen", "")
        revision = publication.publish(row, get_user(request), _decode_pictures(request), seen=seen)
    except publication.NumbersChanged as changed:
        return _render_preview(request, row, refusal=str(changed), status=409)
    except (publication.PublishRefused, publication.ContentRefused) as refused:
        return _render_preview(request, row, refusal=str(refused), status=422)

    access = request.POST.get("access", row.access)
    if access in Report.Access.values and access != row.access:
        try:
            publication.set_access(row, access, row.expires_at, get_user(request))
        except rights.NotAllowed as refused:
            messages.error(request, str(refused))

    messages.success(request, f"Revision {revision.number} of “{row.title}” is published. It will never change.")
    return redirect("report", row.pk)


def _decode_pictures(request: HttpRequest) -> dict[str, bytes]:
    """The pictures that the author's browser drew, without unreadable ones."""
    pictures = {}
    for field, text in request.POST.items():
        if not field.startswith(PICTURE) or not isinstance(text, str):
            continue
        with suppress(ValueError):
            pictures[field.removeprefix(PICTURE)] = base64.b64decode(text, validate=True)
    return pictures


def _render_preview(request: HttpRequest, row: Report, *, refusal: str = "", status: int = 200) -> HttpResponse:
    built_report = publication.built(row)
    content = built_report.content
    content_digest = digest(content)  # of all but the moment of publishing
    cache_values({_build_key(row, content_digest): content})
    number = row.revisions.count() + 1
    context = {
        "report": row,
        "made": built_report,
        "page": get_page(content),
        "notes": notes_html(content["notes"]),
        # Where it would stand: it has no other address yet than the report's own page.
        "place": {
            "number": number,
            "newest": number,
            "absolute_pinned": reverse("report", args=[row.pk]),
            "digest": "(made when it is published)",
            "alone": True,
        },
        "seen": content_digest,
        "refusal": refusal,
        "hidden": [match for match in built_report.found if not match.stays],
        "visible": [match for match in built_report.found if match.stays],
        "form": _build_access_form(request, row),
    }
    return render(request, "reports/report/publish.html", context, status=status)


@gzip_page
@team_required("GET", role=Role.RUNNER)
@never_cache
def preview_figure(request: HttpRequest, pk: uuid.UUID, digest: str, name: str) -> HttpResponseBase:
    """One figure of what is about to be published, as charts.js draws it."""
    # What was shown under that digest; built anew where it is no longer kept.
    report = _get_report(pk)
    key = _build_key(report, digest[:LENGTH])
    entries: dict[str, Content] = cached_values({key: key}, dict[str, Any])
    content = entries.get(key) or publication.built(report).content
    figures = {figure["name"]: figure for figure in content["figures"]}
    if name not in figures:
        raise Http404("There is no such figure in this report.")
    return JsonResponse(answer_to(request.GET, ReportFigure(figures[name])))


@team_required("POST", role=Role.RUNNER)
def access(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    """Who may read it, and until when."""
    row = _get_report(pk)
    form = _build_access_form(request, row, request.POST)
    if not form.is_valid():
        return _render_report(request, row, form)
    try:
        publication.set_access(row, form.cleaned_data["access"], form.expires_at, get_user(request))
    except rights.NotAllowed as refused:
        raise PermissionDenied(str(refused)) from refused
    messages.success(request, f"“{row.title}” is {row.get_access_display()} now.")
    return redirect("report", row.pk)


@team_required("POST", role=Role.RUNNER)
def link(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    """Another link, or none."""
    row = _get_report(pk)
    if not row.revisions.exists():
        messages.error(request, "There is no link before something is published: publish the report first.")
    elif "revoke" in request.POST:
        links.revoke(row, get_user(request))
        messages.success(request, f"The link of “{row.title}” is revoked. Its readers see a page that says so.")
    else:
        try:
            links.rotate(row, get_user(request))
        except rights.NotAllowed as refused:
            raise PermissionDenied(str(refused)) from refused
        messages.success(request, f"“{row.title}” has a new link. The old one is revoked.")

    return redirect("report", row.pk)


@team_required("POST", role=Role.RUNNER)
def delete(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    """The report with everything that was published of it."""
    row = _get_report(pk)
    if not rights.may_delete(row, get_user(request)):
        raise PermissionDenied("Only who began this report, and the team's admins, may delete it.")
    title = row.title
    publication.delete(row, get_user(request))
    messages.success(request, f"“{title}” is deleted. Its link says so.")
    return redirect("reports")


def _get_report(pk: uuid.UUID) -> Report:
    return get_object_or_404(Report.objects.select_related("team", "created_by"), pk=pk)
