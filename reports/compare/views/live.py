"""The figure of a run that goes on: what its clients say each second, from the live stream. No result yet."""

import uuid

import numpy as np
from django.http import HttpRequest, JsonResponse
from django.shortcuts import get_object_or_404

from benchsite.accounts.permissions import team_required
from benchsite.core import formatting
from reports.compare.figures.captions import Remark
from reports.compare.figures.layout import Array, Frame, PlotlyFigure, Trace, time_line
from reports.compare.figures.run_series import OverTime, RunSeriesFigure, Window
from reports.compare.messages import LIVE_VIEW_GONE, NO_CLIENT_YET, NO_LIVE_VIEW
from runs.models import Phase, Run, Status
from runs.queue import live
from runs.queue.live import ClientSeries, LiveSeries
from runs.queue.spec import max_warmup_s

CAPTION = (
    "As the clients say it, second by second; the merged histograms come after the end. "
    "Rates are added (each client apart in grey); p99 is that of the highest client: percentiles cannot be added."
)
# A browser draws so many points of one line without effort; a long run shows its end.
MAX_SECONDS = 1_800
MAX_OF_A_CLIENT = 400


@team_required("GET")
def run_live_figure(request: HttpRequest, pk: uuid.UUID) -> JsonResponse:
    run = get_object_or_404(Run, pk=pk)
    sheet = LiveFigure(run, live.read(run.pk))
    return JsonResponse(sheet.answer(theme=request.GET.get("theme", "light"), narrow=request.GET.get("narrow") == "1"))


class LiveFigure(RunSeriesFigure):
    """The time series of a run so far, on an axis that is as long as the run is to be."""

    def __init__(self, run: Run, series: LiveSeries) -> None:
        super().__init__(f"live-{run.pk}", over_time(series), get_window(run))
        self.run = run
        self.stream = series

    def draw(self, frame: Frame) -> PlotlyFigure:
        figure = super().draw(frame)
        clients = self.stream.clients
        window = self.window
        if len(clients) > 1:
            figure["data"] = [_client_line(client, frame) for client in clients] + figure["data"]
        if window.end_s and not (self.stream.seconds and self.stream.seconds[-1] > window.end_s):
            figure["layout"]["xaxis"]["range"] = [0, window.end_s + 1]
        return figure

    @property
    def remarks(self) -> list[Remark]:
        return [("Live", CAPTION)]

    @property
    def empty(self) -> str:
        if not self.stream.available:
            return NO_LIVE_VIEW
        if self.stream.seconds:
            return ""
        if self.live:
            return NO_CLIENT_YET
        return LIVE_VIEW_GONE

    @property
    def live(self) -> bool:
        return self.run.status not in Status.terminal()


def get_window(run: Run) -> Window:
    """The planned window; a load has none."""
    window = run.spec["window"]
    if run.phase == Phase.LOAD:
        return Window(target_ops_s=run.target_ops_s)
    begin_s = float(max_warmup_s(window))
    return Window(begin_s, begin_s + float(window["min_measure_s"]), run.target_ops_s)


def over_time(series: LiveSeries) -> list[OverTime]:
    seconds = np.array(series.seconds[-MAX_SECONDS:], dtype=float)
    return [
        OverTime(
            operation=name,
            kind="service",
            seconds=seconds,
            rate_ops_s=_numbers(operation.rate_ops_s),
            failed=np.zeros(seconds.size),
            mean_us=_numbers(operation.mean_us),
            p99_us=_numbers(operation.highest_p99_us),
        )
        for name, operation in series.operations.items()
        if seconds.size
    ]


def _numbers(values: tuple[float | None, ...]) -> Array:
    return np.array([np.nan if value is None else value for value in values[-MAX_SECONDS:]], dtype=float)


def _client_line(client: ClientSeries, frame: Frame) -> Trace:
    """Context behind the sum, which keeps every dip: its course is enough, for many are sent often."""
    return time_line(
        np.asarray(client.seconds[-MAX_SECONDS:], dtype=float),
        np.asarray(client.rates_ops_s[-MAX_SECONDS:], dtype=float),
        f"client {client.number}",
        formatting.throughput,
        {"color": frame.theme.muted, "width": 1},
        most=MAX_OF_A_CLIENT,
        opacity=0.7,
    )
