"""The site's navigation, and links that keep the rest of the query string."""

from typing import TypedDict

from django import template
from django.http import HttpRequest
from django.template.context import RequestContext
from django.template.loader import render_to_string
from django.urls import NoReverseMatch, reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from benchsite.accounts.permissions import current_team, get_memberships
from benchsite.core import documents

register = template.Library()

# Group -> the label and the name of each of its pages.
GROUPS = {
    "Results": (
        ("Compare", "compare"),
        ("Versions", "versions"),
        ("Sweeps", "sweeps"),
        ("Reports", "reports"),
        ("History", "history"),
        ("Baselines", "baselines"),
        ("Sizing", "sizing"),
        ("Published results", "published"),
    ),
    "Runs": (
        ("Matrices", "matrices"),
        ("Schedules", "schedules"),
        ("Runs", "runs"),
        ("Queue", "queue"),
        ("Import", "imports"),
        ("Trash", "deleted"),
    ),
    "Setup": (
        ("Databases", "databases"),
        ("Workloads", "workloads"),
        ("Clusters", "clusters"),
        ("Load generators", "load-generators"),
        ("Systems", "systems"),
    ),
}

# Pages of the same work at addresses of their own, by the page they are reached from.
BESIDE = {"compare": ("why",)}


class Link(TypedDict):
    label: str
    href: str
    here: bool


def is_here(path: str, href: str) -> bool:
    """Whether the page at `path` lies under `href`; home is only itself."""
    if href == "/":
        return path == href
    return path.startswith(href)


class Group(TypedDict):
    label: str
    links: list[Link]
    here: bool


@register.inclusion_tag("partials/nav.html", takes_context=True)
def main_nav(context: RequestContext, *, folded: bool = False) -> dict[str, object]:
    """Home and the three groups: menus of a bar, or, `folded`, one list with headings."""
    request: HttpRequest | None = context.get("request")
    path = ""
    if request:
        path = request.path
    groups: list[Group] = []
    for group, pages in GROUPS.items():
        links: list[Link] = []
        for label, name in pages:
            try:
                href = reverse(name)
            except NoReverseMatch:
                continue  # An app that is not installed has no place in the navigation.
            addresses = [href, *map(reverse, BESIDE.get(name, ()))]
            links.append({"label": label, "href": href, "here": any(is_here(path, address) for address in addresses)})
        groups.append({"label": group, "links": links, "here": any(link["here"] for link in links)})

    return {"groups": groups, "folded": folded, "home": path == "/"}


@register.simple_block_tag
def empty_state(content: SafeString, title: str, href: str = "", action: str = "") -> SafeString:
    """The box of a list without rows: `content` is a sentence, `action` the label of a link to `href`."""
    return render_to_string("partials/empty.html", {"content": content, "title": title, "href": href, "action": action})


@register.inclusion_tag("partials/teams.html", takes_context=True)
def other_teams(context: RequestContext) -> dict[str, object]:
    """The person's teams beside the current one, to change to."""
    request: HttpRequest = context["request"]
    current = current_team(request)
    teams = [membership.team for membership in get_memberships(request) if membership.team != current]
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


@register.simple_tag(takes_context=True)
def sort_heading(
    context: RequestContext, text: str, current: str, *, falls: str, rises: str, first: str = "", css: str = ""
) -> SafeString:
    """A `<th>` whose link sorts the list: {% sort_heading "Runs" filter.sort falls="most" rises="fewest" %}.

    `falls` and `rises` are values of the parameter `sort`, `current` is the present one. The first click sorts by
    `first`, or by falling values; the next one reverses the order.
    """
    attributes = []
    if css:
        attributes.append(("class", css))
    following = first or falls
    if current == falls:
        attributes.append(("aria-sort", "descending"))
        following = rises
    elif current == rises:
        attributes.append(("aria-sort", "ascending"))
        following = falls
    href = query(context, sort=following, page=None)
    html = format_html_join("", ' {}="{}"', attributes)
    return format_html('<th scope="col"{}><a class="sort" href="{}">{}</a></th>', html, href, text)


@register.simple_tag(takes_context=True)
def help_link(context: RequestContext) -> str:
    """A link to the document that explains this page; empty where there is none."""
    match = getattr(context.get("request"), "resolver_match", None)
    name = None
    if match:
        name = documents.EXPLAINED_PAGES.get(match.url_name or "")
    if name is None:
        return ""
    title = documents.read_document(name).title
    return format_html(
        '<a class="button button--quiet" href="{}" title="{}">Help</a>', documents.get_address(name), title
    )
