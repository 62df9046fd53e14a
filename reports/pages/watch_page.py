"""What the page of a watch link shows: pictures and ceilings, and of a matrix how far it has come."""

from dataclasses import dataclass, replace
from urllib.parse import urlencode
from uuid import UUID

from django.urls import reverse

from reports.curves import STATISTICS, Curve
from reports.figures.captions import DEMONSTRATION, machine_sentence
from reports.figures.ceilings import CeilingsFigure
from reports.figures.theme import labels_of
from reports.models import WatchLink
from reports.pages.charts import FigureLink, shown_operations
from reports.queries import compared
from reports.selection import VERSION, Selection
from runs import live
from runs.live import LiveSeries
from runs.models import Run
from runs.pages.matrix import MatrixPage, matrix_page
from runs.pages.queue import last_of_lanes, queue

NEWEST_ENTRIES = 600


@dataclass(frozen=True, slots=True)
class WatchPage:
    link: WatchLink
    token: str
    figures: tuple[FigureLink, ...]
    curves: tuple[Curve, ...]
    labels: dict[UUID, str]
    warnings: tuple[str, ...]
    matrix: MatrixPage | None
    now: tuple[tuple[Run, LiveSeries], ...]

    @property
    def active(self) -> bool:
        return self.matrix is not None and self.matrix.progress.unfinished > 0


def watch_page(link: WatchLink, selection: Selection, token: str) -> WatchPage:
    curves = compared(link.team, selection).curves
    grid = matrix_page(link.matrix, queue(last_of_lanes(link.matrix)).rows) if link.matrix else None
    sentences = [f"{sentence}." for sentence in [machine_sentence(curves)] if sentence]
    if any(not curve.publishable for curve in curves):
        sentences.append(f"{DEMONSTRATION}.")
    return WatchPage(
        link,
        token,
        tuple(_figures(token, selection, curves)),
        curves,
        labels_of(curves),
        tuple(sentences),
        grid,
        tuple((run, live.read(run.pk, newest=NEWEST_ENTRIES)) for run in grid.now) if grid else (),
    )


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
