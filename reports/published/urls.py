"""Addresses of frozen reports below `/r/`: `/r/{token}`, `/r/{token}@2`, and what belongs to them."""

from collections.abc import Callable

from django.http import HttpResponseBase
from django.urls import URLPattern, path

from reports import url_converters  # noqa: F401
from reports.published.views import frozen


def _both(path_end: str, view: Callable[..., HttpResponseBase], name: str, **defaults: object) -> list[URLPattern]:
    """The address of the newest revision, and that of a certain one."""
    return [
        path(f"<reporttoken:token>{path_end}", view, defaults, name=name),
        path(f"<reporttoken:token>@<int:number>{path_end}", view, defaults, name=f"{name}-revision"),
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
    *_signed("/repeat.sh", frozen.again, "frozen-script", form="sh"),
    *_signed("/plan.toml", frozen.again, "frozen-plan", form="toml"),
]
