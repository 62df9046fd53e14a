"""The site's navigation, and links that keep the rest of the query string."""

from typing import TypedDict

from django import template
from django.http import HttpRequest
from django.template.context import RequestContext
from django.urls import NoReverseMatch, reverse

from benchsite.teams.permissions import current_team, memberships_of

register = template.Library()

MAIN = (
    ("Home", "home"),
    ("Matrices", "matrices"),
    ("Sweeps", "sweeps"),
    ("Runs", "runs"),
    ("Import", "imports"),
    ("Compare", "compare"),
    ("Reports", "reports"),
    ("Databases", "databases"),
    ("Workloads", "workloads"),
    ("Clusters", "clusters"),
    ("Load generators", "load-generators"),
)

# Pages of the same work at addresses of their own, by the place they are reached from.
BESIDE = {
    "matrices": ("schedules", "watch-links"),
    "compare": ("history", "baselines", "sizing", "scaling", "why", "published"),
}


class Link(TypedDict):
    label: str
    href: str
    here: bool


def is_here(path: str, href: str) -> bool:
    """Whether the page at `path` lies under `href`; home is only itself."""
    return path == href if href == "/" else path.startswith(href)


@register.inclusion_tag("partials/nav.html", takes_context=True)
def main_nav(context: RequestContext) -> dict[str, list[Link]]:
    request: HttpRequest | None = context.get("request")
    path = request.path if request else ""
    links: list[Link] = []
    for label, name in MAIN:
        try:
            href = reverse(name)
        except NoReverseMatch:
            continue  # An app that is not installed has no place in the navigation.
        places = [href, *(reverse(one) for one in BESIDE.get(name, ()))]
        links.append({"label": label, "href": href, "here": any(is_here(path, place) for place in places)})
    return {"links": links}


@register.inclusion_tag("partials/teams.html", takes_context=True)
def other_teams(context: RequestContext) -> dict[str, object]:
    """The person's teams beside the current one, to change to."""
    request: HttpRequest = context["request"]
    current = current_team(request)
    teams = [one.team for one in memberships_of(request) if one.team != current]
    return {"teams": teams, "csrf_token": context.get("csrf_token")}


@register.simple_tag(takes_context=True)
def query(context: RequestContext, **changes: object) -> str:
    """The page's own query string with `changes`; None or an empty text takes a name out.

    `<a href="{% query page=2 %}">` keeps every filter that is set.
    """
    request: HttpRequest = context["request"]
    parameters = request.GET.copy()
    for name, value in changes.items():
        if value is None or value == "":
            parameters.pop(name, None)
        else:
            parameters[name] = str(value)
    return f"?{parameters.urlencode()}"
