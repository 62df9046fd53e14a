"""The figures' addresses: what to draw as JSON, and the data twins as CSV, JSON, Markdown and LaTeX.

`?theme=light|dark` chooses the colours, `?narrow=1` the arrangement for a telephone, `?medium=slide|paper` the sizes of
a download, `?as=svg` answers the drawing itself, as wide and high as `&width=&height=`; none changes the data. Each
answer is tagged with the version of its rows: another look draws nothing.
"""

import math
import re
import uuid
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.cache import get_conditional_response

from benchsite.accounts.permissions import get_team, team_required
from benchsite.core.table import Table
from reports.compare.figure_registry import build_figure
from reports.compare.figures.export_size import medium_named
from reports.compare.figures.figure import Figure
from reports.compare.figures.ladder import LadderFigure
from reports.compare.figures.layout import Frame
from reports.compare.figures.percentiles import PercentilesFigure
from reports.compare.figures.run_series import RunSeriesFigure, compute_band
from reports.compare.figures.svg import MAX_PX, MIN_PX, render_svg, svg_of_text
from reports.compare.figures.theme import theme_named
from reports.compare.queries import build_key, chosen, curves, run_point, stored_series
from reports.compare.queries.computed_cache import run_version, sweeps_version
from reports.compare.queries.series import MAX_ROWS, Part, exporter_metrics, server_metrics
from reports.compare.selection import read
from reports.trends.queries.over_time import fault_bands, get_events, get_group_curves, get_offered, over_time
from runs.models import Matrix, Phase, Run, Sweep

DRAWING_PARAMETERS = ("theme", "narrow", "medium", "as", "width", "height")
TEXT_FORMS: dict[str, tuple[str, Callable[[Table], str]]] = {
    "csv": ("text/csv", Table.as_csv),
    "md": ("text/markdown", Table.as_markdown),
    "tex": ("text/x-tex", Table.as_latex),
}
MAX_SEARCH_LENGTH = 200


def unless_known(request: HttpRequest, version: str, make: Callable[[], HttpResponse]) -> HttpResponse:
    """304 for whoever holds the answer to this address in this version of its rows; else what `make` answers.

    The tag names the team and the code too: whoever changes the team, or asks a new release, is answered anew. The
    version is read before the rows, so that what changes in between is at worst drawn twice.
    """
    tag = f'"{build_key(get_team(request).pk, "answer", request.get_full_path(), version).rpartition(":")[2]}"'
    response = get_conditional_response(request, etag=tag)
    if response is None:
        response = make()
    response.headers["ETag"] = tag
    return response


def answer_to(parameters: Mapping[str, str], figure: Figure, *, linked: bool = False) -> dict[str, Any]:
    """The figure, drawn as the parameters of an address state."""
    return figure.answer(
        theme=parameters.get("theme", "light"),
        narrow=parameters.get("narrow") == "1",
        medium=medium_named(parameters.get("medium", "")),
        linked=linked,
    )


def respond(request: HttpRequest, figure: Figure, form: str, view: str, *args: object) -> HttpResponse:
    """The figure in the format asked for; "" is what charts.js draws."""
    if form == "json":
        return JsonResponse(figure.data())
    if form:
        content_type, write = TEXT_FORMS[form]
        response = HttpResponse(write(figure.table), content_type=f"{content_type}; charset=utf-8")
        response["Content-Disposition"] = f'attachment; filename="{figure.name}.{form}"'
        return response
    if request.GET.get("as") == "svg":
        frame = Frame(theme_named(request.GET.get("theme", "light")))  # The page around it states the notes once.
        if figure.empty:
            svg = svg_of_text(figure.empty, frame.theme.muted)
        else:
            svg = render_svg(
                figure.draw(frame),
                width_px=_pixels(request, "width"),
                height_px=_pixels(request, "height") or figure.height_px,
                title=figure.caption,
            )
        return HttpResponse(svg, content_type="image/svg+xml")

    answer = answer_to(request.GET, figure, linked=True)
    for twin in (*TEXT_FORMS, "json"):
        # The address with the state of the page, without what only the drawing needs.
        url = reverse(f"{view}-data", args=[*args, twin])
        state = request.GET.copy()
        for name in DRAWING_PARAMETERS:
            state.pop(name, None)
        answer[twin] = f"{url}?{state.urlencode()}" if state else url

    return JsonResponse(answer)


def _pixels(request: HttpRequest, name: str) -> int:
    """0: not stated, or no size of a drawing."""
    text = request.GET.get(name, "")
    pixels = 0
    if re.fullmatch(r"[0-9]{1,5}", text):
        pixels = int(text)
    return pixels if MIN_PX <= pixels <= MAX_PX else 0


@team_required("GET")
def comparison(request: HttpRequest, picture: str, form: str = "") -> HttpResponseBase:
    """One of `figure_registry.PICTURES`; the query string is the compare page's, plus options of this figure."""
    selection = read(request.GET)
    choice = chosen(get_team(request), selection)

    def draw() -> HttpResponse:
        figure = build_figure(picture, choice.curves, selection, request.GET.dict())
        return respond(request, figure, form, f"figure-{picture}")

    return unless_known(request, choice.digest(), draw)


@team_required("GET")
def sweep(request: HttpRequest, pk: uuid.UUID, form: str = "") -> HttpResponseBase:
    """Throughput over the ladder of one sweep, growing while it is measured."""
    row = get_object_or_404(Sweep, pk=pk)
    version = sweeps_version([row.pk])
    return unless_known(
        request, version, lambda: respond(request, LadderFigure(curves([row])), form, "figure-sweep", pk)
    )


@team_required("GET")
def matrix(request: HttpRequest, pk: uuid.UUID, form: str = "") -> HttpResponseBase:
    """Throughput over the ladder of every sweep of a matrix."""
    plan = get_object_or_404(Matrix, pk=pk)
    rows = Sweep.objects.filter(matrix=plan, phase=Phase.MEASURE)
    version = sweeps_version([row.pk for row in rows.only("pk")])
    return unless_known(
        request, version, lambda: respond(request, LadderFigure(curves(rows)), form, "figure-matrix", pk)
    )


def run_figure(address: str) -> Callable[[Callable[[HttpRequest, Run, str], Figure]], Callable[..., HttpResponseBase]]:
    """The view of this name for what draws one of the team's runs. One whose server was no product has no figure."""

    def decorate(draw: Callable[[HttpRequest, Run, str], Figure]) -> Callable[..., HttpResponseBase]:
        @team_required("GET")
        @wraps(draw)
        def view(request: HttpRequest, pk: uuid.UUID, form: str = "") -> HttpResponseBase:
            run = get_object_or_404(Run, pk=pk)
            if run.stand_in:
                raise Http404(f"This run measured a {run.stand_in} and not the product, so it has no figure.")
            return unless_known(
                request, run_version(pk), lambda: respond(request, draw(request, run, form), form, address, pk)
            )

        return view

    return decorate


@run_figure("figure-run-series")
def run_series(request: HttpRequest, run: Run, form: str) -> Figure:
    """One run over time, from its stored series; `?from_s=&to_s=` is a part of it, more finely."""
    # Data to compute with is given second by second.
    stored = stored_series(run, part=_part(request), most_rows=None if form else MAX_ROWS)
    series = over_time(stored.series, stored.base_s)
    last_s = max(
        (float(samples.seconds[-1]) + samples.interval_s for samples in series if samples.seconds.size), default=0.0
    )
    first_s = min((float(samples.seconds[0]) for samples in series if samples.seconds.size), default=0.0)
    band = None
    if stored.finest:
        band = compute_band(over_time(stored.finest, stored.base_s), stored.interval_s)

    return RunSeriesFigure(
        f"series-{run.pk}",
        series,
        stored.window,
        events=get_events(run, stored.base_s, last_s) if series else (),
        faults=fault_bands(run, stored.base_s),
        band=band,
        offered=get_offered(run, stored.base_s, stored.interval_s),
        groups=get_group_curves(run, stored.base_s, first_s, last_s),
    )


@run_figure("figure-run-servers")
def run_servers(request: HttpRequest, run: Run, form: str) -> Figure:
    """The machines that ran the servers of one run, over time."""
    return server_metrics(run, stored_series(run), counters=False)


@run_figure("figure-run-counters")
def run_counters(request: HttpRequest, run: Run, form: str) -> Figure:
    """The counters of one run's servers over time."""
    return server_metrics(run, stored_series(run), counters=True)


@run_figure("figure-run-exporters")
def run_exporters(request: HttpRequest, run: Run, form: str) -> Figure:
    """The exporters' series while one run was measured; `?search=` picks series by the words in them."""
    search = request.GET.get("search", "")[:MAX_SEARCH_LENGTH]
    return exporter_metrics(run, stored_series(run), search=search)


@run_figure("figure-run-percentiles")
def run_percentiles(request: HttpRequest, run: Run, form: str) -> Figure:
    """Latency by percentile of one run, whether or not it counts."""
    return PercentilesFigure(f"percentiles-{run.pk}", run_point(run))


def _part(request: HttpRequest) -> Part | None:
    """The part of the axis that is looked at; None for the whole, and for what is no part."""
    try:
        begin_s, end_s = float(request.GET["from_s"]), float(request.GET["to_s"])
    except (KeyError, ValueError):
        return None
    if -math.inf < begin_s < end_s < math.inf:
        return (begin_s, end_s)
    return None
