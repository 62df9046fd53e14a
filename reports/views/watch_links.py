"""Watch links: for a day, anybody who has one sees one matrix or one comparison grow, and nothing else of the team."""

import secrets
import uuid
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final, cast
from urllib.parse import urlencode

from django.core.cache import cache
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, JsonResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_GET
from redis.exceptions import RedisError

from benchsite.accounts import audit, tenancy
from benchsite.accounts.models import Role, Team, User
from benchsite.accounts.permissions import team_of, team_required, user_of
from benchsite.accounts.sign_in_link import TOKEN_BYTES, digest
from benchsite.accounts.tenancy import all_teams
from reports.curves import STATISTICS, Curve
from reports.figure_registry import PICTURES, figure_of
from reports.figures.captions import DEMONSTRATION, machine_sentence
from reports.figures.ceilings import CeilingsFigure
from reports.figures.theme import labels_of
from reports.models import WatchLink
from reports.pages.charts import FigureLink, shown_operations
from reports.queries import compared, is_lost, pinned
from reports.selection import ALL, VERSION, Selection, read
from reports.views.compare import selection_in
from reports.views.figures import answer_to
from runs import live
from runs.identifiers import uuid_of
from runs.models import Matrix
from runs.pages.matrix import matrix_page
from runs.pages.queue import last_of_lanes, queue

LIFE: Final = timedelta(hours=24)
MAX_OPEN: Final = 50
MAX_TITLE_LENGTH: Final = 200
NEWEST_ENTRIES = 600
# However many people watch, a picture is worked out no more often.
KEPT_S = 2
DRAWN = ("op", "stat", "kind", "scale", "with", "zoom", "theme", "narrow", "medium")


class WatchRefused(Exception):
    """No link can be made. The message says why and what to do."""


@transaction.atomic
def make(team: Team, by: User, *, title: str, selection: Selection, matrix: Matrix | None = None) -> str:
    """The token of a new link, which is nowhere but in the answer. Raises WatchRefused."""
    if open_links(team).count() >= MAX_OPEN:
        raise WatchRefused(f"{MAX_OPEN} watch links are open already: end some of them first.")
    shown = pinned(team, selection)
    if not names_what_is_seen(shown):
        raise WatchRefused("Nothing is in this comparison yet: make the link when there is something to watch.")
    title = "".join(c if c.isprintable() else " " for c in title).strip()[:MAX_TITLE_LENGTH] or "Comparison"
    token = secrets.token_urlsafe(TOKEN_BYTES)
    WatchLink.objects.create(
        team=team,
        token_sha256=digest(token),
        title=title,
        matrix=matrix,
        query=shown.query().removeprefix("?"),
        created_by=by,
        expires_at=timezone.now() + LIFE,
    )
    audit.note("watch_link_made", team=team, actor=by, subject=title)
    return token


def names_what_is_seen(selection: Selection) -> bool:
    """Whether it says by name what is seen: otherwise it would be the newest matrix, whichever that is by then."""
    return bool(selection.sweeps or selection.matrix_id or selection.matrix == ALL)


def open_links(team: Team) -> QuerySet[WatchLink]:
    """Those that still show something."""
    return team.watch_links.filter(revoked_at__isnull=True, expires_at__gt=timezone.now())


def watched(token: str) -> WatchLink | None:
    """The open link with this token; None for one that is unknown, too old, was ended, or whose matrix is gone."""
    with all_teams():
        rows = WatchLink.objects.filter(token_sha256=digest(token), revoked_at__isnull=True, expires_at__gt=Now())
        link = rows.select_related("team", "matrix").first()
        if link is None or link.matrix is not None:
            return link
        selection = selection_of(link)
        return link if names_what_is_seen(selection) and not is_lost(link.team, selection) else None


def end_link(link: WatchLink, by: User) -> None:
    """It shows nothing from now on."""
    with transaction.atomic():
        if WatchLink.objects.filter(pk=link.pk, revoked_at__isnull=True).update(revoked_at=Now()):
            audit.note("watch_link_ended", team=link.team, actor=by, subject=link.title)


def selection_of(link: WatchLink) -> Selection:
    """What may be seen: the sweeps are the link's, whatever an address says."""
    return read(QueryDict(link.query))


def watch_page(link: WatchLink, selection: Selection, token: str) -> dict[str, object]:
    curves = compared(link.team, selection).curves
    grid = matrix_page(link.matrix, queue(last_of_lanes(link.matrix)).rows) if link.matrix else None
    sentences = [f"{sentence}." for sentence in [machine_sentence(curves)] if sentence]
    if any(not curve.publishable for curve in curves):
        sentences.append(f"{DEMONSTRATION}.")
    return {
        "link": link,
        "token": token,
        "figures": _figures(token, selection, curves),
        "curves": curves,
        "labels": labels_of(curves),
        "warnings": sentences,
        "matrix": grid,
        "active": grid is not None and grid.progress.unfinished > 0,
        "now": [(run, live.read(run.pk, newest=NEWEST_ENTRIES)) for run in grid.now] if grid else [],
    }


def _figures(token: str, selection: Selection, curves: tuple[Curve, ...]) -> list[FigureLink]:
    going = any(curve.progress.going for curve in curves)
    statistic = STATISTICS[selection.statistic]

    def link(title: str, picture: str, drawn: Selection, height: int = 0) -> FigureLink:
        query = urlencode([("v", VERSION), *[pair for pair in drawn.pairs() if pair[0] in ("op", "stat", "kind")]])
        src = f"{reverse('watch-figure', args=[token, picture])}?{query}"
        return FigureLink(title, src, "", "", going, height)

    links = [link("Throughput ceilings", "ceilings", selection, CeilingsFigure(curves).height_px)]
    for operation in shown_operations(selection, curves):
        links.append(
            link(f"{operation} {statistic} against throughput", "latency", replace(selection, operation=operation))
        )
    return links


@team_required("GET")
def links(request: HttpRequest) -> HttpResponse:
    """The team's open links."""
    return _links(request)


def _links(request: HttpRequest, *, made: str = "", refusal: str = "", status: int = 200) -> HttpResponse:
    rows = open_links(team_of(request)).select_related("created_by", "matrix")
    context = {"links": rows, "made": made, "refusal": refusal}
    return render(request, "reports/watch/links.html", context, status=status)


@team_required("POST", role=Role.RUNNER)
def add(request: HttpRequest) -> HttpResponse:
    """A link to what the form names: a matrix, or else the comparison whose address it holds."""
    team, matrix = team_of(request), None
    if chosen := request.POST.get("matrix"):
        matrix = get_object_or_404(Matrix.objects.filter(submitted_at__isnull=False), pk=uuid_of(chosen))
        selection, title = Selection(matrix=str(matrix.pk)), matrix.name
    else:
        selection = read(QueryDict(request.POST.get("query", "")[:20_000]))
        title = request.POST.get("title", "").strip() or "Comparison"
    try:
        token = make(team, user_of(request), title=title, selection=selection, matrix=matrix)
    except WatchRefused as refused:
        return _links(request, refusal=str(refused), status=422)
    return _links(request, made=request.build_absolute_uri(reverse("watch", args=[token])))


@team_required("POST", role=Role.RUNNER)
def end(request: HttpRequest, pk: uuid.UUID) -> HttpResponseBase:
    end_link(get_object_or_404(WatchLink.objects.select_related("team"), pk=pk), user_of(request))
    return redirect("watch-links")


def link_required(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Only with an open link; nothing but the link says what is seen, so nobody signs in."""

    def wrapped(request: HttpRequest, token: str, **names: Any) -> HttpResponseBase:
        link = watched(token)
        if link is None:
            response: HttpResponseBase = render(request, "reports/watch/gone.html", status=410)
        else:
            tenancy.enter(link.team_id)
            response = view(request, link, token, **names)
        response.headers["X-Robots-Tag"] = "noindex"
        return response

    return never_cache(require_GET(wrapped))


@link_required
def page(request: HttpRequest, link: WatchLink, token: str) -> HttpResponse:
    return render(request, "reports/watch/page.html", {"watch": watch_page(link, _selection(request, link), token)})


@link_required
def now(request: HttpRequest, link: WatchLink, token: str) -> HttpResponse:
    """How far it is, anew; once nothing is left to come, the answer asks no more."""
    return render(request, "reports/watch/now.html", {"watch": watch_page(link, _selection(request, link), token)})


@gzip_page
@link_required
def figure(request: HttpRequest, link: WatchLink, token: str, *, picture: str) -> HttpResponse:
    """One picture, of the link's sweeps only."""
    if picture not in PICTURES:
        raise Http404
    parameters = {name: request.GET[name][:60] for name in DRAWN if name in request.GET}
    key = f"watch:{link.pk}:{picture}:{sorted(parameters.items())!r}".replace(" ", "")

    def made() -> dict[str, Any]:
        selection = _selection(request, link)
        figure = figure_of(picture, compared(link.team, selection).curves, selection, parameters)
        return answer_to(parameters, figure)

    return JsonResponse(_for_a_moment(key, made))


def _for_a_moment(key: str, made: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    try:
        return cast(dict[str, Any], cache.get_or_set(digest(key), made, KEPT_S))
    except RedisError:  # What it keeps can be computed.
        return made()


def _selection(request: HttpRequest, link: WatchLink) -> Selection:
    """The link's, drawn as the address asks."""
    drawn = selection_in(request)
    held = selection_of(link)
    return replace(
        held,
        operation=drawn.operation or held.operation,
        statistic=drawn.statistic,
        kind=drawn.kind or held.kind,
    )
