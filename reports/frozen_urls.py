"""Addresses of frozen reports: `/r/{token}`, `/r/{token}@2`, what belongs to them, and the teams' public indexes."""

from collections.abc import Callable

from django.http import HttpResponseBase
from django.urls import URLPattern, path, register_converter
from django.urls.converters import StringConverter

from reports.views import frozen, reports


class ReportToken(StringConverter):
    """What `secrets.token_urlsafe` gives."""

    regex = "[A-Za-z0-9_-]{8,64}"


class ReportForm(StringConverter):
    """The whole report as one file."""

    regex = "json|csv|md|html"


class PartKind(StringConverter):
    """Where the numbers stand; a view gets "figure" or "table"."""

    regex = "figures|tables"

    def to_python(self, value: str) -> str:
        return value.removesuffix("s")

    def to_url(self, value: str) -> str:
        return f"{value}s"


register_converter(ReportToken, "reporttoken")
register_converter(ReportForm, "reportform")
register_converter(PartKind, "partkind")


def _both(path_end: str, view: Callable[..., HttpResponseBase], name: str, **defaults: object) -> list[URLPattern]:
    """The address of the newest revision, and that of a certain one."""
    return [
        path(f"r/<reporttoken:token>{path_end}", view, defaults, name=name),
        path(f"r/<reporttoken:token>@<int:number>{path_end}", view, defaults, name=f"{name}-revision"),
    ]


def _signed(suffix: str, view: Callable[..., HttpResponseBase], name: str, **options: object) -> list[URLPattern]:
    """The addresses of a file and of its signature."""
    signatures = _both(f"{suffix}.sig", view, f"{name}-signature", signature=True, **options)
    return [*_both(suffix, view, name, **options), *signatures]


urlpatterns: list[URLPattern] = [
    *_both("", frozen.report, "frozen"),
    *_signed(".<reportform:form>", frozen.export, "frozen-export"),
    *_both("/embed", frozen.embed, "frozen-embed"),
    *_both("/figures/<slug:name>/", frozen.figure, "frozen-figure"),
    *_signed("/figures/<slug:name>.png", frozen.picture, "frozen-picture"),
    *_signed("/<partkind:kind>/<slug:name>.<dataform:form>", frozen.data, "frozen-data"),
    *_signed("/kit.zip", frozen.again, "frozen-kit", form="zip"),
    *_signed("/plan.toml", frozen.again, "frozen-plan", form="toml"),
    path(".well-known/benchsite-signing-key", frozen.signing_key, name="signing-key"),
    path("reports/import/", reports.import_page, name="report-import"),
    path("public/<slug:slug>/", frozen.index, name="public-reports"),
]
