"""The compare page: both pictures of a selection, what the sides differ in, and the numbers as tables."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypedDict, TypeVar
from uuid import UUID

from django.core.exceptions import TooManyFieldsSent
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.utils.safestring import SafeString
from django_htmx.http import push_url

from benchsite.accounts.models import Team
from benchsite.accounts.permissions import get_team, team_required
from reports.compare.analysis.differences import are_of_one_plan, split_differences
from reports.compare.analysis.pairs import pair_findings
from reports.compare.analysis.repeat_comparison import Outcome
from reports.compare.curves import (
    STATISTICS,
    Curve,
    Standing,
    collect_measured,
    collect_operations,
    collect_points,
    detect_kind,
)
from reports.compare.figures.captions import join_terms, list_conditions
from reports.compare.figures.latency import points_table
from reports.compare.figures.overlay import (
    build_absence_sentence,
    choices as studies,
    list_throughputs,
    published_missing,
)
from reports.compare.figures.theme import MAX_DATABASES, get_labels, list_databases
from reports.compare.ladder_text import status_sentences
from reports.compare.pages.answer import Answer, find_differing_pair, judge_selection
from reports.compare.pages.answer_messages import certainty, plain_text, sentence
from reports.compare.pages.baseline_ratios import Against, Judging, collect_comparisons
from reports.compare.pages.charts import (
    ceilings_picture,
    latency_picture,
    more_pictures,
    picture_link,
    shown_operations,
)
from reports.compare.pages.comparison_table import choose_scale, table_rows
from reports.compare.pages.decision import Need, decide
from reports.compare.pages.equal_load import EqualLoad, build_equal_load, number_text, only_single_rungs
from reports.compare.pages.exclusions import left_out
from reports.compare.pages.filter_menus import Menu, chips, menus
from reports.compare.pages.tables import list_tables
from reports.compare.queries import (
    Chosen,
    build_key,
    chosen,
    facets,
    get_or_compute,
    get_profile,
    rows_digest,
    session_spreads,
    sides_by_sweep,
)
from reports.compare.queries.sweep_selection import get_sweeps_by_phase
from reports.compare.selection import ALL, BOTH, KINDS, MAX_SHOWN, MAX_VALUES, Selection, read
from reports.published.figures import cells
from reports.published.pages import grid
from reports.trends.analysis.sessions import SessionSpread
from runs.models import Sweep, ThresholdOverride
from runs.plans.pages.next_repeats import next_repeats

SCALE_SAYS = (
    ("auto", "auto"),
    ("log", "latency logarithmic"),
    ("loglog", "both logarithmic"),
    ("linear", "both linear"),
)
KIND_MENU_SAYS = {
    "service": "from the call (service time)",
    "response": "from the scheduled start (response time)",
}
SESSIONS = (
    "Sessions",
    "Sides were measured in different sessions, and how much sessions vary on their machines is not known. Intervals "
    "hold within these sessions only: a neighbour or a cache may make the difference. Measure both sides in one plan.",
)
MIN_WHOLE_OPS_S = 100.0  # ceilings from here on are whole numbers in the table
CHOSEN_STATISTICS = ("mean", "p50", "p95", "p99", "p999")
# What the form of the menus gives itself, and what that of the movable line does.
MENU_NAMES = frozenset(
    {
        "matrix", "system", "mode", "class", "workload", "cluster", "version", "label", "source", "purpose", "phase",
        "since", "until", "stat", "scale", "vary", "published",
    }
)  # fmt: skip
LINE_NAMES = frozenset({"load", "within", "loss"})
NUMBERS = ("table-sustained", "table-equal-load")  # of the tables, those without buttons of their own


class ComparisonParts(TypedDict):
    """The page of a comparison as it is cached: rendered parts, and values for the frame around them."""

    going: bool
    figures: list[dict[str, Any]]  # links of the first workload's
    permalink: str
    title: str
    equal: str
    repeats: dict[str, object] | None
    lead: SafeString
    actions: SafeString
    headline: SafeString
    uncounted: list[dict[str, Any]]  # sides none of whose points counts
    body: SafeString


class HtmlPart(TypedDict):
    """A part that is fetched when it is opened, as it is cached."""

    going: bool
    html: SafeString


Part = TypeVar("Part", ComparisonParts, HtmlPart)


@team_required("GET")
def compare(request: HttpRequest) -> HttpResponseBase:
    """The page; for a menu or a link of it (htmx) what changes, with the canonical address."""
    selection = selection_in(request)
    canonical = selection.query()
    is_part = bool(request.htmx)  # type: ignore[attr-defined]
    if not is_part and not selection.problems and request.GET.urlencode() != canonical.removeprefix("?"):
        return redirect(request.path + canonical)

    parts = get_parts(get_team(request), selection)
    frame = "base.html"
    if is_part:
        frame = "part.html"
    context = {
        "frame": frame,
        "parts": parts,
        "query": parts["permalink"].partition("?")[2],
    }
    response = render(request, "reports/compare.html", context)
    patch_vary_headers(response, ["HX-Request"])
    address = request.get_full_path() if selection.problems else request.path + canonical
    if is_part:
        return push_url(response, address)

    return response


@team_required("GET")
def pictures(request: HttpRequest) -> HttpResponse:
    """The other figures of a comparison, when somebody opens them; without JavaScript a page of its own."""
    selection = selection_in(request)
    comparison = chosen(get_team(request), selection)
    state = pinned(selection, comparison)
    curves = comparison.curves
    drawn = latency_picture(state, curves)
    charts = [chart for chart in more_pictures(state, curves) if drawn is None or chart.key != drawn.key]
    figures = [picture_link(chart, curves) for chart in charts]
    return _part(request, "pictures", selection, {"figures": figures})


@team_required("GET")
def numbers(request: HttpRequest) -> HttpResponse:
    """All percentiles at equal load, the ratios with their method, ceilings and the checks of pairs, when opened."""
    selection = selection_in(request)
    team = get_team(request)

    def render_numbers(context: dict[str, Any]) -> HtmlPart:
        curves = context["compared"].curves
        items = list_tables(curves, context["labels"], context["against"], context["equal"], selection.kind_for(curves))
        context["tables"] = [
            {"name": item.name, "title": item.title, "says": item.says, "grid": grid(cells(item.table()))}
            for item in items
            if item.table and item.name in NUMBERS
        ]
        context["pairs"] = pair_findings(list(sides_by_sweep(curves).values()), get_profile(team, curves))
        html = render_to_string("reports/compare/all_numbers.html", context)
        return HtmlPart(going=is_going(curves), html=html)

    part = cached_part(team, selection, "numbers", HtmlPart, render_numbers)
    return _part(request, "numbers", selection, {"numbers": part["html"]})


@team_required("GET")
def sides(request: HttpRequest) -> HttpResponseBase:
    """The rows of the sides beyond those that the figures show, for the table of the page (htmx)."""
    selection = selection_in(request)
    if not request.htmx:  # type: ignore[attr-defined]
        return redirect(reverse("compare") + replace(selection, sides=(ALL,)).query())

    def render_rows(context: dict[str, Any]) -> HtmlPart:
        rows = [
            render_to_string("reports/compare/side.html", context | {"row": row})
            for row in context["sides"]
            if not row["is_listed"]
        ]
        return HtmlPart(going=is_going(context["compared"].curves), html=SafeString("".join(rows)))

    return HttpResponse(cached_part(get_team(request), selection, "sides", HtmlPart, render_rows)["html"])


@team_required("GET")
def headline(request: HttpRequest) -> HttpResponseBase:
    """What a comparison found and how sure that is, for the page of its matrix (htmx)."""
    selection = selection_in(request)
    if not request.htmx:  # type: ignore[attr-defined]
        return redirect(reverse("compare") + selection.query())
    return HttpResponse(get_parts(get_team(request), selection)["headline"])


@team_required("GET")
def points(request: HttpRequest) -> HttpResponse:
    """Every point of a comparison as a table, when somebody opens it."""
    selection = selection_in(request)
    comparison = chosen(get_team(request), selection)
    table = points_table(comparison.curves, kind=selection.kind_for(comparison.curves))
    return _part(request, "points", selection, {"grid": grid(cells(table))})


def _part(request: HttpRequest, part: str, selection: Selection, context: dict[str, Any]) -> HttpResponse:
    context |= {"part": f"reports/compare/{part}.html", "selection": selection}
    context["back"] = reverse("compare") + selection.query()
    alone = "HX-Request" in request.headers
    return render(request, context["part"] if alone else "reports/compare/part.html", context)


def selection_in(request: HttpRequest) -> Selection:
    """The selection in the address; of an address that names too much, none, with a sentence."""
    try:
        return read(request.GET)
    except TooManyFieldsSent:
        message = f"The address names too many values: choose at most {MAX_VALUES} sweeps, or use the menus."
        return Selection(problems=(message,))


def get_parts(team: Team, selection: Selection) -> ComparisonParts:
    """The parts of the page for a selection, equal for all members of the team."""

    def render_parts(context: dict[str, Any]) -> ComparisonParts:
        comparison: Chosen = context["compared"]
        matrix = comparison.matrix

        def render_part(name: str) -> SafeString:
            return render_to_string(f"reports/compare/{name}.html", context)

        equal = ""
        if context["equal"]:
            equal = plain_text("compare/equal_load.txt", equal=context["equal"])
        # What is undecided is decided by more repeats.
        repeats = None
        if matrix and is_undecided(context["answer"], context["against"]):
            repeats = next_repeats(matrix)

        return ComparisonParts(
            going=is_going(comparison.curves),
            figures=list_links(context["groups"][0]) if context["groups"] else [],
            permalink=context["permalink"],
            title=build_title(comparison),
            equal=equal,
            repeats=repeats,
            lead=render_part("lead"),
            actions=render_part("actions"),
            headline=render_part("headline"),
            uncounted=list(list_uncounted(comparison.curves)),
            body=render_part("body"),
        )

    return cached_part(team, selection, "page", ComparisonParts, render_parts)


def list_links(group: dict[str, Any]) -> list[dict[str, Any]]:
    return [link for link in (group["ceilings"], group["latency"]) if link]


def list_uncounted(curves: Sequence[Curve]) -> Iterator[dict[str, Any]]:
    """The sides none of whose points counts, and why; `is_mendable`: their runs have ended, and checks reject them."""
    labels = get_labels(curves)
    for curve in curves:
        if curve.points and not curve.counted:
            products = (point for point in curve.points if point.standing is not Standing.STAND_IN)
            first = next(products, curve.points[0])
            yield {
                "label": labels[curve.sweep_id],
                "reason": first.worst_finding or "".join(first.excluded[:1]),
                "stand_in": "".join(curve.stand_ins[:1]) if curve.is_stand_in else "",
                "sweep_id": str(curve.sweep_id),
                "matrix_id": str(curve.matrix_id or ""),
                "is_going": curve.progress.going,
                "is_mendable": bool(first.rejected) and not curve.progress.going,
            }


def cached_part(
    team: Team, selection: Selection, name: str, kind: type[Part], render_part: Callable[[dict[str, Any]], Part]
) -> Part:
    """The part of this name, rendered from the page's context once, until one of its rows changes.

    The key contains everything that is read beside the chosen sweeps. While runs are going, nothing is kept.
    """
    choice = chosen(team, selection)
    choices = facets(team, choice.matrix.pk if choice.matrix else None, selection.phase)
    thresholds = rows_digest(ThresholdOverride, team)
    floors = session_spreads(team, {sweep.cluster_name for sweep in choice.sweeps}) if len(choice.sweeps) > 1 else {}
    key = build_key(
        team.pk, name, selection.query(), choice.digest(), repr(choices), thresholds,
        repr(sorted(floors.items())),
    )  # fmt: skip

    return get_or_compute(
        key,
        kind,
        lambda: render_part(build_context(team, selection, choice, choices, floors)),
        keep=lambda part: not part["going"],
    )


def is_going(curves: Sequence[Curve]) -> bool:
    """Whether runs of these sweeps are queued or running."""
    return any(curve.progress.going for curve in curves)


def is_undecided(answer: Answer, table: Against | None) -> bool:
    """Whether some ceiling was measured once, or some ratio has no verdict yet."""
    if table is None:
        return False
    outcomes = [comparison.outcome for comparison in collect_comparisons(table.rows)]
    return answer.repeats[0] == 1 or Outcome.INCONCLUSIVE in outcomes


def has_siblings(team: Team, curve: Curve) -> bool:
    """Whether its matrix has other sweeps to compare it with."""
    if curve.matrix_id is None:
        return False
    return get_sweeps_by_phase(team).filter(matrix=curve.matrix_id).exclude(pk=curve.sweep_id).exists()


def build_title(comparison: Chosen) -> str:
    """The title of a comparison."""
    if comparison.matrix:
        return comparison.matrix.name
    systems = dict.fromkeys(curve.system_name for curve in comparison.curves)
    return " against ".join(list(systems)[:3]) or "Comparison"


def build_context(
    team: Team,
    selection: Selection,
    comparison: Chosen,
    choices: Mapping[str, Sequence[Any]],
    floors: Mapping[str, SessionSpread],
) -> dict[str, Any]:
    offered = menus(selection, choices, studies())
    curves = comparison.curves
    workload_menu = find_workload_menu(offered)
    other_menus = [menu for menu in offered if menu is not workload_menu]
    state = pinned(selection, comparison)
    equal = build_equal_load(selection, curves)
    unknown = [slug for slug in selection.published if slug not in dict(studies())]
    answer, table = judge(team, selection, curves, floors, equal)
    compare_url = reverse("compare")
    controls = build_controls(selection, curves)
    labels = get_labels(curves)
    planned, unplanned = split_differences(curves, labels)
    decimals = 2
    if all(curve.ceiling_ops_s >= MIN_WHOLE_OPS_S for curve in curves):
        decimals = 0
    max_loss = ""
    if selection.max_loss_s is not None:
        max_loss = number_text(selection.max_loss_s)

    return {
        "selection": selection,
        "compared": comparison,
        "problems": [
            *comparison.problems,
            *(f"“{slug}” is no published study that is known here." for slug in unknown),
        ],
        "facets": choices,
        "menus": other_menus,
        "workload_menu": workload_menu,
        "chips": chips(selection, other_menus),
        "controls": controls,
        "carried": selection.pairs(without=list_form_names(selection, curves, controls)),
        "operations": operation_links(state, curves),
        "groups": figures_by_workload(replace(state, load_ops_s=equal.load_ops_s) if equal else state, curves),
        "places": decimals,
        "latency_scale": choose_scale(equal) if equal else None,
        "many": many_sides(state, curves),
        "sides_carried": selection.pairs(without={"side"}),
        "more_pictures": reverse("compare-pictures") + state.query(),
        "all_numbers": reverse("compare-numbers") + state.query(),
        "all_points": reverse("compare-points") + state.query(),
        "equal": equal,
        "one_rung": only_single_rungs(curves),
        "has_siblings": len(curves) == 1 and has_siblings(team, curves[0]),
        "labels": labels,
        "line_carried": selection.pairs(without=LINE_NAMES),
        "left_out": left_out(curves),
        **describe_studies(selection, curves),
        "max_loss": max_loss,
        "decision": decide(curves, build_need(selection, curves, equal), labels),
        "of_one_plan": are_of_one_plan(curves),
        "planned": planned,
        "differences": unplanned,
        "answer": answer,
        "against": table,
        "anyway_href": compare_url + replace(selection, anyway=not selection.anyway).query(),
        "unpin_href": compare_url + replace(selection, baseline=None).query(),
        "sides": table_rows(curves, equal, table, state.select_visible(curves)),
        "findings": list(map(sentence, answer.findings)),
        "certainty": certainty(answer),
        # That of its matrix is what the page of a pair asks for by itself.
        "why_state": "" if state == Selection(matrix=state.matrix) else state.query().replace("?", "&", 1),
        "differing_pair": find_differing_pair(answer, table),
        "conditions": conditions(curves, selection.kind_for(curves), table),
        "permalink": compare_url + state.query(),
        "nothing_at_all": not curves and not Sweep.objects.exists(),
    }


def describe_studies(selection: Selection, curves: Sequence[Curve]) -> dict[str, Any]:
    """Whether the chosen studies have a result here, and which of them the figures lack, and why."""
    if not selection.published:
        return {"has_published": False, "study_notes": []}
    chosen = selection.choose_overlays(curves)
    operations = shown_operations(selection, curves)
    notes = [build_absence_sentence(selection.published, chosen)]
    if operations:
        published = list_throughputs(chosen, operations, selection.statistic)
        notes.append(published_missing(published, operations[0], selection.statistic))
    return {"has_published": bool(chosen), "study_notes": [note for note in notes if note]}


def pinned(selection: Selection, comparison: Chosen) -> Selection:
    """The selection of the figures and of a shared link: the newest matrix by its name, no sides of another one."""
    ids = {str(curve.sweep_id) for curve in comparison.curves} | {ALL}
    selection = replace(selection, sides=tuple(side for side in selection.sides if side in ids))
    if comparison.matrix:
        return replace(selection, matrix=str(comparison.matrix.pk))
    return selection


def find_workload_menu(offered: Sequence[Menu]) -> Menu | None:
    """The menu of workloads where one of several can be chosen; None where an address already names more."""
    return next((menu for menu in offered if menu.name == "workload" and len(menu.options) > 1 >= menu.chosen), None)


def figures_by_workload(state: Selection, curves: Sequence[Curve]) -> list[dict[str, Any]]:
    """Both figures of each workload: what differs in it is not drawn over one another, unless it was chosen."""
    workloads = list(dict.fromkeys(curve.workload for curve in curves))
    if len(workloads) == 1 or state.sweeps:
        return [_link_figures(state, curves, "", "")]
    groups = []
    for number, workload in enumerate(workloads):
        chosen = replace(state, workloads=(workload,))
        group = [curve for curve in curves if curve.workload == workload]
        groups.append(_link_figures(chosen, group, workload, f"-{number}" if number else ""))
    return groups


def _link_figures(state: Selection, curves: Sequence[Curve], workload: str, suffix: str) -> dict[str, Any]:
    """`suffix` is that of ids on the page; the first workload has none."""
    latency = latency_picture(state, curves)
    return {
        "workload": workload,
        "ceilings": picture_link(ceilings_picture(state), curves),
        "latency": picture_link(latency, curves) if latency else None,
        "suffix": suffix,
    }


def operation_links(state: Selection, curves: Sequence[Curve]) -> list[tuple[str, str, bool]]:
    """The operations that the latency figure can draw: text, address, and whether it does. The first is the default."""
    measured = collect_operations(curves)
    values = ["", *measured[1:], *([BOTH] if len(measured) > 1 else [])] if measured else []
    drawn = ""
    if state.operation != (measured or [""])[0]:
        drawn = state.operation

    return [
        (
            "both" if value == BOTH else value or measured[0],
            reverse("compare") + replace(state, operation=value).query(),
            value == drawn,
        )
        for value in values
    ]


def many_sides(state: Selection, curves: Sequence[Curve]) -> dict[str, Any] | None:
    """How many sides are drawn, and the addresses with all and with the highest; None where there are few."""
    if len(curves) <= MAX_SHOWN:
        return None
    visible = len(state.select_visible(curves))
    rows = reverse("compare-sides") + state.query()
    all_sides, few = (reverse("compare") + replace(state, sides=sides).query() for sides in ((ALL,), ()))
    return {"shown": visible, "hidden": len(curves) - visible, "all": all_sides, "few": few, "rows": rows}


def build_need(selection: Selection, curves: Sequence[Curve], equal: EqualLoad | None) -> Need:
    """The default load, which the form sends with a limit too, is no need."""
    load_ops_s = selection.load_ops_s
    if equal and equal.is_default:
        load_ops_s = None
    return Need(
        operations=tuple(shown_operations(selection, curves)),
        statistic=selection.statistic,
        kind=selection.kind_for(curves),
        max_loss_s=selection.max_loss_s,
        limit_us=selection.limit_us,
        load_ops_s=load_ops_s,
    )


def judge(
    team: Team,
    selection: Selection,
    curves: Sequence[Curve],
    floors: Mapping[str, SessionSpread],
    equal: EqualLoad | None,
) -> tuple[Answer, Against | None]:
    """The answer, and the ratios of two or more sides."""
    judging = None
    if len(curves) > 1:
        judging = Judging(sides_by_sweep(curves), get_profile(team, curves), floors)

    def link_baseline(sweep_id: UUID) -> str:
        return reverse("compare") + replace(selection, baseline=sweep_id).query()

    return judge_selection(selection, curves, judging, equal, link_baseline)


def build_controls(selection: Selection, curves: Sequence[Curve]) -> dict[str, Any]:
    """The options of the figures' menus. A chosen statistic that is in none is added, so that the form keeps it."""
    statistics = [*CHOSEN_STATISTICS, *({selection.statistic} - set(CHOSEN_STATISTICS))]
    databases = list_databases(curves)
    return {
        "operations": collect_operations(curves),
        "statistics": [(name, STATISTICS[name]) for name in statistics],
        "scales": SCALE_SAYS,
        # The one that is shown by itself is nobody's choice: its value is empty.
        "kinds": [(kind if kind != detect_kind(curves) else "", KIND_MENU_SAYS[kind]) for kind in list_kinds(curves)],
        # To highlight one of; none while every one has a colour of its own.
        "databases": databases if len(databases) > MAX_DATABASES else [],
    }


def list_form_names(selection: Selection, curves: Sequence[Curve], controls: Mapping[str, Any]) -> set[str]:
    """The parameters that the form of the menus gives; all others it carries along, hidden."""
    names = set(MENU_NAMES)
    if len(controls["kinds"]) > 1:
        names.add("kind")
    if controls["databases"]:
        names.add("highlight")
    if len(curves) > 1:
        names.add("baseline")
    if selection.sweeps:
        names.remove("matrix")
    return names


def list_kinds(curves: Sequence[Curve]) -> list[str]:
    """The kinds of latency that were measured, service time first."""
    measured_kinds = {operation.kind for operation in collect_measured(collect_points(curves))}
    return [kind for kind in KINDS if kind in measured_kinds]


def conditions(curves: Sequence[Curve], kind: str, table: Against | None) -> list[tuple[str, str]]:
    """The conditions that hold for all figures of the page: term and sentence."""
    ceilings = [("Ceilings", f"{text}.") for text in status_sentences(curves, get_labels(curves))]
    sessions = [SESSIONS] if table and table.sessions_unknown else []
    return join_terms([*ceilings, *sessions, *list_conditions(curves, kind)])
