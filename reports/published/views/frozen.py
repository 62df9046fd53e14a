"""A frozen report as its readers have it: `/r/{token}`, its figures and its files. Nobody has to sign in but for a
private one, and no row of a run is asked for anything.
"""

import gzip
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from typing import Concatenate, Final, ParamSpec

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.cache import get_conditional_response, patch_vary_headers
from django.utils.http import http_date
from django.views.decorators.clickjacking import xframe_options_exempt
from django.views.decorators.http import require_safe

from benchsite.accounts import tenancy
from benchsite.accounts.models import Team
from benchsite.core.table import Table
from reports.compare.figures.export_size import medium_named
from reports.compare.queries.computed_cache import build_key, get_or_compute
from reports.compare.views.figures import TEXT_FORMS
from reports.models import Report, ReportPicture
from reports.published import exports
from reports.published.content import build_table, canonical
from reports.published.figures import ReportFigure
from reports.published.links import LinkRevoked, LinkUnknown, Opened, get_row, get_site_url, may_read, open_report
from reports.published.pages import get_page, part_named
from reports.published.publication import load_content
from reports.published.queries.reports import public_reports
from reports.published.sanitizer import notes_html
from reports.published.signatures import CONTENT_TYPE, public_keys, sign
from runs.plans.files.plan import PlanRefused
from runs.plans.files.script import repeat_script

PACKED: Final = ("image/png",)  # by itself
WORTH_PACKING: Final = 1024
PACKING: Final = 6
A_YEAR_S: Final = 365 * 24 * 3600
NOT_LISTED: Final = "noindex, nofollow, noarchive"
P = ParamSpec("P")
HTML = "text/html; charset=utf-8"
JSON = "application/json"


# A revision never changes, so no page that is kept is ever out of date. Whether a reader may have the bytes is asked
# of the database each time, before this is asked (`opening`): a link that is revoked opens nothing from that moment
# on.
@dataclass(frozen=True, slots=True)
class Served:
    """One answer, compressed where that is worth it."""

    data: bytes
    is_packed: bool
    digest: str
    content_type: str

    @property
    def body(self) -> bytes:
        return gzip.decompress(self.data) if self.is_packed else self.data


def served(opened: Opened, parts: tuple[object, ...], content_type: str, make: Callable[[], bytes]) -> Served:
    """The bytes of one page or file of a revision. `parts` tell them from all others of the same revision."""

    def build() -> Served:
        body = make()
        digest = _short_digest(body)
        if len(body) < WORTH_PACKING or content_type in PACKED:
            return Served(body, is_packed=False, digest=digest, content_type=content_type)
        return Served(gzip.compress(body, PACKING), is_packed=True, digest=digest, content_type=content_type)

    return get_or_compute(build_key(opened.team_id, "frozen", opened.revision_id, *parts), Served, build)


def _short_digest(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()[:32]


def page_key(opened: Opened) -> tuple[object, ...]:
    """The parts of the page beside its content: its address, its place among the revisions, who may find it."""
    return (opened.token, opened.is_pinned, opened.newest, opened.access)


def answer(request: HttpRequest, opened: Opened, file: Served, *, fixed: bool = False) -> HttpResponse:
    """The bytes with what caches, crawlers and browsers have to know; 304 where the reader has them already.

    `fixed`: whatever this address answered once, it answers for ever, so that a browser need not ask again.
    """
    if opened.signature:
        data = sign(file.body)
        file = Served(data, is_packed=False, digest=_short_digest(data), content_type=CONTENT_TYPE)

    if file.is_packed and "gzip" in request.headers.get("Accept-Encoding", ""):
        response = HttpResponse(file.data, content_type=file.content_type, headers={"Content-Encoding": "gzip"})
    else:
        response = HttpResponse(file.body, content_type=file.content_type)
    if file.is_packed:
        patch_vary_headers(response, ("Accept-Encoding",))
    # Weak: both forms of the body have the same one.
    etag = f'W/"{file.digest}"'
    response.headers["ETag"] = etag
    response.headers["Last-Modified"] = http_date(opened.changed_at.timestamp())
    not_modified = get_conditional_response(request, etag, int(opened.changed_at.timestamp()), response)
    response = marked(opened, not_modified or response, fixed=fixed)
    if opened.is_listed and file.content_type.startswith(JSON):
        # Pages of other sites read what is public: without cookies, which this header does not permit.
        response.headers["Access-Control-Allow-Origin"] = "*"

    return response


def marked(opened: Opened, response: HttpResponse, *, fixed: bool = False) -> HttpResponse:
    """The headers that follow from who may read the report."""
    if opened.is_private:
        patch_vary_headers(response, ("Cookie",))
    # Nothing is kept on the way: a link can be revoked. A reader's own browser may keep what it has seen.
    response.headers["Cache-Control"] = "private, no-cache"
    if fixed and not opened.is_private:
        response.headers["Cache-Control"] = f"private, max-age={A_YEAR_S}, immutable"
    response.headers["Referrer-Policy"] = "same-origin"
    if not opened.is_listed:
        response.headers["X-Robots-Tag"] = NOT_LISTED
    return response


@require_safe
def index(request: HttpRequest, slug: str) -> HttpResponse:
    """The team's public reports whose links are open. A team that never made one public has no such page."""
    team = Team.objects.filter(slug=slug).first()
    if team is None:
        raise Http404
    tenancy.enter(team.pk)
    if not Report.objects.filter(access=Report.Access.PUBLIC).exists():
        raise Http404
    response = render(request, "reports/frozen/index.html", {"team": team, "reports": public_reports(team)})
    response.headers["Cache-Control"] = "no-cache"
    return response


def opening(
    view: Callable[Concatenate[HttpRequest, Opened, P], HttpResponseBase],
) -> Callable[..., HttpResponseBase]:
    """Gives the view the revision that the address means, if this reader may see it; 404 or 410 else."""

    @require_safe
    @wraps(view)
    def wrapped(request: HttpRequest, /, token: str, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        number = kwargs.pop("number", None)
        signature = bool(kwargs.pop("signature", False))
        try:
            opened = open_report(token, number if isinstance(number, int) else None)
        except LinkUnknown as unknown:
            raise Http404(str(unknown)) from unknown
        except LinkRevoked as revoked:
            response = render(request, "reports/frozen/gone.html", {"why": str(revoked)}, status=410)
            response.headers["Cache-Control"] = "private, no-cache"
            response.headers["X-Robots-Tag"] = NOT_LISTED
            return response

        # Who asks is looked up for private reports only: a public page costs no session.
        if opened.is_private and not may_read(opened, request.user.pk):
            raise Http404("No report has this address.")
        if signature and opened.provenance:
            raise Http404(f"{opened.provenance} The site that published the report signs it.")

        opened = replace(opened, signature=signature, site=get_site_url(request))
        return view(request, opened, *args, **kwargs)

    return wrapped


@opening
def report(request: HttpRequest, opened: Opened) -> HttpResponseBase:
    """The page."""
    page = served(opened, ("page", opened.site, *page_key(opened)), HTML, lambda: _render_page(opened))
    return answer(request, opened, page)


def _render_page(opened: Opened) -> bytes:
    revision = get_row(opened)
    content = load_content(revision)
    pictures = {picture.name: picture for picture in revision.pictures.defer("png")}
    page = get_page(content)
    context = {
        "page": page,
        "place": opened,
        "notes": notes_html(content["notes"]),
        "pictures": {name: f"{opened.pinned}/figures/{name}.png" for name in pictures},
        "picture": None,
    }
    # The first figure that has a picture is the report's preview elsewhere.
    figures = [part for part in page["parts"] if part["kind"] == "figure" and part["name"] in pictures]
    if figures:
        name = figures[0]["name"]
        context["picture"] = {
            "address": f"{opened.absolute_pinned}/figures/{name}.png",
            "caption": figures[0]["caption"],
            "width": pictures[name].width,
            "height": pictures[name].height,
        }
    return render_to_string("reports/frozen/page.html", context).encode()


@opening
def export(request: HttpRequest, opened: Opened, form: str) -> HttpResponseBase:
    """The whole report as one file: json, zip (of CSV), md or html."""
    opened = replace(opened, alone=form == "html")
    content_type = exports.FORMS[form]
    parts = ("export", form, opened.site, *page_key(opened))
    file = served(opened, parts, content_type, lambda: _export_file(opened, form))
    return _name_download(opened, answer(request, opened, file), exports.file_name(opened.title, opened.digest, form))


def _export_file(opened: Opened, form: str) -> bytes:
    revision = get_row(opened)
    content = load_content(revision)
    if form == "zip":
        return exports.as_zip(content, opened.digest, opened.provenance)
    if form == "md":
        return exports.as_markdown(content, opened.digest, opened.absolute_pinned, opened.provenance)
    if form == "html":
        return exports.alone_html(
            content, opened, {picture.name: bytes(picture.png) for picture in revision.pictures.all()}
        )
    return canonical(content)


def _name_download(opened: Opened, response: HttpResponseBase, name: str) -> HttpResponseBase:
    """As a download. An imported report's files say so in their names: its JSON is the exporting site's own."""
    if opened.provenance:
        name = f"imported-{name}"
    if opened.signature:
        name = f"{name}.sig"
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


@opening
def figure(request: HttpRequest, opened: Opened, name: str) -> HttpResponseBase:
    """The figure for charts.js as it was drawn at publishing, in one theme and width, with its numbers."""
    theme = "dark" if request.GET.get("theme") == "dark" else "light"
    narrow = request.GET.get("narrow") == "1"
    medium = medium_named(request.GET.get("medium", ""))
    parts = ("figure", name, theme, narrow, medium, opened.token)

    def draw() -> bytes:
        content = load_content(get_row(opened))
        figures = {figure["name"]: figure for figure in content["figures"]}
        if name not in figures:
            raise Http404("The report has no such figure.")
        base = f"/r/{opened.token}@{opened.number}/figures/{name}"
        addresses = {form: f"{base}.{form}" for form in (*TEXT_FORMS, "json")}
        drawn = ReportFigure(figures[name]).answer(theme=theme, narrow=narrow, medium=medium)
        caption = _add_provenance(opened, drawn["caption"])
        return json.dumps(drawn | addresses | {"caption": caption}).encode()

    return answer(request, opened, served(opened, parts, JSON, draw), fixed=opened.is_pinned)


def _add_provenance(opened: Opened, caption: str) -> str:
    return f"{caption} {opened.provenance}".strip()


@opening
def data(request: HttpRequest, opened: Opened, kind: str, name: str, form: str) -> HttpResponseBase:
    """The numbers of one figure or table in one of the forms that tables have."""
    content_type = JSON
    if form != "json":
        text_type, _ = TEXT_FORMS[form]
        content_type = f"{text_type}; charset=utf-8"
    file = served(opened, ("data", kind, name, form), content_type, lambda: _render_data(opened, kind, name, form))
    return _name_download(opened, answer(request, opened, file, fixed=opened.is_pinned), f"{name}.{form}")


def _render_data(opened: Opened, kind: str, name: str, form: str) -> bytes:
    part = part_named(load_content(get_row(opened)), name, kind)
    if part is None:
        raise Http404("The report has no such part.")

    table: Table = build_table(part["table"])
    if form == "json":
        headers = {
            "name": name,
            "title": part["title"],
            "caption": _add_provenance(opened, part.get("caption", "")),
            "conditions": part.get("conditions", []),
            "notes": part.get("notes", []),
        }
        return json.dumps({**headers, **table.as_dict()}, ensure_ascii=False).encode()

    _, write = TEXT_FORMS[form]
    return write(table).encode()


@require_safe
def signing_key(request: HttpRequest) -> HttpResponse:
    """The public keys by which everybody checks what this site published, in PEM."""
    return HttpResponse(public_keys(), content_type="text/plain; charset=utf-8")


@opening
def picture(request: HttpRequest, opened: Opened, name: str) -> HttpResponseBase:
    """The figure as PNG, for previews elsewhere and readers without JavaScript."""

    def read_png() -> bytes:
        picture = ReportPicture.objects.filter(revision=opened.revision_id, name=name).first()
        if picture is None:
            raise Http404("This figure has no image.")
        return bytes(picture.png)

    return answer(request, opened, served(opened, ("png", name), "image/png", read_png), fixed=opened.is_pinned)


@opening
def again(request: HttpRequest, opened: Opened, form: str) -> HttpResponseBase:
    """The plan by which the report can be run again, or the script that repeats it without Benchsite."""
    content_type = "application/toml"
    if form == "sh":
        content_type = "text/x-shellscript; charset=utf-8"

    def write() -> bytes:
        content = load_content(get_row(opened))
        plan = content.get("plan", "")
        if not plan:
            raise Http404("The results of this report were uploaded: there is no plan.")
        if form != "sh":
            return plan.encode()
        try:
            return repeat_script(plan, content.get("loads", {})).encode()
        except PlanRefused as refused:
            raise Http404(f"The plan in this report cannot be read: {refused}") from refused

    file = served(opened, ("again", form), content_type, write)
    return _name_download(opened, answer(request, opened, file), exports.file_name(opened.title, opened.digest, form))


@xframe_options_exempt
@opening
def embed(request: HttpRequest, opened: Opened) -> HttpResponseBase:
    """One figure alone, for a frame in another page; who may frame it is this site's setting."""
    name = request.GET.get("figure", "")
    parts = ("embed", name[:80], opened.site, *page_key(opened))
    response = answer(request, opened, served(opened, parts, HTML, lambda: _render_embed(opened, name)))
    ancestors = " ".join(settings.EMBED_ANCESTORS) or "'self'"
    policy = settings.CONTENT_SECURITY_POLICY.replace("frame-ancestors 'none'", f"frame-ancestors {ancestors}")
    response.headers["Content-Security-Policy"] = policy
    return response


def _render_embed(opened: Opened, name: str) -> bytes:
    revision = get_row(opened)
    content = load_content(revision)
    page = get_page(content)
    figures = [part for part in page["parts"] if part["kind"] == "figure"]
    if name:
        figures = [part for part in figures if part["name"] == name]
    if not figures:
        raise Http404("The report has no such figure.")

    figure = figures[0]
    picture = ""
    if revision.pictures.filter(name=figure["name"]).exists():
        picture = f"{opened.pinned}/figures/{figure['name']}.png"
    context = {"part": figure, "place": opened, "page": page, "picture": picture}
    return render_to_string("reports/frozen/embed.html", context).encode()
