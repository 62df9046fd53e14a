"""Addresses of the pages and figures of `reports`: what the runs mean."""

from collections.abc import Callable
from itertools import chain

from django.http import HttpResponseBase
from django.urls import URLPattern, URLResolver, include, path

from reports import url_converters  # noqa: F401
from reports.compare.figure_registry import PICTURES
from reports.compare.views import compare, figures, live, run_diff, sweeps
from reports.published.views import frozen, reports, studies as published
from reports.sizing import views as sizing
from reports.trends.views import baselines, history
from runs.results.pages.lists import export_urls

Patterns = list[URLPattern | URLResolver]


def with_twins(where: str, view: Callable[..., HttpResponseBase], name: str, **defaults: str) -> Patterns:
    """A figure's address, and those of its numbers in every format."""
    return [
        path(f"{where}/", view, defaults, name=name),
        path(f"{where}.<dataform:form>", view, defaults, name=f"{name}-data"),
    ]


figure_urls: Patterns = [
    *chain.from_iterable(with_twins(name, figures.comparison, f"figure-{name}", picture=name) for name in PICTURES),
    *with_twins("histories/<configkey:config_key>", history.figure, "figure-history"),
    *with_twins("sweeps/<uuid:pk>", figures.sweep, "figure-sweep"),
    *with_twins("matrices/<uuid:pk>", figures.matrix, "figure-matrix"),
    path("runs/<uuid:pk>/live/", live.run_live_figure, name="figure-run-live"),
    *with_twins("runs/<uuid:pk>/series", figures.run_series, "figure-run-series"),
    *with_twins("runs/<uuid:pk>/servers", figures.run_servers, "figure-run-servers"),
    *with_twins("runs/<uuid:pk>/exporters", figures.run_exporters, "figure-run-exporters"),
    *with_twins("runs/<uuid:pk>/counters", figures.run_counters, "figure-run-counters"),
    *with_twins("runs/<uuid:pk>/percentiles", figures.run_percentiles, "figure-run-percentiles"),
]

sweep_urls: Patterns = [
    path("", sweeps.sweeps, name="sweeps"),
    path("<uuid:pk>/", sweeps.sweep, name="sweep"),
    path("of/<uuid:pk>/searches/", sweeps.matrix_searches, name="matrix-searches"),
    path("<uuid:pk>/annotate/", sweeps.annotate, name="sweep-annotate"),
    path("<uuid:pk>/extend/", sweeps.extend_sweep, name="sweep-extend"),
]

history_urls: Patterns = [
    path("", history.histories, name="history"),
    path("<configkey:config_key>/", history.series, name="history-series"),
    path("<configkey:config_key>/decide/", history.decide, name="history-decide"),
    path("<configkey:config_key>/accept/", history.accept, name="history-accept"),
    path("<configkey:config_key>/note/", history.note, name="history-note"),
]

report_urls: Patterns = [
    path("", reports.reports, name="reports"),
    path("new/", reports.add, name="report-add"),
    path("notes/", reports.notes, name="report-notes"),
    path("<uuid:pk>/", reports.report, name="report"),
    path("<uuid:pk>/edit/", reports.edit, name="report-edit"),
    path("<uuid:pk>/publish/", reports.publish, name="report-publish"),
    path("<uuid:pk>/publish/<slug:digest>/<slug:name>/", reports.preview_figure, name="report-preview-figure"),
    path("<uuid:pk>/access/", reports.access, name="report-access"),
    path("<uuid:pk>/link/", reports.link, name="report-link"),
    path("<uuid:pk>/delete/", reports.delete, name="report-delete"),
]

urlpatterns: Patterns = [
    path("reports/", include(report_urls)),
    path("compare/", compare.compare, name="compare"),
    path("versions/", baselines.versions, name="versions"),
    path("compare/pictures/", compare.pictures, name="compare-pictures"),
    path("compare/numbers/", compare.numbers, name="compare-numbers"),
    path("compare/points/", compare.points, name="compare-points"),
    path("compare/headline/", compare.headline, name="compare-headline"),
    path("compare/sides/", compare.sides, name="compare-sides"),
    path("sizing/", sizing.sizing, name="sizing"),
    path("why/", run_diff.why, name="why"),
    path("history/", include(history_urls)),
    path("sweeps/", include(sweep_urls)),
    path("published/", published.published, name="published"),
    path("published/facts.csv", published.facts, name="published-facts"),
    path("figures/", include(figure_urls)),
    *export_urls(sweeps.sweeps_export, "sweeps"),
    *export_urls(sweeps.histories_export, "histories"),
    path(".well-known/benchsite-signing-key", frozen.signing_key, name="signing-key"),
    path("public/<slug:slug>/", frozen.index, name="public-reports"),
    path("baselines/", baselines.baselines, name="baselines"),
    path("baselines/set/", baselines.set_to, name="baseline-set"),
    path("baselines/<uuid:pk>/unset/", baselines.unset, name="baseline-unset"),
    path("badges/new/", baselines.badge_add, name="badge-add"),
    path("badges/<str:token>/revoke/", baselines.badge_revoke, name="badge-revoke"),
    path("matrices/<uuid:pk>/builds/", baselines.builds_verdict, name="matrix-builds"),
    path("runs/<uuid:pk>/verdict/", baselines.run_verdict, name="run-against"),
]
