"""Addresses of the pages and figures of `reports`: what the runs mean."""

from django.urls import URLPattern, URLResolver, include, path, register_converter

from reports.views import compare, figures, live, sweeps, wide_figures

Patterns = list[URLPattern | URLResolver]


class DataForm:
    """The formats of a figure's data twin, as a file ending."""

    regex = "csv|json|md|tex"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


register_converter(DataForm, "dataform")

figure_urls: Patterns = [
    path("ceilings/", figures.ceilings, name="figure-ceilings"),
    path("ceilings.<dataform:form>", figures.ceilings, name="figure-ceilings-data"),
    path("latency/", figures.latency, name="figure-latency"),
    path("latency.<dataform:form>", figures.latency, name="figure-latency-data"),
    *(
        route
        for name in ("percentiles", "stability", "scalability", "durability", "price")
        for route in (
            path(f"{name}/", getattr(wide_figures, name), name=f"figure-{name}"),
            path(f"{name}.<dataform:form>", getattr(wide_figures, name), name=f"figure-{name}-data"),
        )
    ),
    path("sweeps/<uuid:pk>/", figures.sweep, name="figure-sweep"),
    path("sweeps/<uuid:pk>.<dataform:form>", figures.sweep, name="figure-sweep-data"),
    path("matrices/<uuid:pk>/", figures.matrix, name="figure-matrix"),
    path("matrices/<uuid:pk>.<dataform:form>", figures.matrix, name="figure-matrix-data"),
    path("runs/<uuid:pk>/live/", live.run_live_figure, name="figure-run-live"),
    path("runs/<uuid:pk>/series/", figures.run_series, name="figure-run-series"),
    path("runs/<uuid:pk>/series.<dataform:form>", figures.run_series, name="figure-run-series-data"),
    path("runs/<uuid:pk>/heat/", figures.run_heat, name="figure-heat"),
    path("runs/<uuid:pk>/heat.<dataform:form>", figures.run_heat, name="figure-heat-data"),
    path("runs/<uuid:pk>/percentiles/", figures.run_percentiles, name="figure-run-percentiles"),
    path("runs/<uuid:pk>/percentiles.<dataform:form>", figures.run_percentiles, name="figure-run-percentiles-data"),
]

sweep_urls: Patterns = [
    path("", sweeps.sweeps, name="sweeps"),
    path("<uuid:pk>/", sweeps.sweep, name="sweep"),
    path("<uuid:pk>/annotate/", sweeps.annotate, name="sweep-annotate"),
]

urlpatterns: Patterns = [
    path("compare/", compare.compare, name="compare"),
    path("compare/pictures/", compare.pictures, name="compare-pictures"),
    path("compare/points/", compare.points, name="compare-points"),
    path("sweeps/", include(sweep_urls)),
    path("figures/", include(figure_urls)),
]
